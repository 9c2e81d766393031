#!/bin/sh
# channels.sh FOLDER [OVERLAY]: captures a model on two GPUs or more (RANKS), then runs steps of it with schedules that pipesim
# exports, by the rules of the PyTorch that is installed, and of the newer one in OVERLAY (overlay.py), with messages that
# share channels by rank, by pair and by edge. Some three minutes; for `channels_table.py pack TRACES FOLDER/*/`.
: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${PIPESIM:=pipesim}" "${PYTHON:=python3}" "${RANKS:=2}"
folder=${1:?FOLDER}
mkdir -p "$folder/schedules" || exit
for name in interleaved-1f1b looped-bfs dualpipev v-half interleaved-zb zb-v 1f1b-v hanayo; do
	"$PIPESIM" export --framework pytorch --schedule "$name" --pp "$RANKS" --microbatches 8 \
		-o "$folder/schedules/$name.csv" || exit
done
# One channel of NCCL: messages slow enough to matter, and receives that wait hold one SM.
export NCCL_MIN_P2P_NCHANNELS=1 NCCL_MAX_P2P_NCHANNELS=1 TORCH_NCCL_ENABLE_TIMING=1
run() { # WHAT PATH
	PYTHONPATH="$2$TOP_SRCDIR/python" "$PYTHON" -m torch.distributed.run --standalone --nproc-per-node "$RANKS" \
		"$TOP_SRCDIR/python/measuring/channels.py" "$1" --schedules "$folder/schedules" -o "$folder/$1"
}
run capture '' || exit
[ -z "${2-}" ] || run channels "$2:"
