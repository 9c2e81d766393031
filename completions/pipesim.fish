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
_pipesim_command 'list' 'schedules, aliases, constraints'
_pipesim_command 'explain' 'idea, placement, phases and formulae of one schedule'
_pipesim_operand 'explain' '@name'
_pipesim_command 'export' 'op order of one schedule as a PyTorch schedule CSV'
_pipesim_operand 'export' '@schedule'
_pipesim_command 'validate' 'is a schedule CSV complete, and does it run without deadlock?'
_pipesim_operand 'validate' '@csv csv.gz'
_pipesim_command 'diff' 'where two schedules first differ, and what it costs'
_pipesim_operand 'diff' '@schedule'
_pipesim_command 'steady' 'what a micro-batch takes in the long run, exactly'
_pipesim_operand 'steady' '@name'
_pipesim_command 'sweep' 'simulate every combination of ranges of options, on all cores'
_pipesim_command 'calibrate' 'costs from measured traces'
_pipesim_operand 'calibrate' '@csv csv.gz json json.gz txt log'
_pipesim_option 'compare explain export diff steady sweep' '--pp' '-p' 'N' '' 'pipeline ranks'
_pipesim_option 'compare explain export diff steady sweep' '--microbatches' '-m' 'N' '' 'micro-batches of a step, both directions together'
_pipesim_option 'compare explain export diff steady sweep' '--chunks' '' 'V' '' 'stages a rank, of interleaved schedules and waves'
_pipesim_option 'compare explain export diff steady sweep' '--group' '' 'G' '' 'micro-batches of a group, of interleaved schedules'
_pipesim_option 'compare explain export diff steady sweep' '--pipelines' '' 'N' '' 'pipelines of chimera, both directions together'
_pipesim_option 'compare explain export diff steady sweep' '--max-activations' '' 'N' '' 'activations a rank may hold, for searches (default: PP)'
_pipesim_option 'export' '--schedule' '-s' 'NAME' '@schedule' 'schedule to write, or a file'
_pipesim_option 'compare sweep' '--schedule' '-s' 'NAME|FILE.csv,...' '@schedules' 'schedules, or files of op orders (default: all)'
_pipesim_option 'export' '--with-comms' '' '' '' 'write sends and receives too'
_pipesim_option 'export' '--comm' '' 'MODE' 'async queue single grouped native' 'which: async, queue, single, grouped, native (default)'
_pipesim_option 'validate' '--comm' '' 'MODE' 'async queue single grouped native' 'one way of waiting for messages alone (default: all of them)'
_pipesim_option 'compare diff sweep' '--comm' '' 'MODE' 'async queue single grouped native' 'how messages wait: async, queue, single, grouped, native'
_pipesim_option 'compare sweep' '--compare-at' '' 'WHAT' 'ranks stages' 'what is alike for all: ranks (default) or stages'
_pipesim_option 'export' '--for' '' 'WHO' 'pytorch pipesim' 'who reads it: pytorch (refuses what it cannot run) or pipesim'
_pipesim_option 'compare' '--format' '-f' 'FORMAT' 'text json csv' 'text, json or csv (default: as -o'\''s extension, else text)'
_pipesim_option 'sweep' '--format' '-f' 'FORMAT' 'text csv jsonl' 'text, csv or jsonl (default: as -o'\''s extension, else text)'
_pipesim_option 'diff steady' '--format' '-f' 'FORMAT' 'text json' 'text (default) or json'
_pipesim_option 'compare' '--output' '-o' 'FILE' '@*' 'write the result to FILE, not to standard output'
_pipesim_option 'sweep' '--output' '-o' 'FILE' '@*' 'write rows to FILE (FILE.partial until all are there)'
_pipesim_option 'calibrate' '--output' '-o' 'FILE.ini' '@ini' 'costs file to write, for --costs; '\''-'\'' = standard output, no table'
_pipesim_option 'export diff steady' '--output' '-o' 'FILE' '@*' 'write to FILE instead of standard output'
_pipesim_option 'compare' '--timeline' '-t' 'FILE' '@svg png pdf txt' 'draw timelines: .svg, .png, .pdf (gnuplot), .txt, - (text)'
_pipesim_option 'compare' '--critical-path' '' '' '' 'show what the makespan hangs on, and a lower bound'
_pipesim_option 'compare' '--chrome-trace' '' 'FILE.json' '@json' 'write timelines for Perfetto or chrome://tracing'
_pipesim_option 'compare' '--report' '' 'FILE.html' '@html' 'write a page for browsers: table, notes, timelines, memory'
_pipesim_option 'compare explain export diff steady sweep' '--times' '' 'LIST' '' 'in ms: F=1,I=1,W=1,B=2,FB=3,P2P=0 (default B=I+W, FB=F+B)'
_pipesim_option 'compare explain export diff steady sweep' '--model-times' '' 'LIST' '' 'the same of the whole model: divided by PP, but for P2P'
_pipesim_option 'compare explain export diff steady sweep' '--trace' '' 'FILE...' '@csv csv.gz json json.gz txt log' 'times from a measured trace (may be repeated)'
_pipesim_option 'calibrate' '--layers' '' 'N' '' 'layers of a rank'\''s share (default: as the trace says)'
_pipesim_option 'compare explain export diff steady sweep' '--layers' '' 'N' '' 'layers of a rank'\''s share, for --trace (default: the trace'\''s)'
_pipesim_option 'compare explain export diff steady sweep' '--costs' '' 'FILE.ini' '@ini' 'times and bytes from '\''pipesim calibrate'\'''
_pipesim_option 'compare explain export diff steady sweep' '--stage-scale' '' 'LIST' '' 'stages that take longer or less than --times: 0=1.3,7=1.25'
_pipesim_option 'compare explain export diff steady sweep' '--stage-times' '' 'FILE' '@csv' 'times of each stage: a CSV with columns stage,F,I,W'
_pipesim_option 'compare explain export diff steady sweep' '--slow-rank' '' 'LIST' '' 'what ops of a rank take against the others: 3=1.1'
_pipesim_option 'compare explain export diff steady sweep' '--activation-bytes' '' 'N[+N]' '' 'activations of a micro-batch: held to I + to W (one: to W)'
_pipesim_option 'compare explain export diff steady sweep' '--parameter-bytes' '' 'N' '' 'parameters, gradients, optimizer state of one copy'
_pipesim_option 'compare explain export diff steady sweep' '--memory-limit' '' 'N' '' 'memory of a rank: mark what does not fit'
_pipesim_option 'compare explain export diff steady sweep' '--message-bytes' '' 'N' '' 'size of a message between stages: messages queue on links'
_pipesim_option 'compare explain export diff steady sweep' '--link-latency' '' 'TIME' '' 'of a link (default: the costs'\'')'
_pipesim_option 'compare explain export diff steady sweep' '--link-bandwidth' '' 'N' '' 'of a link, 50GB/s or 400Gbit/s (default: the costs'\'')'
_pipesim_option 'compare explain export diff steady sweep' '--topology' '' 'FILE.ini' '@ini' 'nodes, links and NICs, instead of one sort of link'
_pipesim_option 'compare explain export diff steady sweep' '--interference' '' 'FACTOR' 'measured' 'what an op takes beside a message: 1.08, or '\''measured'\'''
_pipesim_option 'compare' '--samples' '' 'N' '' 'steps to draw at random, from what was measured'
_pipesim_option 'compare' '--seed' '' 'N' '' 'another seed draws other steps (default: 1)'
_pipesim_option 'compare' '--jitter' '' 'SD' '' 'draw normal times of this relative sd instead: 0.03, 3%'
_pipesim_option 'sweep' '--resume' '' '' '' 'go on behind the rows that the file has'
_pipesim_option 'sweep' '--shard' '' 'I/N' '' 'only part I of N, from 0/N to N-1/N'
_pipesim_option 'sweep' '--threads' '-j' 'N' '' 'threads (default: one a core)'
_pipesim_option 'sweep' '--heat-map' '' 'FILE' '@svg png pdf' 'draw a heat map over two swept numbers (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--lines' '' 'FILE' '@svg png pdf' 'draw lines over the last swept number (.svg, .png, .pdf)'
_pipesim_option 'sweep' '--metric' '' 'NAME' 'bubble makespan microbatch activations' 'bubble (default), makespan, microbatch or activations'
_pipesim_option 'calibrate' '--load-mode' '' 'MODE' 'sustained back_to_back synced' 'sustained, back_to_back or synced (default: the first captured)'
_pipesim_option 'calibrate' '--impl' '' 'COMPONENT=IMPL...' '' 'implementation, where there are several (default: the fastest)'
_pipesim_option 'calibrate' '--sm-split' '' 'A+B' '' 'SMs of computation + communication in the pair (default: the fastest)'
_pipesim_option 'calibrate' '--map' '' 'RULES' '@*' 'what names in profiler files mean; format in docs/formats.md'
_pipesim_option 'calibrate' '--picture' '' 'FILE' '@svg png pdf' 'draw the spread of each component: .svg, .png, .pdf (gnuplot)'
_pipesim_option 'calibrate' '--figures' '' '' '' 'all figures: percentiles, autocorrelation, waiting, interference, fits'
_pipesim_option 'list' '--names' '' '' '' 'names alone, one a line'
_pipesim_option 'compare list explain export validate diff steady sweep calibrate' '--help' '-h' '' '' 'show this help'
# End of what it prints.
functions -e _pipesim_command _pipesim_operand _pipesim_option
