#!/bin/sh
# pipelines.sh FOLDER SECONDS [OVERLAY]: captures four models on two GPUs, lets pipesim search an order for each, then runs
# steps of pipelines of them until SECONDS have passed, and with OVERLAY (overlay.py) those of PyTorch's newer runtime for as
# long again. A second call goes on where the first ended. For pipelines_table.py.
: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${PIPESIM:=pipesim}" "${PYTHON:=python3}"
export PIPESIM
folder=${1:?FOLDER} seconds=${2:?SECONDS} overlay=${3-}
begun=$(date +%s)
ours=$TOP_SRCDIR/python
left() { echo $((seconds - $(date +%s) + begun)); }
run() { # PATH ARGUMENT...
	path=$1
	shift
	PYTHONPATH="$path$ours" "$PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 \
		"$ours/measuring/pipelines.py" "$@" -o "$folder"
}
[ -f "$folder/jobs.csv" ] || "$PYTHON" "$ours/measuring/pipelines_table.py" plan "$folder" || exit
if [ ! -f "$folder/captures.zip" ]; then
	run '' capture || exit
	"$PYTHON" "$ours/measuring/pipelines_table.py" search "$folder" &
fi
run '' run --seconds "$(left)"
[ -z "$overlay" ] || run "$overlay:" run --seconds "$seconds"
wait
