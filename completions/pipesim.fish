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

function __pipesim_typed # OPTION: it stands there
    contains -- $argv[1] (commandline -opc)[-1] (commandline -ct | string replace -r '=.*' '')
end

function _pipesim_alias # COMMANDS OPTION ARGUMENT VALUE
    complete -c pipesim -n "__pipesim_in $argv[1]; and __pipesim_typed $argv[2]" -l (string sub -s 3 -- $argv[2]) (__pipesim_action $argv[4])
end

set -g __pipesim_commands
complete -c pipesim -f
complete -c pipesim -n __pipesim_first -s V -l version -d 'show the version'
# What follows is what "pipesim --completion" prints; "make completion" renews it.
_pipesim_command 'compare' 'which schedule is best for a shape and its times (the default)'
_pipesim_command 'list' 'schedules, their aliases and the shapes they support'
_pipesim_command 'explain' 'what a schedule does, gains and costs'
_pipesim_operand 'explain' '@schedules'
_pipesim_command 'export' 'a schedule as a PyTorch schedule CSV'
_pipesim_operand 'export' '@schedule'
_pipesim_command 'validate' 'whether schedule files are complete and free of deadlock'
_pipesim_operand 'validate' '@csv csv.gz'
_pipesim_command 'diff' 'where two schedules first differ, and what that costs'
_pipesim_operand 'diff' '@schedule'
_pipesim_command 'steady' 'the exact time of a micro-batch in the steady phase'
_pipesim_operand 'steady' '@name'
_pipesim_command 'optimize' 'the shortest order within a memory limit, with proof'
_pipesim_operand 'optimize' '@schedule'
_pipesim_command 'sweep' 'every combination of option values, on all cores'
_pipesim_command 'model' 'parameters, activations and FLOPs of a model, by layer and rank'
_pipesim_operand 'model' '@csv csv.gz'
_pipesim_command 'plan' 'how to train a model on so many GPUs'
_pipesim_command 'phases' 'a forward beside a backward of layers with experts'
_pipesim_command 'prefill' 'when prompts, cut into chunks, give first tokens'
_pipesim_command 'calibrate' 'op times from measured traces'
_pipesim_operand 'calibrate' '@csv csv.gz json json.gz txt log'
_pipesim_command 'diagnose' 'where the time of a recorded step went'
_pipesim_operand 'diagnose' '@csv csv.gz json json.gz txt log'
_pipesim_command 'help' 'what options mean, by topic or command'
_pipesim_operand 'help' 'compare shape times model memory messages pictures search power output list explain export validate diff steady optimize sweep plan phases prefill calibrate diagnose help'
_pipesim_option 'model' '--pp' '-p' 'N' '' 'pipeline ranks (default: 1)'
_pipesim_option 'plan' '--pp' '-p' 'N' '' 'pipeline ranks (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep prefill' '--pp' '-p' 'N' '' 'pipeline ranks: the pipeline-parallel size'
_pipesim_option 'model' '--microbatches' '-m' 'N' '' 'micro-batches in a step (default: 4 PP)'
_pipesim_option 'plan' '--microbatches' '-m' 'N' '' 'micro-batches in a step (default: searched)'
_pipesim_option 'calibrate' '--microbatches' '-m' 'N' '' 'micro-batches of a step, where ops have no names (default: as many as fit)'
_pipesim_option 'diagnose' '--microbatches' '-m' 'N' '' 'micro-batches of a step, where ops have no names (default: as many as fit)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--microbatches' '-m' 'N' '' 'micro-batches in a step; of bidirectional schedules over both directions'
_pipesim_option 'optimize' '--chunks' '' 'V' '' 'stages on each rank of interleaved (default: 2) and wave placements (default: 4)'
_pipesim_option 'plan' '--chunks' '' 'V' '' 'stages on each rank (default: searched)'
_pipesim_option 'prefill' '--chunks' '' 'V' '' 'stages on each rank, which share its times (default: 1)'
_pipesim_option 'compare explain export diff steady sweep model' '--chunks' '' 'V' '' 'stages on each rank of interleaved and wave schedules (default: 2)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--group' '' 'G' '' 'micro-batches per group of interleaved schedules (default: M in max(1, M/PP) equal groups)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--overlap-fb' '' '' '' 'run a forward and a backward of interleaved 1F1B as one overlapped op'
_pipesim_option 'optimize' '--slices' '' 'K' '' 'slices of equal length that each sequence is cut into (default: 1)'
_pipesim_option 'compare explain export diff steady sweep model' '--slices' '' 'K' '' 'slices of equal length that a sequence is cut into, each with its F and B (default: the schedule'\''s)'
_pipesim_option 'optimize' '--offload-chunks' '' 'N' '' 'first stages of each rank whose activations may go to the host (default: 0)'
_pipesim_option 'compare explain export diff steady sweep model' '--offload-chunks' '' 'N' '' 'first stages of each rank whose activations go to the host (default: the schedule'\''s)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--offload-fraction' '' 'F' '' 'part of these activations that goes to the host, in Megatron'\''s order, of any schedule: 0.5'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--offload-inflight' '' 'N' '' 'copies to the host on their way before a rank waits for the oldest (default: any number)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--offload-delta' '' 'N' '' 'bytes that each rank copies to the host less than the one before it (default: 0)'
_pipesim_option 'optimize' '--recompute-chunks' '' 'N' '' 'first stages of each rank whose forward may run again before the backward (default: 0)'
_pipesim_option 'compare explain export diff steady sweep model' '--recompute-chunks' '' 'N' '' 'first stages of each rank whose forward runs again before the backward (default: 0)'
_pipesim_option 'optimize' '--pipelines' '' 'N' '' 'pipelines of a bidirectional placement, over both directions (default: 2)'
_pipesim_option 'compare explain export diff steady sweep model' '--pipelines' '' 'N' '' 'pipelines of chimera, over both directions (default: 2)'
_pipesim_option 'optimize' '--max-activations' '' 'N' '' 'activations that a rank may hold, in whole stages (default: PP, or as bytes allow)'
_pipesim_option 'compare explain export diff steady sweep model' '--max-activations' '' 'N' '' 'activations that a rank may hold in zb-auto and zb-v-auto, in whole stages (default: PP)'
_pipesim_option 'export' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'whose rules place sends and receives (default: native, the schedule'\''s own)'
_pipesim_alias 'export' '--comm' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native'
_pipesim_option 'validate' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'check under these rules only (default: all of them)'
_pipesim_alias 'validate' '--comm' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native'
_pipesim_option 'diagnose' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'whose rules the messages followed (default: as files tell, else found)'
_pipesim_alias 'diagnose' '--comm' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native'
_pipesim_option 'compare diff steady optimize sweep model plan' '--runtime' '' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native' 'whose rules say when a send or a receive blocks (default: async: never)'
_pipesim_alias 'compare diff steady optimize sweep model plan' '--comm' 'NAME' 'async pytorch-2.11 pytorch-2.15 single deepseek megatron native'
_pipesim_option 'compare export validate diff steady optimize sweep' '--communicators' '' 'HOW' 'rank pair edge' 'messages that share a communicator: of a rank, a pair of ranks or an edge (default: rank)'
_pipesim_alias 'compare export validate diff steady optimize sweep' '--channels' 'HOW' 'rank pair edge'
_pipesim_option 'compare export validate diff steady optimize sweep' '--no-overlap-p2p' '' '' '' 'Megatron: messages of virtual stages go in batches too'
_pipesim_option 'compare export validate diff steady optimize sweep' '--overlap-p2p-warmup-flush' '' '' '' 'Megatron: receive ahead in warm-up and cool-down too'
_pipesim_option 'compare export validate diff steady optimize sweep' '--no-deallocate-outputs' '' '' '' 'Megatron: keep sent outputs, so that a send is waited for one send later'
_pipesim_option 'compare export validate diff steady optimize sweep' '--host-time' '' 'MS' '' 'Megatron: time in ms from the end of a batch of messages to the next launch (default: 0)'
_pipesim_option 'compare export validate diff steady optimize sweep' '--no-batch-p2p-sync' '' '' '' 'Megatron: the host does not wait for batches of messages'
_pipesim_option 'compare export validate diff steady optimize sweep' '--delay-wgrad' '' 'MS' '' 'Megatron: time in ms of the wgrad that runs after the sends of an overlapped op (default: 0)'
_pipesim_option 'compare export validate diff steady optimize sweep' '--defer-recv' '' '' '' 'PyTorch: receive right before the op that needs it (defer_pp_recv)'
_pipesim_option 'compare export validate diff steady optimize sweep' '--max-sends' '' 'K' '' 'PyTorch: sends of a rank that are not waited for, at most (max_outstanding_sends)'
_pipesim_option 'compare export validate diff steady optimize sweep plan' '--active-stages' '' 'N' '' 'FSDP: stages of a rank whose parameters stay gathered (default: 3)'
_pipesim_option 'compare export validate diff steady optimize sweep plan' '--unshard-ahead' '' 'HOW' 'full auto' 'FSDP: stages gathered ahead: full, auto, or a number for each rank (default: full)'
_pipesim_option 'compare export validate diff steady optimize sweep' '--defer-reduce-wait' '' '' '' 'FSDP: wait for a reduction of gradients only before the next one'
_pipesim_option 'export' '--schedule' '-s' 'NAME' '@schedule' 'schedule or schedule file to write'
_pipesim_alias 'export' '--from' 'NAME' '@schedule'
_pipesim_option 'optimize' '--schedule' '-s' 'NAME|FILE.csv' '@schedule' 'schedule whose micro-batches are put in order (default: 1f1b)'
_pipesim_alias 'optimize' '--from' 'NAME|FILE.csv' '@schedule'
_pipesim_option 'model' '--schedule' '-s' 'NAME' '@schedule' 'schedule of the ranks (default: 1f1b)'
_pipesim_alias 'model' '--from' 'NAME' '@schedule'
_pipesim_option 'plan' '--schedule' '-s' 'NAME,...' '@schedules' 'schedules to try (default: those of --framework)'
_pipesim_alias 'plan' '--from' 'NAME,...' '@schedules'
_pipesim_option 'compare sweep' '--schedule' '-s' 'NAME|FILE.csv,...' '@schedules' 'schedules and schedule files, separated by commas (default: all)'
_pipesim_alias 'compare sweep' '--from' 'NAME|FILE.csv,...' '@schedules'
_pipesim_option 'export' '--with-comms' '' '' '' 'also write sends and receives'
_pipesim_option 'export' '--no-check' '' '' '' 'also write schedules that deadlock or mismatch messages'
_pipesim_option 'compare sweep' '--compare-at' '' 'WHAT' 'ranks stages' 'compare at an equal number of ranks or of stages (default: ranks)'
_pipesim_option 'compare' '--sort' '' 'KEY' 'makespan memory name' 'order of the rows: makespan, memory or name (default: as they were asked for)'
_pipesim_option 'phases' '--full' '' '' '' 'print all ops'
_pipesim_option 'prefill' '--full' '' '' '' 'print sizes of chunks too'
_pipesim_option 'compare diff steady optimize sweep model plan calibrate diagnose' '--full' '' '' '' 'print all columns and all notes'
_pipesim_option 'compare plan' '--brief' '' '' '' 'print the verdict and a small table, which is the default'
_pipesim_option 'plan' '--framework' '' 'NAME' 'megatron torchtitan deepseek any' 'framework that runs it (default: the best of each)'
_pipesim_alias 'plan' '--for' 'NAME' 'megatron torchtitan deepseek any'
_pipesim_option 'export' '--framework' '' 'WHO' 'pytorch pipesim' 'framework that reads or runs it; what that cannot run is refused'
_pipesim_alias 'export' '--for' 'WHO' 'pytorch pipesim'
_pipesim_option 'compare' '--format' '-f' 'FORMAT' 'text json csv ops' 'text, json, csv or ops (default: by the extension of -o, else text)'
_pipesim_option 'optimize' '--format' '-f' 'FORMAT' 'text json csv python' 'text, json, csv (what -o writes) or, of micro-batches in order or packed, python (default: text)'
_pipesim_option 'sweep' '--format' '-f' 'FORMAT' 'text csv jsonl' 'text, csv or jsonl (default: by the extension of -o, else text)'
_pipesim_option 'model' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: by the extension of -o, else text)'
_pipesim_option 'plan' '--format' '-f' 'FORMAT' 'text json csv jsonl' 'text, json, csv (the best at each memory) or jsonl (all) (default: text)'
_pipesim_option 'phases' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: text)'
_pipesim_option 'prefill' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: text)'
_pipesim_option 'diagnose' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: text)'
_pipesim_option 'diff steady calibrate' '--format' '-f' 'FORMAT' 'text json' 'text or json (default: text)'
_pipesim_option 'optimize' '--output' '-o' 'FILE.csv' '@csv' 'file for the order, as a PyTorch schedule CSV; of micro-batches a line each'
_pipesim_option 'sweep' '--output' '-o' 'FILE' '@*' 'file for the rows; FILE.partial until all are done'
_pipesim_option 'plan' '--output' '-o' 'PATH' '@*' 'folder for the files of the best, or FILE.csv or .jsonl for all candidates'
_pipesim_option 'calibrate' '--output' '-o' 'FILE.ini' '@ini csv' 'file for the costs, or FILE.csv for stage times; - prints the costs alone'
_pipesim_option 'compare export diff steady model phases prefill diagnose' '--output' '-o' 'FILE' '@*' 'file to write instead of standard output'
_pipesim_option 'compare optimize diagnose' '--timeline' '-t' 'FILE' '@svg png pdf txt' 'draw timelines: .svg, .png, .pdf (by gnuplot), .txt, or - for the terminal'
_pipesim_option 'compare optimize sweep plan calibrate diagnose' '--keep-gnuplot' '' '' '' 'keep the script and data that gnuplot draws a picture from (.gp, .dat)'
_pipesim_option 'compare' '--critical-path' '' '' '' 'show the critical path and a lower bound on the makespan'
_pipesim_option 'compare optimize diagnose' '--chrome-trace' '' 'FILE.json' '@json et' 'write timelines for Perfetto or chrome://tracing; to FILE.et: Chakra'\''s, one a rank'
_pipesim_option 'compare diff optimize sweep plan diagnose' '--report' '' 'FILE.html' '@html' 'write a page for browsers: the answer, tables, timelines, memory'
_pipesim_option 'compare optimize diagnose' '--window' '' 'FROM:TO' '' 'timelines: draw only this stretch, in ms, such as 100:250 (default: the step)'
_pipesim_option 'compare optimize diagnose' '--ranks' '' 'FROM:TO' '' 'timelines: draw only these ranks, such as 0:3 (default: all)'
_pipesim_option 'compare optimize diagnose' '--with-memory' '' '' '' 'timelines: draw the memory of each rank below them'
_pipesim_option 'compare optimize diagnose' '--with-speed' '' '' '' 'timelines: draw above each op how fast it ran'
_pipesim_option 'compare optimize diagnose' '--title' '' 'TEXT' '' 'timelines: title of the picture (default: none)'
_pipesim_option 'compare optimize diagnose' '--size' '' 'WxH' '' 'timelines: width and height in pixels, such as 1600x900, or the width alone'
_pipesim_option 'compare optimize diagnose' '--font-size' '' 'N' '' 'timelines: height of letters in pixels (default: 13)'
_pipesim_option 'compare optimize diagnose' '--theme' '' 'NAME' 'light dark print' 'timelines: light, dark, or print for greys (default: light)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--times' '' 'LIST' '' 'op times of a rank in ms: F, I (dgrad), W (wgrad), B, FB, P2P (default: F=1,I=1,W=1)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--model-times' '' 'LIST' '' 'op times of the whole model in ms, which PP ranks share'
_pipesim_option 'compare explain export diff steady optimize sweep plan phases' '--trace' '' 'FILE...' '@csv csv.gz json json.gz txt log' 'take the times from a measured trace; may be repeated'
_pipesim_option 'calibrate' '--layers' '' 'N' '' 'layers on each rank (default: as in the trace)'
_pipesim_option 'diagnose' '--layers' '' 'N' '' 'layers on each rank, which are balanced (default: as forwards tell)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--layers' '' 'N' '' 'layers on each rank, or with --model-times of the model (default: as stages of the trace need)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--split' '' 'HOW' 'even layers' 'share layers evenly or in whole layers (default: even)'
_pipesim_option 'compare explain export diff steady optimize sweep phases' '--costs' '' 'FILE.ini' '@ini' 'take times and bytes from a file that '\''pipesim calibrate'\'' wrote'
_pipesim_option 'compare explain export diff steady optimize sweep' '--pair-time' '' 'HOW' 'measured phases sum' 'time of an overlapped F and B: measured, phases (simulated) or sum (default: measured)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-scale' '' 'LIST' '' 'scale the times of stages: 0=1.3 makes stage 0 30 % slower'
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-times' '' 'FILE' '@csv' 'times of each stage in ms: a CSV with columns stage,F,I,W'
_pipesim_option 'compare diff optimize sweep' '--op-times' '' 'FILE' '@csv' 'times of each micro-batch in ms: a CSV with columns stage,microbatch,F,I,W'
_pipesim_option 'compare explain export diff steady optimize sweep' '--slice-lengths' '' 'HOW' 'even work plan' 'lengths of slices: even, work (equal), plan (shortest forwards) or tokens of each (default: even)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--slice-cost' '' 'LIST' '' 'what a slice of x tokens behind L others takes: c + gamma L + b x + a (2 L x + x^2)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--context-exchange' '' '' '' 'slimpipe: ranks share the attention of the slices that they work on in step'
_pipesim_option 'compare explain export diff steady optimize sweep' '--copy-engines' '' 'N' '1 2' 'engines of a rank for copies to the host and back: 1, or 2, one each way (default: 1)'
_pipesim_option 'compare explain export diff steady optimize sweep plan' '--offload-bandwidth' '' 'N' '' 'bandwidth of copies to the host, one way, such as 25GB/s: COPY from activation bytes'
_pipesim_option 'compare explain export diff steady optimize sweep' '--slow-rank' '' 'LIST' '' 'stragglers: 3=1.1 makes rank 3 10 % slower'
_pipesim_option 'compare explain export diff steady optimize sweep' '--speed' '' 'LIST' '' 'speed of single GPUs: 3=0.97 makes rank 3 take 1/0.97 of the time'
_pipesim_option 'compare explain export diff steady optimize sweep' '--activation-bytes' '' 'N[+N]' '' 'activation bytes of a micro-batch on a rank: held until dgrad + until wgrad'
_pipesim_option 'compare explain export diff steady optimize sweep' '--parameter-bytes' '' 'N' '' 'bytes of parameters, gradients and optimizer states of a rank, per copy'
_pipesim_option 'compare explain export diff steady optimize sweep' '--unshard-time' '' 'MS' '' 'FSDP: time in ms to gather the parameters of a rank'\''s stages (default: 0)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--reduce-time' '' 'MS' '' 'FSDP: time in ms to reduce the gradients of a rank'\''s stages (default: 0)'
_pipesim_option 'compare explain export diff steady optimize sweep plan' '--post-validation' '' '' '' 'no barrier at the optimizer: ranks begin the next step at once, and check afterwards'
_pipesim_option 'compare explain export diff steady optimize sweep' '--optimizer-time' '' 'MS' '' 'time in ms of the optimizer between steps of --post-validation (default: of a described model, or 0)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--unshard-bytes' '' 'N' '' 'FSDP: bytes of the gathered parameters of a rank'\''s stages'
_pipesim_option 'compare explain export diff steady optimize sweep' '--shard-bandwidth' '' 'N' '' 'FSDP: bandwidth of gathering and reducing, such as 50GB/s'
_pipesim_option 'compare explain export diff steady optimize sweep' '--stage-bytes' '' 'FILE' '@csv' 'bytes of each stage: a CSV with columns stage,until_input,until_weight,parameters'
_pipesim_option 'optimize' '--memory-limit' '' 'N' '' 'memory that a rank may use, such as 80GB'
_pipesim_option 'compare explain export diff steady sweep' '--memory-limit' '' 'N' '' 'memory of a rank, such as 80GB; schedules that do not fit are marked'
_pipesim_option 'compare diff sweep' '--power' '' 'HOW' 'measured off' 'ops slow down at the power limit and beside messages as measured, or off (default: measured)'
_pipesim_option 'compare diff sweep' '--power-limit' '' 'W' '' 'power limit of a GPU, such as 600W (default: as measured)'
_pipesim_option 'compare diff sweep' '--step-pause' '' 'TIME' '' 'idle time of GPUs between steps, such as 20ms (default: 0)'
_pipesim_option 'compare diff sweep' '--cold-start' '' '' '' 'start from idle GPUs (default: right after another step)'
_pipesim_option 'compare diff sweep' '--cpu-launch' '' 'HOW' 'measured off' 'time of the CPU to launch ops: measured or off (default: measured, where costs have it)'
_pipesim_alias 'compare diff sweep' '--launches' 'HOW' 'measured off'
_pipesim_option 'prefill' '--model' '' 'NAME|FILE' '@ini json' 'take times from a model: a shipped name, config.json or an INI file'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--model' '' 'NAME|FILE' '@ini json' 'take bytes and layers from a model: a shipped name, config.json or an INI file'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--seq' '' 'N' '' 'tokens of a sequence (default: 4096)'
_pipesim_option 'plan' '--microbatch-size' '' 'N' '' 'sequences of a micro-batch (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--microbatch-size' '' 'N' '' 'sequences of a micro-batch (default: 1)'
_pipesim_option 'plan' '--tp' '' 'N' '' 'tensor-parallel size (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model prefill' '--tp' '' 'N' '' 'tensor-parallel size (default: 1)'
_pipesim_option 'plan' '--cp' '' 'N' '' 'context-parallel size (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--cp' '' 'N' '' 'context-parallel size (default: 1)'
_pipesim_option 'plan' '--ep' '' 'N' '' 'expert-parallel size (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model prefill' '--ep' '' 'N' '' 'expert-parallel size (default: 1)'
_pipesim_option 'plan' '--expert-tp' '' 'N' '' 'tensor-parallel size of experts (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--expert-tp' '' 'N' '' 'tensor-parallel size of experts (default: 1)'
_pipesim_option 'plan' '--dp' '' 'N' '' 'data-parallel size (default: what is left)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--dp' '' 'N' '' 'data-parallel size (default: 1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--sequence-parallel' '' '' '' 'sequence parallelism: TP divides norms and dropouts too'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--cp-comm' '' 'KIND' 'p2p a2a' 'context parallelism by p2p or a2a, which keeps more (default: p2p)'
_pipesim_option 'plan' '--recompute' '' 'WHAT' 'none selective full mlp moe moe_act shared_experts layernorm mla_up_proj selective-op' 'recomputation: none, selective, full ... (default: searched)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--recompute' '' 'WHAT' 'none selective full mlp moe moe_act shared_experts layernorm mla_up_proj selective-op' 'recomputation: none, selective, full, every=N, first=N[,N...] or modules as mlp+moe (default: none)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--optimizer' '' 'NAME' 'adam adam-bf16 adam-fp16 adam-fp32 sgd' 'optimizer, and the type of its gradients and states (default: adam, in FP32)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--modules' '' 'WHOSE' 'megatron megatron-0.15 megatron-0.13 pytorch deepseek megatron-next torchtitan torchtitan-compiled' 'whose layers run: those of Megatron-Core, PyTorch, torchtitan or DeepSeek (default: megatron)'
_pipesim_option 'plan' '--zero' '' 'STAGE' '0 1 2 3 fsdp fsdp-fp32' 'what data-parallel ranks shard (default: 1; searched under FSDP)'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--zero' '' 'STAGE' '0 1 2 3 fsdp fsdp-fp32' 'what data-parallel ranks shard: ZeRO stage 0 to 3, or fsdp (default: 1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan prefill' '--precision' '' 'TYPE' 'bf16 fp16 fp8 fp8-cs fp8-ds fp8-mx fp8-block fp8-tensorwise fp8-rowwise nvfp4 fp8-params fp8-cs-params fp8-ds-params fp8-mx-params fp8-block-params' 'type of linear layers (default: bf16)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--attention' '' 'KIND' 'fused unfused flash-2' 'fused attention, unfused, which keeps its scores, or FlashAttention-2 (default: fused)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--loss' '' 'KIND' 'megatron te native float' 'implementation of the cross entropy (default: megatron)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--unfused' '' 'LIST' 'permutation gradients rope' 'do without a fused permutation of MoE tokens, gradient accumulation or RoPE, or several'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--expert-imbalance' '' 'FACTOR' '' 'MoE load imbalance: tokens of the fullest expert rank, max/mean (default: 1)'
_pipesim_alias 'compare explain export diff steady optimize sweep model plan' '--routing' 'FACTOR' ''
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--workspace' '' 'N[+N]' '' 'bytes of library workspaces + those of grouped experts (default: 64MiB)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--layout' '' 'STRING|FILE' 'auto' 'layers of each stage, such as '\''Et*3|(tt|)*29,m|L'\'', or auto (default: even)'
_pipesim_option 'prefill' '--device' '' 'GPU' 'h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x' 'estimate times of chunks on this GPU'
_pipesim_option 'diagnose' '--device' '' 'GPU' 'h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x' 'whose [power] chips at their limit clock by (default: the shipped one that profiles name)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--device' '' 'GPU' 'h100 h200 h800 a100 b200 b300 gb200 gb300 mi300x mi325x mi355x' 'estimate op times on this GPU, kernel by kernel'
_pipesim_option 'compare explain export diff steady optimize sweep model plan prefill' '--mfu' '' 'X' '' 'share of the peak FLOP/s that large matrix products reach (default: of the GPU)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan prefill' '--time-factors' '' 'X,Y' '' 'kernels take X times, and messages within ops Y times as long (default: 1,1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--dp-bandwidth' '' 'N' '' 'bandwidth of the gradient reduction, such as 50GB/s (default: of the links)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--overlap-grad-reduce' '' '' '' 'reduce gradients beside the last backward of a stage'
_pipesim_option 'plan' '--measured' '' 'FILE.csv' '@csv csv.gz' 'correct estimated times by measured steps: a CSV'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--tp-overlap' '' '' '' 'overlap tensor-parallel collectives with matrix products'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--ep-overlap' '' '' '' 'overlap expert all-to-alls with the other op of --overlap-fb'
_pipesim_option 'compare explain export diff sweep' '--recompute-as-ops' '' '' '' 'what --recompute computes again is an op before each backward, R'
_pipesim_option 'compare explain export diff sweep' '--vocab-parallel' '' '' '' 'also compare schedules with passes, over whose ranks the output layer and the embedding are cut'
_pipesim_option 'compare explain export diff steady optimize sweep model' '--encoder-stages' '' 'N' '' 'first stages of the pipeline, which hold the layers of the model'\''s vision encoder'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--images' '' 'N' '' 'images in a sequence (default: 1)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--image-patches' '' 'N' '' 'patches of an image, as the encoder sees them (default: the model'\''s)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--dispatcher' '' 'NAME' 'auto alltoall deepep hybridep' 'how tokens reach experts: auto, alltoall, deepep or hybridep (default: auto)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan prefill' '--node-bandwidth' '' 'N' '' 'bandwidth of a GPU to other nodes, such as 50GB/s (default: of the GPU)'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--cuda-graph' '' '' '' 'layers run as CUDA graphs: the CPU delays nothing'
_pipesim_option 'compare explain export diff steady optimize sweep model plan' '--graphs' '' 'WHAT' 'auto none router layers step' 'which parts of MoE layers CUDA graphs hold (default: auto)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--message-bytes' '' 'N' '' 'bytes of a message between stages; messages then queue on links'
_pipesim_option 'compare explain export diff steady optimize sweep' '--link-latency' '' 'TIME' '' 'latency of a link, such as 5us (default: of the costs)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--link-bandwidth' '' 'N' '' 'bandwidth of a link, such as 50GB/s or 400Gbit/s (default: of the costs)'
_pipesim_option 'compare explain export diff steady optimize sweep' '--topology' '' 'FILE.ini' '@ini' 'nodes, links and NICs from a file, instead of identical links'
_pipesim_option 'compare explain export diff steady optimize sweep' '--interference' '' 'FACTOR' 'measured' 'slowdown of compute while a message moves, such as 1.08, or measured (default: 1)'
_pipesim_option 'compare optimize' '--samples' '' 'N' '' 'also simulate N steps with random op times'
_pipesim_option 'optimize' '--seed' '' 'N' '' 'seed of the search and of random op times (default: 1)'
_pipesim_option 'prefill' '--seed' '' 'N' '' 'seed of --arrival-rate (default: 1)'
_pipesim_option 'compare' '--seed' '' 'N' '' 'seed of the random numbers (default: 1)'
_pipesim_option 'compare optimize' '--jitter' '' 'SD' '' 'relative standard deviation of random op times, such as 3% (default: as measured)'
_pipesim_option 'sweep plan' '--resume' '' '' '' 'continue after the rows that are already in the file'
_pipesim_option 'diagnose' '--shard' '' 'I/N' '' 'read part I of N of the files, from 0/N to N-1/N, into the file of --output: all of these are then given instead'
_pipesim_option 'sweep plan' '--shard' '' 'I/N' '' 'run only part I of N, from 0/N to N-1/N'
_pipesim_option 'optimize sweep plan' '--threads' '-j' 'N' '' 'threads (default: one per core)'
_pipesim_option 'sweep' '--heat-map' '' 'FILE' '@svg png pdf' 'draw a heat map over 2 or 3 swept options (.svg, .png, .pdf)'
_pipesim_option 'plan' '--pareto' '' 'FILE' '@svg png pdf' 'draw memory against step time (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--winners' '' 'FILE' '@svg png pdf' 'draw which schedule is fastest where (.svg, .png, .pdf)'
_pipesim_option 'optimize' '--lines' '' 'FILE' '@svg png pdf' 'draw the curve of --curve (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--lines' '' 'FILE' '@svg png pdf' 'draw lines over the last swept option (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--metric' '' 'NAME' 'bubble makespan microbatch activations' 'what pictures show (default: bubble)'
_pipesim_option 'optimize' '--placement' '' 'WHERE' 'single v interleaved wave bidirectional' 'where the stages lie (default: single, one on each rank)'
_pipesim_option 'optimize' '--full-backward' '' '' '' 'do not split backwards into dgrad and wgrad'
_pipesim_option 'optimize' '--order' '' 'OF' 'ops microbatches both' 'what is put in order: ops, unequal microbatches, or both (default: ops)'
_pipesim_option 'optimize' '--curve' '' 'OVER' 'memory' 'shortest step at each limit of activations, from 1 to twice PP'
_pipesim_option 'optimize' '--lengths' '' 'FILE' '@csv' 'lengths of micro-batches or sequences, one a line; their mean takes the times given'
_pipesim_option 'optimize' '--pack' '' 'N' '' 'pack the sequences of --lengths into micro-batches of at most N tokens'
_pipesim_option 'optimize' '--objective' '' 'WHAT' 'makespan p5 median p95 p99' 'what to shorten: the makespan or a percentile of --samples (default: makespan)'
_pipesim_option 'optimize' '--time' '' 'TIME' '' 'time budget, e.g. 10s; 0: known schedules only'
_pipesim_option 'optimize' '--moves' '' 'N' '' 'budget of search moves, for the same result everywhere (default: 10 s of them)'
_pipesim_option 'optimize' '--explain-bound' '' '' '' 'prove the lower bound, step by step'
_pipesim_option 'calibrate' '--load-mode' '' 'MODE' 'sustained back_to_back synced' 'measurements to use: sustained, back_to_back or synced (default: the first captured)'
_pipesim_option 'calibrate' '--impl' '' 'COMPONENT=IMPL...' '' 'implementation of a component to use, if several were measured (default: the fastest)'
_pipesim_option 'calibrate' '--sm-split' '' 'A+B' '' 'SMs for compute + communication in the overlapped pair (default: the fastest)'
_pipesim_option 'calibrate' '--receive-sms' '' 'N' '' 'SMs that a waiting receive occupies (default: as many as with NCCL)'
_pipesim_alias 'calibrate' '--resident-sms' 'N' ''
_pipesim_option 'calibrate diagnose' '--map' '' 'RULES' '@*' 'rules that map names in profiler files to components; see docs/formats.md'
_pipesim_option 'calibrate diagnose' '--recorded-schedule' '' 'SCHEDULE' '1f1b gpipe' 'schedule of a profile whose ops have no names (default: one that fits)'
_pipesim_alias 'calibrate diagnose' '--as' 'SCHEDULE' '1f1b gpipe'
_pipesim_option 'calibrate' '--picture' '' 'FILE' '@svg png pdf' 'draw the spread of each component (.svg, .png, .pdf)'
_pipesim_option 'calibrate' '--figures' '' '' '' 'also print percentiles, autocorrelation, waits, interference and fits'
_pipesim_option 'model' '--memory-model' '' 'KIND' 'tensors megatron' 'memory of tensors, or what Megatron-LM prints (default: tensors)'
_pipesim_option 'model' '--terms' '' '' '' 'also print every term, its formula and its source'
_pipesim_option 'diagnose' '--step' '' 'N' '' 'step to diagnose (default: the one of median length)'
_pipesim_option 'plan' '--gpus' '' 'N' '' 'GPUs of the whole job'
_pipesim_option 'plan' '--gpus-per-node' '' 'N' '' 'GPUs of a node, which TP stays within (default: 8)'
_pipesim_option 'plan' '--memory' '' 'N' '' 'memory of a GPU, such as 80GiB (default: as --device says)'
_pipesim_option 'plan' '--reserve' '' 'N' '' 'part of --memory that is not for tensors, such as 6GiB (default: as measured)'
_pipesim_option 'plan' '--global-batch' '' 'N' '' 'sequences of a step'
_pipesim_option 'plan' '--explain' '' 'N' '' 'also print how to run row N of the table'
_pipesim_option 'phases' '--phase-times' '' 'LIST' '' 'times in ms of F, B and W of attn, dispatch, mlp, combine, send, pre: F_attn=2,B_mlp=3'
_pipesim_option 'phases' '--chunk-layers' '' 'N[+N]' '' 'layers of the forward + of the backward beside it (default: 1)'
_pipesim_option 'phases' '--early-attn-release' '' '' '' 'the backward of attention runs before the forward of experts, to free its memory'
_pipesim_option 'prefill' '--prompt-tokens' '' 'N,...' '' 'tokens of a prompt; of several lengths prompts take turns'
_pipesim_option 'prefill' '--chunking' '' 'HOW,...' 'fixed sglang vllm atom best' 'how sizes of chunks are chosen (default: all of these ways)'
_pipesim_option 'prefill' '--chunk-tokens' '' 'N,...' '' 'tokens of the first chunk, and of each that is fixed; several are compared (default: 8192)'
_pipesim_option 'prefill' '--chunk-smoothing' '' 'X' '' 'how far sizes follow the times, 0 to 1 (default: SGLang 0.75, vLLM 0.8, ATOM 1)'
_pipesim_option 'prefill' '--min-chunk' '' 'N' '' 'least tokens of a chunk whose size changes (default: SGLang a quarter of the first, others 4096)'
_pipesim_option 'prefill' '--chunk-align' '' 'N' '' 'sizes that change are multiples of N tokens (default: 64)'
_pipesim_option 'prefill' '--prefill-times' '' 'LIST|FILE.ini' '' 'times of a chunk on a rank, in ms: a=3e-7,b=0.006,c=26,gamma=,send=,send-token='
_pipesim_option 'prefill' '--requests' '' 'N' '' 'prompts that arrive (default: 1; with --arrival-rate 100)'
_pipesim_option 'prefill' '--arrival-rate' '' 'X' '' 'prompts that arrive in a second, at random times (default: all at once)'
_pipesim_option 'prefill' '--arrivals' '' 'FILE.csv' '@csv csv.gz' 'prompts from a file: a CSV with columns arrival_ms,tokens'
_pipesim_option 'prefill' '--in-flight' '' 'N' '' 'prompts that take turns, chunk by chunk (default: 1: one after the other)'
_pipesim_option 'list' '--names' '' '' '' 'print names only, one per line'
_pipesim_option 'compare export steady optimize sweep model' '--from-megatron' '' 'FILE' '@sh yaml yml' 'take shape, model and training from Megatron-LM'\''s arguments: a shell script or .yaml'
_pipesim_option 'compare export steady optimize sweep model' '--from-torchtitan' '' 'FILE.toml' '@toml' 'take shape, model and training from torchtitan'\''s TOML'
_pipesim_option 'compare list explain export validate diff steady optimize sweep model plan phases prefill calibrate diagnose' '--job' '' 'FILE.ini' '@ini' 'run what a job file asks for; options beside it override it'
_pipesim_option 'compare list explain export validate diff steady optimize sweep model plan phases prefill calibrate diagnose' '--write-job' '' 'FILE.ini' '@ini' 'also write a job file that asks for the same'
_pipesim_option 'compare list explain export validate diff steady optimize sweep model plan phases prefill calibrate diagnose help' '--help' '-h' '' '' 'show this help'
# End of what it prints.
functions -e _pipesim_command _pipesim_operand _pipesim_option _pipesim_alias
