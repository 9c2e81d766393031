#!/bin/sh
# accuracy.sh [print|peaks|pipelines|profiles|titan]: the tables of docs/accuracy.md, that of profiles in docs/diagnose.md and that of PyTorch's peaks in docs/memory.md, are what
# pipesim says today of the steps and captures in traces/accuracy-*, traces/*-power.csv.gz and traces/optimized-h200x2*. PIPESIM_UPDATE_GOLDEN=1 writes them
# there instead; the words only print them. By default one table of each sort is compared, with PIPESIM_LONG=yes all.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
command -v python3 >/dev/null || skip 'no python3'
export PYTHONDONTWRITEBYTECODE=1
traces=$TOP_SRCDIR/traces
table() # FOLDER ARGUMENT...
{
	python3 "$TOP_SRCDIR/python/measuring/accuracy.py" --pipesim "$PIPESIM" table "$@"
}
run() # FOLDER [ARGUMENT...]: of two GPUs
{
	folder=$traces/accuracy-h200x2$1
	shift
	table "$folder" "$@"
}
alone()
{
	table "$traces/accuracy-h100"
}
replays()
{
	python3 "$TOP_SRCDIR/python/measuring/accuracy.py" --pipesim "$PIPESIM" replays \
		"$traces/h200-power.csv.gz" "$traces/h100-power.csv.gz"
}
gains() # FOLDER
{
	python3 "$TOP_SRCDIR/python/measuring/gains.py" --pipesim "$PIPESIM" table "$traces/$1"
}
tables()
{
	run -d || return
	printf '\n%s\n\n' 'The third run, on two other GPUs, whose captures have no bursts of a rested chip beside receives:'
	run -c || return
	printf '\n%s\n\n' 'The first run, on two other GPUs, whose captures lack loops with messages and the edges of steps:'
	run '' || return
	printf '\n%s\n\n' 'The second, on two others again, with the effects that the captures of the first found:'
	run -b --effects "$traces/accuracy-h200x2" || return
	printf '\n%s\n\n' 'One H100: all four stages on it, 4 micro-batches, with pauses before each step:'
	alone || return
	printf '\n%s\n\n' "Ranks by themselves with the bundled kernels, replayed by \`pipesim-microbench\` (\`traces/h200-power\`, \`traces/h100-power\`):"
	replays || return
	for folder in optimized-h200x2 optimized-h200x2-b; do
		printf '\n%s\n\n' "Orders that pipesim searched, \`traces/$folder\`:"
		gains $folder || return
	done
}
peaks()
{
	python3 "$TOP_SRCDIR/python/measuring/accuracy.py" --pipesim "$PIPESIM" peaks \
		"$traces/accuracy-h200x2" "$traces/accuracy-h200x2-b"
}
pipelines()
{
	set -- python3 "$TOP_SRCDIR/python/measuring/pipelines_table.py" --pipesim "$PIPESIM"
	"$@" table "$traces/accuracy-h100x2" || return
	printf '\n%s\n\n' "Steps of the bundled layer, one a stage, 8 micro-batches, replayed by \`pipesim-microbench\` on the same GPUs (\`traces/h100x2-power\`):"
	"$@" replays "$traces/h100x2-power.csv.gz"
}
profiles()
{
	set -- python3 "$TOP_SRCDIR/python/measuring/profiles_table.py" --pipesim "$PIPESIM"
	"$@" "$traces/profiles-h100x2" || return
	printf '\n%s\n\n' "Two H200s, another model, 10 micro-batches (\`traces/profiles-h200x2\`):"
	"$@" "$traces/profiles-h200x2"
}
titan()
{
	python3 "$TOP_SRCDIR/python/measuring/titan_table.py" --pipesim "$PIPESIM" "$traces/torchtitan-h200x4"
}
case ${1-} in
print)
	tables
	exit
	;;
peaks)
	peaks
	exit
	;;
pipelines | profiles | titan)
	"$1"
	exit
	;;
esac
if [ -n "${PIPESIM_LONG-}${PIPESIM_UPDATE_GOLDEN-}" ]; then
	tables >"$scratch/said" || exit 99
	page_is docs/accuracy.md accuracy-table "$scratch/said"
else
	# One of each sort: others are of other GPUs.
	for part in 'run -d' alone replays 'gains optimized-h200x2-b'; do
		$part >"$scratch/said" || exit 99
		page_has docs/accuracy.md accuracy-table "$scratch/said"
	done
fi
pipelines >"$scratch/pipelines" || exit 99
page_is docs/accuracy.md pipelines-table "$scratch/pipelines"
titan >"$scratch/titan" || exit 99
page_is docs/accuracy.md titan-table "$scratch/titan"
profiles >"$scratch/profiles" || exit 99
page_is docs/diagnose.md profiles-table "$scratch/profiles"
peaks >"$scratch/peaks" || exit 99
page_is docs/memory.md peak-table "$scratch/peaks"
finish
