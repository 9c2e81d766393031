#!/bin/sh
# steps.sh FOLDER [ARGUMENT...]: captures four models on two GPUs, then runs steps of them with schedules that pipesim
# exports; FOLDER is for `accuracy.py pack`. Some ten minutes. ARGUMENTs go to steps.py.
: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${PIPESIM:=pipesim}" "${PYTHON:=python3}"
folder=${1:?FOLDER}
shift
mkdir -p "$folder/schedules" || exit
for name in 1f1b gpipe zb-h1 interleaved-1f1b looped-bfs interleaved-zb zb-v dualpipev v-half v-min; do
	for count in 8 16; do
		"$PIPESIM" export --for pytorch --schedule "$name" --pp 2 --microbatches "$count" \
			-o "$folder/schedules/$name-m$count.csv" || exit
	done
done
PYTHONPATH="$TOP_SRCDIR/python" exec "$PYTHON" -m torch.distributed.run --nproc-per-node 2 \
	"$TOP_SRCDIR/tests/pytorch/steps.py" --schedules "$folder/schedules" -o "$folder" "$@"
