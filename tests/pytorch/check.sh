#!/bin/sh
# make check-pytorch: what pipesim exports, in a real PyTorch. Loads every schedule; then trains with some
# of them, on GPUs where there are any, else on the CPU, and compares with the whole model on one device.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}" "${PIPESIM_PYTORCH_RANKS:=4}"
here=$TOP_SRCDIR/tests/pytorch
ranks=$PIPESIM_PYTORCH_RANKS
count=$((2 * ranks))
overlay=${PIPESIM_PYTORCH_OVERLAY:+$PIPESIM_PYTORCH_OVERLAY:}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS="${OMP_NUM_THREADS-1}" PYTHONPATH="$overlay$TOP_SRCDIR/python"
run() { # SCRIPT ARGUMENT...: on all ranks
	script=$1
	shift
	CUBLAS_WORKSPACE_CONFIG=:4096:8 "$PYTHON" -m torch.distributed.run --standalone --nproc-per-node "$ranks" \
		"$TOP_SRCDIR/python/measuring/$script" "$@"
}

"$PYTHON" -c 'import torch' 2>/dev/null ||
	skip "$PYTHON has no PyTorch; make check-pytorch PYTHON=/path/to/one/that/has"
"$PYTHON" "$here/load.py" --pipesim "$PIPESIM" || exit
runtime=$("$PYTHON" "$here/load.py" --print-runtime)

# A sum of gradients in another order is another sum: 1e-5, where schedules that count micro-batches
# down differ by about 1e-7. All others are equal bit by bit.
set --
for name in $("$PIPESIM" list --names); do
	file=$scratch/$name
	if "$PIPESIM" export --framework pytorch --schedule "$name" --pp "$ranks" --microbatches "$count" \
		-o "$file.csv" 2>/dev/null; then
		"$PIPESIM" export --schedule "$file.csv" --with-comms --runtime "$runtime" \
			-o "$file.comms.csv" || exit
		set -- "$@" "$file.csv" "$file.comms.csv"
	fi
done
[ "$ranks" -ne 4 ] || set -- "$@" "$here/hand-edited.csv"
run train.py check "$@" || exit

# How long messages stay in memory: 1F1B, a split backward, pairs, a budget of sends.
set -- "$scratch/1f1b.csv" "$scratch/zb-v.csv" "$scratch/dualpipev.csv" 1F1B
if [ "$runtime" = pytorch-2.15 ]; then
	"$PIPESIM" export --schedule "$scratch/zb-v.csv" --with-comms --runtime "$runtime" --max-sends 2 \
		-o "$scratch/budget.comms.csv" || exit
	set -- "$@" "$scratch/budget.comms.csv"
	# Receives put off, and a queue for each direction: validate has proved that these run.
	for name in interleaved-1f1b looped-bfs; do
		"$PIPESIM" export --schedule "$scratch/$name.csv" --with-comms --runtime "$runtime" --defer-recv \
			--communicators edge -o "$scratch/$name-deferred.comms.csv" || exit
	done
	TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P=1 run train.py check "$scratch/interleaved-1f1b-deferred.comms.csv" \
		"$scratch/looped-bfs-deferred.comms.csv" "$scratch/zb-v.csv" || exit
fi
run lifetimes.py "$@"
