#!/bin/sh
# steps.sh FOLDER [ARGUMENT...]: captures four models on two GPUs, or on one with GPUS=1, then runs steps of them with
# schedules that pipesim exports; FOLDER is for `accuracy.py pack`. Some ten minutes. ARGUMENTs go to steps.py.
: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${PIPESIM:=pipesim}" "${PYTHON:=python3}"
folder=${1:?FOLDER}
shift
mkdir -p "$folder/schedules" || exit
for name in 1f1b gpipe zb-h1 interleaved-1f1b looped-bfs interleaved-zb zb-v dualpipev v-half v-min; do
	for count in 8 16; do
		"$PIPESIM" export --framework pytorch --schedule "$name" --pp 2 --microbatches "$count" \
			-o "$folder/schedules/$name-m$count.csv" || exit
	done
done
# For one GPU: all stages on it, and ranks of longer pipelines by themselves.
for name in interleaved-1f1b looped-bfs interleaved-zb; do
	"$PIPESIM" export --framework pytorch --schedule "$name" --pp 1 --chunks 4 --microbatches 4 \
		-o "$folder/schedules/$name-one.csv" || exit
done
for name in 1f1b zb-h1 gpipe; do
	"$PIPESIM" --pp 4 --microbatches 8 --schedule "$name" --times F=6,I=9,W=5.5,B=14.5 --format ops |
		awk -F, 'NR > 1 && $7 + $8 > end { end = $7 + $8 }
			$3 == 1 { op[++n] = $5 "," $6; gap[n] = $7 - last; last = $7 + $8 }
			END { gap[1] += end - last; for (i = 1; i <= n; i++) print op[i] "," gap[i] }' \
			>"$folder/schedules/$name-idle.csv" || exit
done
PYTHONPATH="$TOP_SRCDIR/python" exec "$PYTHON" -m torch.distributed.run --nproc-per-node "${GPUS:-2}" \
	"$TOP_SRCDIR/python/measuring/steps.py" --schedules "$folder/schedules" --cycle 41300000 -o "$folder" "$@"
