#!/bin/sh
# make check-pytorch: what pipesim exports, in a real PyTorch. Loads every schedule; then trains with some
# of them, on GPUs where there are any, else on the CPU, and compares with the whole model on one device.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}" "${PIPESIM_PYTORCH_RANKS:=4}"
here=$TOP_SRCDIR/tests/pytorch
ranks=$PIPESIM_PYTORCH_RANKS
count=$((2 * ranks))
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS="${OMP_NUM_THREADS-1}" PYTHONPATH="$TOP_SRCDIR/python"

"$PYTHON" -c 'import torch' 2>/dev/null ||
	skip "$PYTHON has no PyTorch; make check-pytorch PYTHON=/path/to/one/that/has"
"$PYTHON" "$here/load.py" --pipesim "$PIPESIM" || exit
runtime=$("$PYTHON" "$here/load.py" --print-runtime)

# A sum of gradients in another order is another sum: 1e-5, where schedules that count micro-batches
# down differ by about 1e-7. All others are equal bit by bit.
set --
for name in $("$PIPESIM" list --names); do
	file=$scratch/$name
	if "$PIPESIM" export --for pytorch --schedule "$name" --pp "$ranks" --microbatches "$count" \
		-o "$file.csv" 2>/dev/null; then
		"$PIPESIM" export --schedule "$file.csv" --with-comms --runtime "$runtime" \
			-o "$file.comms.csv" || exit
		set -- "$@" "$file.csv" "$file.comms.csv"
	fi
done
[ "$ranks" -ne 4 ] || set -- "$@" "$here/hand-edited.csv"
CUBLAS_WORKSPACE_CONFIG=:4096:8 "$PYTHON" -m torch.distributed.run --nproc-per-node "$ranks" \
	"$here/train.py" check "$@"
