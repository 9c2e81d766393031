#!/bin/sh
# pipesim.torch on a CPU: its functions, its commands, and what pipesim makes of a capture. Where $PYTHON has PyTorch.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
: "${PYTHON:=python3}"
sources=$(cd "$TOP_SRCDIR" && pwd)
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=
command -v "$PYTHON" >/dev/null || skip "no $PYTHON"
cd "$scratch" || exit 99
PYTHONPATH=$sources/python
export PYTHONPATH

mkdir plain
"$PYTHON" "$sources/tests/pytorch/plain.py" "$scratch/plain" >plain.log 2>&1 || cat plain.log
for name in shapes device memory names writable gpus script old private; do
	if grep -q "^ok: $name$" plain.log; then pass; else fail "plain.py: $name did not run"; fi
done
# What cells and memory say on the command line.
printf '0F0,0B0\n' >order.csv
printf '#format,pipesim-trace\n' >empty.csv
if "$PYTHON" -m pipesim.torch memory empty.csv order.csv 2>&1 | grep -q 'the capture has no stage_'; then
	pass
else
	fail 'python -m pipesim.torch memory'
fi
if "$PYTHON" -m pipesim_torch memory empty.csv order.csv 2>&1 | grep -q 'the capture has no stage_'; then
	pass
else
	fail 'python -m pipesim_torch, the old name'
fi

if ! "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null; then
	echo "SKIP: the rest: $PYTHON has no PyTorch; make check PYTHON=/path/to/one/that/has"
	finish
fi
if "$PYTHON" -m torch.distributed.run --nproc-per-node 2 "$sources/tests/pytorch/package.py" \
	"$scratch" >package.log 2>&1; then
	pass
else
	fail "package.py"
	cat package.log
fi
for name in ops find versions load annotate capture; do
	if grep -q "^ok: $name$" package.log; then pass; else fail "package.py: $name did not run"; fi
done

# What pipesim makes of a capture: every stage has its own times.
cp "$sources/tests/pytorch/package.py" blocks.py
if "$PYTHON" -m pipesim.torch capture blocks:stages --stages 4 --brief -o mine.csv >log 2>&1 &&
	grep -q '4 stages of blocks on CPU' log && "$PIPESIM" calibrate mine.csv -o costs.ini >>log 2>&1 &&
	[ "$(sed -n '/^\[stage-times\]/,/^$/s/^F=//p' costs.ini | tr ';' '\n' | grep -c .)" -eq 4 ]; then
	pass
else
	fail 'capture and calibrate'
	cat log
fi
if "$PIPESIM" --pp 4 --microbatches 8 --schedule zb-h1 --costs costs.ini >log 2>&1; then
	pass
else
	fail 'simulate a capture'
	cat log costs.ini
fi

# A script of a user's, with schedules that name nothing themselves.
cat >script.py <<'END'
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.profiler import ProfilerActivity, profile

dist.init_process_group("gloo")
stage = PipelineStage(torch.nn.Linear(4, 4), 0, 1, torch.device("cpu"))
stage._get_init_p2p_neighbors_ops = list
schedule = ScheduleGPipe(stage, 2, loss_fn=lambda a, b: (a - b).square().mean())
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    for _ in range(3):
        schedule.step(torch.ones(2, 4), target=torch.ones(2, 4))
print(sys.argv[1], *sorted({e.name for e in profiler.events() if e.name.startswith("PP:")}))
END
if "$PYTHON" -m torch.distributed.run --nproc-per-node 1 -m pipesim.torch annotate --steps steps.csv \
	script.py --mine >log 2>&1 && grep -q '^--mine PP:0B0 PP:0B1 PP:0F0 PP:0F1$' log &&
	[ "$(wc -l <steps.csv)" -eq 4 ]; then
	pass
else
	fail 'annotate'
	cat log
fi
finish
