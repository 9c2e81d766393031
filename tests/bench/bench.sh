#!/bin/sh
# make bench: how fast it is. Prints, never asserts: compare with an earlier run on the same machine.
set -u
: "${PIPESIM:=./pipesim}" "${TOP_BUILDDIR:=.}"
times=$(mktemp) || exit 99
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$times" "$folder"' EXIT

bytes= # of the file that it reads
wall() # RUNS ARGUMENT...: median and least wall time of a cold process, ms, and how much of $bytes that is a second
{
	runs=$1
	shift
	: >"$times"
	while [ "$runs" -gt 0 ]; do
		begin=$(date +%s%N)
		"$PIPESIM" "$@" >/dev/null 2>"$folder/hang" || [ "$1" = validate ] || exit 1
		end=$(date +%s%N)
		echo $((end - begin)) >>"$times"
		runs=$((runs - 1))
	done
	sort -n "$times" | awk -v what="pipesim $*" -v bytes="$bytes" '
		{ t[NR] = $1 / 1e6 }
		END {
			rate = bytes > 0 ? sprintf("; %.0f MB/s", bytes / t[1] / 1e3) : ""
			printf "  %8.1f ms  (least %.1f, %d runs%s)  %s\n", t[int((NR + 1) / 2)], t[1], NR, rate, what
		}'
}

echo 'Wall time of a cold process, median (aims: the first below 50 ms, all schedules at PP 64 below 1 s):'
wall 41 --pp 8 --microbatches 20
wall 21 --pp 8 --microbatches 20 --format json
wall 11 --pp 64 --microbatches 1024
wall 11 --pp 64 --microbatches 1024 --schedule dualpipe
"$TOP_BUILDDIR/tests/bench/bench"
echo 'Pictures of 10 million ops, whole process, median of 5 (at least: 5 s and 20 MB; aim: 2 s):'
many='--pp 64 --microbatches 78125 --schedule 1f1b'
# shellcheck disable=SC2086
wall 5 $many
for extension in txt svg png pdf; do
	[ $extension = txt ] || command -v gnuplot >/dev/null || break
	# shellcheck disable=SC2086
	wall 5 $many --timeline "$folder/many.$extension"
	printf '  %8d kB of .%s\n' "$(($(wc -c <"$folder/many.$extension") / 1000))" $extension
done
echo 'Sweeps, whole process, rows a second (one row: a schedule at 8 ranks and 20 micro-batches):'
for threads in 1 "$(getconf _NPROCESSORS_ONLN)"; do
	begin=$(date +%s%N)
	rows=$("$PIPESIM" sweep --pp 8 --microbatches 20 --times F=1:3:0.0001,B=2 -s 1f1b,dualpipe -f csv \
		-j "$threads" | wc -l)
	end=$(date +%s%N)
	printf '  %8d rows/s  %s threads\n' $((rows * 1000000000 / (end - begin))) "$threads"
done
echo 'The same under a runtime (aim: within 3 times async), 101 rows of 1f1b at 16 ranks and 64 micro-batches:'
for runtime in async pytorch-2.11 pytorch-2.15 megatron single; do
	wall 5 sweep --pp 16 --microbatches 64 --times F=1:2:0.01,B=2 -s 1f1b -f csv -j 1 --runtime $runtime
done
echo 'The same, 64 rows, solved two by two:'
for steps in '1f1b --pp 64 -m 256' '1f1b --pp 64 -m 128' 'interleaved-1f1b --pp 64 -m 256' '1f1b --pp 128 -m 256' 'dualpipe --pp 16 -m 64'; do
	case $steps in
	dualpipe*) runtimes='async deepseek' ;;
	inter*) runtimes='async pytorch-2.15 megatron' ;;
	*) runtimes='async pytorch-2.15 megatron single' ;;
	esac
	for runtime in $runtimes; do
		# shellcheck disable=SC2086
		wall 5 sweep -s $steps --times F=1:1.63:0.01,I=1,W=1 -f csv -j 1 --runtime "$runtime"
	done
done
echo 'Samples under a runtime, whole process:'
for samples in 16 64 4096; do
	wall 5 --pp 16 -m 128 -s 1f1b --runtime pytorch-2.15 --jitter 5% --samples $samples
	wall 5 --pp 16 -m 128 -s interleaved-1f1b --runtime megatron --jitter 5% --samples $samples
done
echo 'Files of PP 64 and 1024 micro-batches, whole process (aims: compare 200 MB/s, validate 100, one that hangs in 10 ms):'
for schedule in 1f1b interleaved-1f1b zb-v; do
	"$PIPESIM" export $schedule --pp 64 -m 1024 -o "$folder/$schedule.csv" || exit 1
	bytes=$(wc -c <"$folder/$schedule.csv")
	wall 21 compare -s "$folder/$schedule.csv"
	wall 11 validate "$folder/$schedule.csv"
	bytes=
	wall 11 validate --runtime single "$folder/$schedule.csv"
done
echo 'Recorded runs read and diagnosed, whole process (aim: 100 ms a MB of text, unpacked):'
: "${TOP_SRCDIR:=.}" "${PIPESIM_SHARED:=$TOP_SRCDIR/../shared}"
for run in "$PIPESIM_SHARED"/traces/primus-pp8.csv.gz "$PIPESIM_SHARED"/traces/bytedance-s[et]-ops.csv.gz \
	"$TOP_SRCDIR"/traces/pytorch-h200x2/1f1b-clean; do
	set -- "$run"
	[ -e "$run" ] || set -- "$run"-rank?.json.gz
	[ -e "$1" ] || continue
	wall 11 diagnose "$@" 2>/dev/null
	printf '  %8.1f MB\n' "$(gzip -cd "$@" | wc -c | awk '{ print $1 / 1e6 }')"
done
