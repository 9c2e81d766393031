# fish completion for pipesim

function __pipesim_command # the command of the line, compare where it names none
    set -l words (commandline -opc)
    if contains -- "$words[2]" $__pipesim_commands
        echo $words[2]
    else
        echo compare
    end
end

function __pipesim_in # COMMAND...: is the line one of them?
    contains -- (__pipesim_command) $argv
end

function __pipesim_first # nothing stands before the word
    test (count (commandline -opc)) -eq 1
end

function __pipesim_files # EXTENSION...: such files, and folders
    set -l typed (commandline -ct | string replace -r '^-[^=]*=' '' | string replace -r '.*,' '')
    set -l ending '\.('(string join '|' (string escape --style=regex -- $argv))')$'
    for line in (complete -C "'' $typed")
        set -l file (string split -f 1 \t -- $line)
        if string match -qr '/$' -- $file; or string match -qr -- $ending $file
            echo $file
        end
    end
end

function __pipesim_schedule # names and files
    pipesim list --names
    __pipesim_files csv csv.gz
end

function __pipesim_schedules # with what stands before the last of a list
    set -l before (commandline -ct | string replace -r '^-[^=]*=' '' | string match -r '.*,')
    printf '%s\n' "$before"{all,(__pipesim_schedule)}
end

function __pipesim_action # VALUE: arguments of complete for it
    set -l words (string split ' ' -- $argv[1])
    switch "$argv[1]"
        case ''
            printf '%s\n' -x
        case @name
            printf '%s\n' -x -a 'all (pipesim list --names)'
        case @schedule @schedules
            printf '%s\n' -x -a "(__pipesim_"(string sub -s 2 -- $argv[1])")"
        case '@\*'
            printf '%s\n' -r -F
        case '@*'
            printf '%s\n' -x -a "(__pipesim_files "(string sub -s 2 -- "$argv[1]")")"
        case '*'
            printf '%s\n' -x -a "$argv[1]"
    end
end

function _pipesim_command # NAME SUMMARY
    set -ga __pipesim_commands $argv[1]
    complete -c pipesim -n __pipesim_first -a $argv[1] -d $argv[2]
end

function _pipesim_operand # COMMAND VALUE
    complete -c pipesim -n "__pipesim_in $argv[1]; and not __pipesim_first" (__pipesim_action $argv[2])
end

function _pipesim_option # COMMANDS OPTION LETTER ARGUMENT VALUE HELP
    set -l names -l (string sub -s 3 -- $argv[2])
    test -n "$argv[3]"; and set -a names -s (string sub -s 2 -- $argv[3])
    test -n "$argv[4]"; and set -a names (__pipesim_action $argv[5])
    complete -c pipesim -n "__pipesim_in $argv[1]" $names -d $argv[6]
end

set -g __pipesim_commands
complete -c pipesim -f
complete -c pipesim -n __pipesim_first -s V -l version -d 'show the version'
# What follows is what "pipesim --completion" prints; "make completion" renews it.
_pipesim_command 'compare' 'compare schedules (the default)'
_pipesim_command 'list' 'list schedules, their aliases and the shapes they support'
_pipesim_command 'explain' 'idea, placement, phases and formulae of a schedule'
_pipesim_operand 'explain' '@name'
_pipesim_command 'export' 'write a schedule as a PyTorch schedule CSV'
_pipesim_operand 'export' '@schedule'
_pipesim_command 'validate' 'check that a schedule CSV is complete and free of deadlock'
_pipesim_operand 'validate' '@csv csv.gz'
_pipesim_command 'diff' 'where two schedules first differ, and what that costs'
_pipesim_operand 'diff' '@schedule'
_pipesim_command 'steady' 'exact steady-state time per micro-batch'
_pipesim_operand 'steady' '@name'
_pipesim_command 'optimize' 'search the shortest order, with a bound on how far from optimal'
_pipesim_operand 'optimize' '@schedule'
_pipesim_command 'sweep' 'simulate every combination of option values, on all cores'
_pipesim_command 'model' 'parameters, activations and FLOPs of a model, by layer and rank'
_pipesim_operand 'model' '@csv csv.gz'
_pipesim_command 'plan' 'the best ways to train a model on so many GPUs'
_pipesim_command 'calibrate' 'costs from measured traces'
_pipesim_operand 'calibrate' '@csv csv.gz json json.gz txt log'
_pipesim_command 'diagnose' 'where the time of a recorded step went'
_pipesim_operand 'diagnose' '@csv csv.gz json json.gz txt log'
_pipesim_option 'model' '--pp' '-p' 'N' '' 'pipeline ranks (default: 1)'
_pipesim_option 'plan' '--pp' '-p' 'N' '' 'pipeline ranks (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--pp' '-p' 'N' '' 'pipeline ranks'
_pipesim_option 'model' '--microbatches' '-m' 'N' '' 'micro-batches per step (default: 4 PP)'
_pipesim_option 'plan' '--microbatches' '-m' 'N' '' 'micro-batches per step (default: searched)'
_pipesim_option 'calibrate' '--microbatches' '-m' 'N' '' 'of a step, for --as (default: there is one step)'
_pipesim_option 'diagnose' '--microbatches' '-m' 'N' '' 'of a step, for --as (default: there is one step)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--microbatches' '-m' 'N' '' 'micro-batches per step, over both directions'
_pipesim_option 'optimize' '--chunks' '' 'V' '' 'stages per rank, of interleaved (default: 2) and wave (4)'
_pipesim_option 'plan' '--chunks' '' 'V' '' 'stages per rank (default: searched)'
_pipesim_option 'compare explain export diff steady sweep model' '--chunks' '' 'V' '' 'stages per rank, interleaved and wave schedules (default: 2)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--group' '' 'G' '' 'micro-batches per group, for interleaved schedules'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--pairs' '' '' '' 'F and B as one op, as Megatron overlaps MoE'\''s all-to-all'
_pipesim_option 'optimize' '--pipelines' '' 'N' '' 'pipelines of bidirectional, over both directions (default: 2)'
_pipesim_option 'compare explain export diff steady sweep model' '--pipelines' '' 'N' '' 'pipelines for chimera, over both directions (default: 2)'
_pipesim_option 'optimize' '--max-activations' '' 'N' '' 'activations a rank may hold (default: PP, or as bytes allow)'
_pipesim_option 'compare explain export diff steady sweep model' '--max-activations' '' 'N' '' 'activations a rank may hold, for searches (default: PP)'
_pipesim_option 'export' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'whose: pytorch-2.11, pytorch-2.15, deepseek, native (default) ...'
_pipesim_option 'validate' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'check one set of message rules (default: all of them)'
_pipesim_option 'diagnose' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'rules of messages: native (default), async, pytorch-2.15 ...'
_pipesim_option 'compare diff optimize sweep model plan' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'rules of messages: async (default), pytorch-2.15, native ...'
_pipesim_option 'compare export validate diff optimize sweep' '--channels' '' 'HOW' 'rank pair edge' 'messages share a queue: by rank (default), pair or edge'
_pipesim_option 'compare export validate diff optimize sweep' '--no-overlap' '' '' '' 'Megatron: batches (--no-overlap-p2p-communication)'
_pipesim_option 'compare export validate diff optimize sweep' '--overlap-flush' '' '' '' 'Megatron: receive ahead in warm-up and cool-down too'
_pipesim_option 'compare export validate diff optimize sweep' '--keep-outputs' '' '' '' 'Megatron: outputs are kept, their sends waited for later'
_pipesim_option 'compare export validate diff optimize sweep' '--host-time' '' 'MS' '' 'Megatron: from the end of a batch to the next launch, ms'
_pipesim_option 'compare export validate diff optimize sweep' '--no-host-sync' '' '' '' 'Megatron: no wait of the host for batches (batch_p2p_sync)'
_pipesim_option 'compare export validate diff optimize sweep' '--delay-wgrad' '' 'MS' '' 'Megatron: last W of a pair, behind its sends'
_pipesim_option 'compare export validate diff optimize sweep' '--defer-recv' '' '' '' 'receive right before the op (defer_pp_recv)'
_pipesim_option 'compare export validate diff optimize sweep' '--max-sends' '' 'K' '' 'sends not waited for, at most (max_outstanding_sends)'
_pipesim_option 'compare export validate diff optimize sweep plan' '--active-stages' '' 'N' '' 'FSDP: stages kept unsharded (max_active_stages, 3)'
_pipesim_option 'compare export validate diff optimize sweep plan' '--unshard-ahead' '' 'HOW' 'full auto' 'FSDP: stages gathered ahead: full, auto, or 1,2,1,2'
_pipesim_option 'compare export validate diff optimize sweep' '--defer-reduce-wait' '' '' '' 'FSDP: wait late for reductions (defer_reduce_grad_wait)'
_pipesim_option 'export' '--schedule' '-s' 'NAME' '@schedule' 'schedule or schedule file to write'
_pipesim_option 'model' '--schedule' '-s' 'NAME' '@schedule' 'the schedule (default: 1f1b)'
_pipesim_option 'plan' '--schedule' '-s' 'NAME,...' '@schedules' 'schedules to try (default: those of --for)'
_pipesim_option 'compare sweep' '--schedule' '-s' 'NAME|FILE.csv,...' '@schedules' 'schedules, or schedule files (default: all)'
_pipesim_option 'export' '--with-comms' '' '' '' 'also write sends and receives'
_pipesim_option 'export' '--unproven' '' '' '' 'write also what hangs or receives wrong tensors'
_pipesim_option 'compare sweep' '--compare-at' '' 'WHAT' 'ranks stages' 'compare at equal ranks (default) or equal stages'
_pipesim_option 'compare' '--sort' '' 'KEY' 'makespan memory name' 'sort the table by makespan, memory or name'
_pipesim_option 'compare' '--brief' '' '' '' 'print only the table, cut to the main columns'
_pipesim_option 'plan' '--for' '' 'NAME' 'megatron torchtitan deepseek any' 'who runs it (default: the best of each)'
_pipesim_option 'export' '--for' '' 'WHO' 'pytorch pipesim' 'reader: pytorch (refuses what it cannot run) or pipesim'
_pipesim_option 'compare' '--format' '-f' 'FORMAT' 'text json csv ops' 'text, json, csv or ops (default: by -o'\''s extension, or text)'
_pipesim_option 'sweep' '--format' '-f' 'FORMAT' 'text csv jsonl' 'text, csv or jsonl (default: as -o'\''s extension, else text)'
_pipesim_option 'model' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: as -o'\''s extension, else text)'
_pipesim_option 'plan' '--format' '-f' 'FORMAT' 'text json csv jsonl' 'text (default), json; csv: best at each memory; jsonl: all'
_pipesim_option 'diagnose' '--format' '-f' 'FORMAT' 'text json csv' 'text (default), json or csv'
_pipesim_option 'diff steady optimize calibrate' '--format' '-f' 'FORMAT' 'text json' 'text (default) or json'
_pipesim_option 'compare' '--output' '-o' 'FILE' '@*' 'write the result to FILE instead of standard output'
_pipesim_option 'optimize' '--output' '-o' 'FILE.csv' '@csv' 'write the order as a PyTorch schedule CSV'
_pipesim_option 'sweep' '--output' '-o' 'FILE' '@*' 'write rows to FILE (FILE.partial until all are done)'
_pipesim_option 'plan' '--output' '-o' 'PATH' '@*' 'folder: files of the best; FILE.csv or .jsonl: all candidates'
_pipesim_option 'calibrate' '--output' '-o' 'FILE.ini' '@ini csv' 'write costs, or stage times (FILE.csv); '\''-'\'' = costs, no table'
_pipesim_option 'export diff steady model diagnose' '--output' '-o' 'FILE' '@*' 'write to FILE instead of standard output'
_pipesim_option 'compare optimize diagnose' '--timeline' '-t' 'FILE' '@svg png pdf txt' 'draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)'
_pipesim_option 'compare' '--critical-path' '' '' '' 'show the critical path and a lower bound on the makespan'
_pipesim_option 'compare optimize diagnose' '--chrome-trace' '' 'FILE.json' '@json' 'write timelines for Perfetto or chrome://tracing'
_pipesim_option 'compare plan diagnose' '--report' '' 'FILE.html' '@html' 'write a page for browsers: table, notes, timelines, memory'
_pipesim_option 'compare optimize diagnose' '--window' '' 'FROM:TO' '' 'of timelines: only this stretch, in ms: 100:250'
_pipesim_option 'compare optimize diagnose' '--ranks' '' 'FROM:TO' '' 'of timelines: only these ranks: 0:3'
_pipesim_option 'compare optimize diagnose' '--with-memory' '' '' '' 'of timelines: what each rank holds, below them'
_pipesim_option 'compare optimize diagnose' '--with-speed' '' '' '' 'of timelines: above each op, how fast it ran'
_pipesim_option 'compare optimize diagnose' '--title' '' 'TEXT' '' 'of timelines: a title above them'
_pipesim_option 'compare optimize diagnose' '--size' '' 'WxH' '' 'of timelines: pixels, 1600x900, or the width alone'
_pipesim_option 'compare optimize diagnose' '--font-size' '' 'N' '' 'of timelines: pixels (default: 13)'
_pipesim_option 'compare optimize diagnose' '--theme' '' 'NAME' 'light dark print' 'of timelines: light (default), dark or print (greys)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--times' '' 'LIST' '' 'op times, ms: F=1,I=1,W=1,B=2,FB=3,P2P=0 (B=I+W, FB=F+B)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--model-times' '' 'LIST' '' 'op times of the whole model, divided by PP (P2P is not)'
_pipesim_option 'compare explain export diff steady optimize sweep plan' '--trace' '' 'FILE...' '@csv csv.gz json json.gz txt log' 'times from a measured trace (may be repeated)'
_pipesim_option 'calibrate' '--layers' '' 'N' '' 'layers per rank (default: as in the trace)'
_pipesim_option 'diagnose' '--layers' '' 'N' '' 'layers per rank: also say how to balance them'
_pipesim_option 'compare explain export diff steady optimize sweep' '--layers' '' 'N' '' 'layers per rank, with --model-times of the whole model'
_pipesim_option 'compare explain export diff steady optimize sweep' '--split' '' 'HOW' 'even layers' 'layers of each stage: even (default) or layers (whole ones)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--costs' '' 'FILE.ini' '@ini' 'times and bytes from '\''pipesim calibrate'\'''
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-scale' '' 'LIST' '' 'scale stage times: 0=1.3 makes stage 0 30 % slower'
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-times' '' 'FILE' '@csv' 'times per stage: a CSV with columns stage,F,I,W'
_pipesim_option 'compare diff sweep' '--op-times' '' 'FILE' '@csv' 'times per micro-batch: a CSV stage,microbatch,F,I,W'
_pipesim_option 'compare explain export diff steady optimize sweep' '--slow-rank' '' 'LIST' '' 'slow a rank down: 3=1.1 makes rank 3 10 % slower'
_pipesim_option 'compare explain export diff steady optimize sweep' '--speed' '' 'LIST' '' 'speed of a rank'\''s chip: 3=0.97 makes rank 3 take 1/0.97'
_pipesim_option 'compare explain export diff steady optimize sweep' '--activation-bytes' '' 'N[+N]' '' 'activations per micro-batch: freed after I + freed after W'
_pipesim_option 'compare explain export diff steady optimize sweep' '--parameter-bytes' '' 'N' '' 'parameters, gradients and optimizer state per copy'
_pipesim_option 'compare explain export diff steady optimize sweep' '--unshard-time' '' 'MS' '' 'FSDP: to gather the parameters of a rank'\''s stages, ms'
_pipesim_option 'compare explain export diff steady optimize sweep' '--reduce-time' '' 'MS' '' 'FSDP: to reduce the gradients of a rank'\''s stages, ms'
_pipesim_option 'compare explain export diff steady optimize sweep' '--unshard-bytes' '' 'N' '' 'FSDP: parameters of a rank'\''s stages, once gathered'
_pipesim_option 'compare explain export diff steady optimize sweep' '--shard-bandwidth' '' 'N' '' 'FSDP: at which bytes are gathered and reduced: 50GB/s'
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-bytes' '' 'FILE' '@csv' 'bytes per stage: a CSV; for its columns see docs/formats.md'
_pipesim_option 'optimize' '--memory-limit' '' 'N' '' 'memory that a rank may use'
_pipesim_option 'compare explain export diff steady sweep' '--memory-limit' '' 'N' '' 'memory per rank: mark schedules that do not fit'
_pipesim_option 'compare diff sweep' '--power' '' 'HOW' 'measured off' 'measured (default, of costs that have it) or off'
_pipesim_option 'compare diff sweep' '--power-limit' '' 'W' '' 'power limit of the chips, extrapolated: 600W'
_pipesim_option 'compare diff sweep' '--step-pause' '' 'TIME' '' 'idle time of chips between two steps: 20ms (default: none)'
_pipesim_option 'compare diff sweep' '--first-step' '' '' '' 'chips have rested before the step (default: a step before)'
_pipesim_option 'compare diff sweep' '--launches' '' 'HOW' 'measured off' 'hosts that launch ops: measured (default, of costs) or off'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--model' '' 'NAME|FILE' '@ini json' 'bytes and layers from a model: llama-3-70b, config.json, .ini'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--seq' '' 'N' '' 'of --model: tokens of a sequence (default: 4096)'
_pipesim_option 'plan' '--microbatch-size' '' 'N' '' 'of --model: sequences of a micro-batch (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--microbatch-size' '' 'N' '' 'of --model: sequences of a micro-batch (default: 1)'
_pipesim_option 'plan' '--tp' '' 'N' '' 'of --model: tensor parallelism (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--tp' '' 'N' '' 'of --model: tensor parallelism (default: 1)'
_pipesim_option 'plan' '--cp' '' 'N' '' 'of --model: context parallelism (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--cp' '' 'N' '' 'of --model: context parallelism (default: 1)'
_pipesim_option 'plan' '--ep' '' 'N' '' 'of --model: expert parallelism (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--ep' '' 'N' '' 'of --model: expert parallelism (default: 1)'
_pipesim_option 'plan' '--expert-tp' '' 'N' '' 'of --model: TP of experts (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--expert-tp' '' 'N' '' 'of --model: tensor parallelism of experts (default: 1)'
_pipesim_option 'plan' '--dp' '' 'N' '' 'of --model: data parallelism (default: what is left)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--dp' '' 'N' '' 'of --model: data parallelism (default: 1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--sequence-parallel' '' '' '' 'of --model: divide the rest of a layer by TP too'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--cp-comm' '' 'KIND' 'p2p a2a' 'of --model: p2p (default) or a2a, which keeps more'
_pipesim_option 'plan' '--recompute' '' 'WHAT' 'none selective full mlp moe moe_act shared_experts layernorm mla_up_proj' 'of --model: none, selective, full ... (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--recompute' '' 'WHAT' 'none selective full mlp moe moe_act shared_experts layernorm mla_up_proj' 'of --model: none (default), selective, full, every=N, mlp+moe'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--optimizer' '' 'NAME' 'adam adam-bf16 adam-fp16 adam-fp32 sgd' 'of --model: adam (default), adam-bf16, -fp16, -fp32 or sgd'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--modules' '' 'WHOSE' 'megatron megatron-0.15 megatron-0.13 pytorch deepseek' 'of --model: megatron[-0.15|-0.13] (default), pytorch ...'
_pipesim_option 'plan' '--zero' '' 'STAGE' '0 1 2 3 fsdp fsdp-fp32' 'of --model: what DP shares (default: 1, or searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--zero' '' 'STAGE' '0 1 2 3 fsdp fsdp-fp32' 'of --model: what DP shares: 0, 1 (default), 2, 3, fsdp[-fp32]'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--precision' '' 'TYPE' 'bf16 fp16 fp8 fp8-cs fp8-ds fp8-mx fp8-block fp8-tensorwise fp8-rowwise nvfp4 fp8-params' 'of --model: bf16 (default), fp16, fp8[-cs|-ds|-mx ...], nvfp4'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--attention' '' 'KIND' 'fused unfused' 'of --model: fused (default) or unfused, which keeps scores'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--loss' '' 'KIND' 'megatron te native float' 'of --model: megatron (default), te, native or float'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--unfused' '' 'LIST' 'permutation gradients permutation,gradients gradients,permutation' 'of --model: without fused permutation, gradients, or both'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--routing' '' 'FACTOR' '' 'of --model: rows of the fullest expert rank over the mean (1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--workspace' '' 'N[+N]' '' 'of --model: bytes of libraries + of grouped experts'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--layout' '' 'STRING|FILE' 'auto' 'of --model: layers by stage: '\''Et*3|(tt|)*29,m|L'\'', or auto'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--device' '' 'GPU' 'h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x' 'of --model: op times of a GPU: h100, b200 ..., or FILE.ini'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--mfu' '' 'X' '' 'of --device: share of its peak of products (default: its own)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--dp-bandwidth' '' 'N' '' 'of --device: gradients at 50GB/s (default: by its links)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--overlap-reduce' '' '' '' 'of --device: reduces gradients beside the last backward'
_pipesim_option 'plan' '--measured' '' 'FILE.csv' '@csv csv.gz' 'steps that were run correct described times'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--tp-overlap' '' '' '' 'of --device: collectives of TP beside products'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--ep-overlap' '' '' '' 'of --device: rows of experts beside the other op of a pair'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--dispatcher' '' 'NAME' 'auto alltoall deepep hybridep' 'of --device: rows of experts by alltoall, deepep or hybridep'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--node-bandwidth' '' 'N' '' 'of --device: of a GPU to other nodes (default: its own)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--cuda-graph' '' '' '' 'of --device: launches are recorded, the host does not wait'
_pipesim_option 'compare explain export diff steady optimize sweep' '--message-bytes' '' 'N' '' 'size of a message; models links, on which messages queue'
_pipesim_option 'compare explain export diff steady optimize sweep' '--link-latency' '' 'TIME' '' 'latency of a link, 5us (default: from the costs)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--link-bandwidth' '' 'N' '' '50GB/s or 400Gbit/s per link (default: from the costs)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--topology' '' 'FILE.ini' '@ini' 'nodes, links and NICs, instead of identical links'
_pipesim_option 'compare explain export diff steady optimize sweep' '--interference' '' 'FACTOR' 'measured' 'slowdown of compute while a message is in flight: 1.08'
_pipesim_option 'compare optimize' '--samples' '' 'N' '' 'simulate N steps with op times drawn from the measurements'
_pipesim_option 'optimize' '--seed' '' 'N' '' 'seed of the search and of the random times (default: 1)'
_pipesim_option 'compare' '--seed' '' 'N' '' 'seed of the random times (default: 1)'
_pipesim_option 'compare optimize' '--jitter' '' 'SD' '' 'draw times from a normal distribution with this sd: 0.03, 3%'
_pipesim_option 'sweep plan' '--resume' '' '' '' 'continue after the rows already in the file'
_pipesim_option 'sweep plan' '--shard' '' 'I/N' '' 'run only part I of N, from 0/N to N-1/N'
_pipesim_option 'optimize sweep plan' '--threads' '-j' 'N' '' 'threads (default: one per core)'
_pipesim_option 'sweep' '--heat-map' '' 'FILE' '@svg png pdf' 'draw a heat map over 2 or 3 swept options (.svg, .png, .pdf)'
_pipesim_option 'plan' '--pareto' '' 'FILE' '@svg png pdf' 'draw memory against step of a plan (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--winners' '' 'FILE' '@svg png pdf' 'draw which schedule is fastest where (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--lines' '' 'FILE' '@svg png pdf' 'draw lines over the last swept option (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--metric' '' 'NAME' 'bubble makespan microbatch activations' 'bubble (default), makespan, microbatch or activations'
_pipesim_option 'optimize' '--placement' '' 'WHERE' 'single v interleaved wave bidirectional' 'single (default), v, interleaved, wave or bidirectional'
_pipesim_option 'optimize' '--full-backward' '' '' '' 'for runtimes that cannot split backwards into I and W'
_pipesim_option 'optimize' '--objective' '' 'WHAT' 'makespan p5 median p95 p99' 'makespan (default), or of --samples p5, median, p95, p99'
_pipesim_option 'optimize' '--time' '' 'TIME' '' 'search so long, with a unit: 10s, 500ms; 0: what is known'
_pipesim_option 'optimize' '--moves' '' 'N' '' 'so many moves: always the same result (default: 10 s a limit)'
_pipesim_option 'optimize' '--explain-bound' '' '' '' 'prove the lower bound, step by step'
_pipesim_option 'calibrate' '--load-mode' '' 'MODE' 'sustained back_to_back synced' 'sustained, back_to_back or synced (default: the first captured)'
_pipesim_option 'calibrate' '--impl' '' 'COMPONENT=IMPL...' '' 'implementation to use, if several (default: the fastest)'
_pipesim_option 'calibrate' '--sm-split' '' 'A+B' '' 'SMs for compute + communication in the pair (default: the fastest)'
_pipesim_option 'calibrate' '--resident-sms' '' 'N' '' 'keep what a waiting receive on N SMs costs (default: NCCL'\''s)'
_pipesim_option 'calibrate diagnose' '--map' '' 'RULES' '@*' 'rules for names in profiler files; see docs/formats.md'
_pipesim_option 'calibrate diagnose' '--as' '' 'SCHEDULE' '1f1b gpipe' 'of profiles without names of ops: what was run (1f1b, gpipe)'
_pipesim_option 'calibrate' '--picture' '' 'FILE' '@svg png pdf' 'draw the spread of each component: .svg, .png, .pdf (gnuplot)'
_pipesim_option 'calibrate' '--figures' '' '' '' 'print percentiles, autocorrelation, waits, interference, fits'
_pipesim_option 'model' '--memory-model' '' 'KIND' 'tensors megatron' 'tensors (default), or megatron: what Megatron-LM prints'
_pipesim_option 'model' '--terms' '' '' '' 'also print every term, its formula and its source'
_pipesim_option 'diagnose' '--step' '' 'N' '' 'the step to diagnose (default: of median length)'
_pipesim_option 'plan' '--gpus' '' 'N' '' 'GPUs of the whole job'
_pipesim_option 'plan' '--gpus-per-node' '' 'N' '' 'GPUs of a node, which TP stays in (default: 8)'
_pipesim_option 'plan' '--memory' '' 'N' '' 'memory of a GPU: 80GiB'
_pipesim_option 'plan' '--reserve' '' 'N' '' 'of --memory not for tensors: 6GiB (default: as measured)'
_pipesim_option 'plan' '--global-batch' '' 'N' '' 'sequences of a step'
_pipesim_option 'plan' '--explain' '' 'N' '' 'also say how to run number N of the table'
_pipesim_option 'list' '--names' '' '' '' 'print names only, one per line'
_pipesim_option 'compare list explain export validate diff steady optimize sweep model plan calibrate diagnose' '--help' '-h' '' '' 'show this help'
# End of what it prints.
functions -e _pipesim_command _pipesim_operand _pipesim_option
