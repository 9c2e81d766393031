#!/bin/sh
# What happens where the nth allocation or the nth write of a command fails, for n = 1, 2 ... until it is done: it ends with
# a documented status and says why, what it was to write is whole or what was there before, nothing is left behind and no
# input is touched. By default some n of each command; with PIPESIM_LONG=yes all.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
[ -z "${PIPESIM_SANITIZED-}" ] || skip 'sanitizers want to be loaded first'
sources=$(cd "$TOP_SRCDIR" && pwd)
cd "$scratch" || exit 99
# shellcheck disable=SC2086 # CC may be several words
${CC:-cc} -O1 -shared -fPIC -o fail-nth.so "$sources/tests/fail-nth.c" -ldl -lpthread 2>cc.log || skip "no shared library: $(head -n 1 cc.log)"

mkdir -p folder/in
cp -R "$sources/tests/input/run" "$sources"/tests/input/trace-small.csv "$sources"/tests/input/trace-series.csv \
	"$sources"/tests/input/stages.csv "$sources"/tests/input/op-times.csv "$sources"/tests/input/topology-nics.ini \
	"$sources"/tests/input/model-config.json "$sources"/tests/input/costs-power.ini "$sources"/tests/input/profile.json \
	"$sources"/tests/input/stage-bytes.csv "$sources"/tests/input/arrivals.csv "$sources"/tests/input/prefill.ini \
	"$sources"/tests/input/sequences.csv folder/in
cd folder || exit 99
"$PIPESIM" export -s 1f1b --pp 2 -m 3 --with-comms -o in/order.csv
"$PIPESIM" export -s zb-h1 --pp 2 -m 3 -o in/other.csv
"$PIPESIM" --pp 2 -m 3 -s 1f1b --write-job in/job.ini >../job
printf 'pp,dp,tp,microbatches,schedule,step_ms\n2,1,1,4,1f1b,11000\n' >in/steps.csv
before=$(find in -type f -exec cksum {} + | sort)

reset()
{
	find . -mindepth 1 -maxdepth 1 ! -name in -exec rm -rf {} +
	for file in $outputs; do echo precious >"$file"; done
	[ ! -d ../begun ] || cp ../begun/* .
}


lesser() # FILE WHOLE: whether FILE differs only in what is beside the answer; or it says why
{
	diff -r "$1" "$2" >/dev/null || grep -rq 'memory' "$1" || case $kind-$command in
	# A search may begin from less, a way to train be left out, a period be looked for in a longer step, what a rank
	# changes be not known.
	memory---pp | memory-in/job.ini | memory-optimize | memory-plan | memory-steady | memory-diff) ;;
	memory-diagnose)
		grep -Ev '"(name|at_ms|without_ms)"' "$2" >../answer
		grep -Ev '"(name|at_ms|without_ms)"' "$1" | cmp -s - ../answer
		;;
	*) false ;;
	esac
}

check() # of the last run, whose exit status is $status: says what is wrong
{
	case $kind-$status in
	*-"$wanted" | memory-0) lesser ../out ../whole-out || grep -q 'memory' ../err || echo 'goes on and prints something else' ;;
	memory-[123]) grep -q 'memory' ../err || echo "status $status without a word of memory: $(tail -n 2 ../err)" ;;
	write-[45]) grep -q '^pipesim: .' ../err || echo "status $status without a word" ;;
	*) echo "exit status $status: $(tail -n 2 ../err)" ;;
	esac
	for file in *; do
		case $file in
		in | *.partial | *.partial.id) continue ;; # what --resume goes on from is kept
		esac
		diff -r "$file" "../whole/$file" >/dev/null 2>&1 || [ "$(cat "$file" 2>/dev/null)" = precious ] ||
			{ [ -d "$file" ] && ! diff -r "$file" "../whole/$file" | grep -qv '^Only in \.\./whole'; } ||
			{ [ $status = "$wanted" ] && lesser "$file" "../whole/$file"; } ||
			echo "$file is neither as it was nor as it should be"
	done
	[ "$(find in -type f -exec cksum {} + | sort)" = "$before" ] || echo 'an input is changed'
}

try() # OUTPUTS COMMAND...: OUTPUTS are the files that it writes over, in one word
{
	outputs=$1 command=$2
	shift
	reset
	"$PIPESIM" "$@" >../whole-out 2>../whole-err
	wanted=$?
	rm -rf ../whole
	mkdir ../whole
	for file in *; do [ "$file" = in ] || cp -R "$file" ../whole; done
	for kind in memory write; do
		n=1
		while :; do
			reset
			rm -f ../said
			# What gcov counts goes elsewhere: a write of its own that fails would break all that it has counted.
			GCOV_PREFIX=$scratch/gcov FAIL=$kind:$n FAIL_SAID=$scratch/said LD_PRELOAD=$scratch/fail-nth.so "$PIPESIM" "$@" >../out 2>../err
			status=$?
			calls=$(cat ../said 2>/dev/null)
			[ "${calls:-0}" -ge $n ] || break
			wrong=$(check)
			if [ -z "$wrong" ]; then pass; else fail "$kind $n of pipesim $*: $wrong"; fi
			if [ -n "${PIPESIM_LONG-}" ] || [ -d ../begun ]; then n=$((n + 1)); else n=$((2 * n + 1)); fi
		done
	done
}

shape='--pp 2 -m 3'
# shellcheck disable=SC2086 # $shape is several words
{
	try '' $shape
	try 'out.json' $shape -s 1f1b,zb-v,dualpipe --stage-times in/stages.csv --samples 4 --jitter 3% -o out.json
	try 'out.csv' $shape -s 1f1b,zb-v --message-bytes 1MB --topology in/topology-nics.ini -o out.csv --critical-path
	try 'out.txt' $shape -s zb-h1 --op-times in/op-times.csv --timeline out.txt
	try 'out.json out.html' $shape -s 1f1b --runtime pytorch-2.15 --chrome-trace out.json --report out.html
	try '' $shape -s gpipe,1f1b --costs in/costs-power.ini
	try '' $shape -s interleaved-1f1b,looped-bfs --runtime megatron --critical-path
	try '' $shape -s zb-v --runtime pytorch-2.15 --samples 4 --jitter 3%
	try '' $shape -s dualpipe --runtime deepseek --samples 4 --jitter 3%
	try '' --pp 2 -m 4 -s 1f1b,zb-v --slices 2 --memory-limit 1TB --activation-bytes 1GB
	try 'out.0.et out.1.et' $shape -s zb-v --chrome-trace out.et
	try 'job.ini' $shape -s 1f1b --stage-bytes in/stage-bytes.csv --write-job job.ini
	try '' in/job.ini
	try '' list
	try '' help plan
	try 'out.json' phases --phase-times F_attn=2,B_attn=2,B_dispatch=3 -f json -o out.json
	try '' explain zb-v
	try '' validate in/order.csv
	try 'out.csv' export -s dualpipev --pp 2 -m 4 -o out.csv
	try '' diff in/order.csv in/other.csv
	try 'out.json' steady zb-h1 --pp 2 -f json -o out.json
	try 'out.json' prefill --pp 2 --prompt-tokens 8192 --prefill-times b=0.01,c=1 -f json -o out.json
	try 'out.csv' optimize $shape --placement v --moves 200 -j 1 -o out.csv
	try 'out.csv' prefill --pp 2 --chunks 2 --arrivals in/arrivals.csv --chunk-tokens 8192 --chunking fixed,sglang,best --prefill-times in/prefill.ini -o out.csv
	try '' steady 1f1b --pp 2 --runtime single
	try 'out.csv' optimize --pp 2 -m 4 --placement bidirectional --moves 50 -j 1 -o out.csv
	try 'out.csv' optimize --order microbatches --pp 2 --lengths in/sequences.csv --moves 50 -j 1 -o out.csv
	try '' optimize --pp 2 -m 2 --samples 5 --jitter 5% --moves 20 -j 1
	try 'out.csv' sweep --pp 2 -m 2:6:2 -s 1f1b,zb-v --max-activations 2/3 -j 1 -o out.csv
	# What a stop left is gone on with, or stays for the next: there are few calls, all of them fail once.
	mkdir ../begun
	"$PIPESIM" --version >../begun/out.csv.partial.id
	printf '%s\n' '--pp 2' '--microbatches 2:6:2' >>../begun/out.csv.partial.id
	"$PIPESIM" sweep --pp 2 -m 2:6:2 -s 1f1b,zb-v -j 1 -f csv >../rows
	head -n 3 ../rows >../begun/out.csv.partial
	try '' sweep --pp 2 -m 2:6:2 -s 1f1b,zb-v -j 1 --resume -o out.csv
	[ -s ../whole/out.csv ] || fail "not gone on with: $(cat ../whole-err)"
	rm -r ../begun
	try 'out.csv' model in/model-config.json --pp 2 -o out.csv
	try 'out.csv' plan --model in/model-config.json --gpus 2 --memory 80GiB --global-batch 4 -s 1f1b -j 1 -o out.csv
	try '' model in/model-config.json --pp 2 --layout auto -s zb-v
	set -- --model in/model-config.json --gpus 2 --memory 80GiB --global-batch 4 -s 1f1b -j 1
	try 'out.csv' plan "$@" --measured in/steps.csv -o out.csv
	try '' plan "$@" --tp 1 -o d/
	try 'out.ini' calibrate in/trace-small.csv -o out.ini
	try '' calibrate in/trace-series.csv --figures
	try '' calibrate in/profile.json
	try 'out.txt' calibrate in/trace-small.csv --picture out.txt
	try 'out.json' diagnose in/run/ops.csv --step 2 -f json -o out.json
	try 'out.txt' diagnose in/run/ops.csv --step 2 --timeline out.txt
	try 'out.json out.html' diagnose in/run/ops.csv --step 2 --chrome-trace out.json --report out.html
}
finish
