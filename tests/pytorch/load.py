"""Loads what `pipesim export` writes into PyTorch's own pipeline runtime.

Every schedule that `pipesim list` names is exported at several shapes, compute-only and with its
sends and receives, and loaded with _PipelineScheduleRuntime._load_csv. Compared are

* what PyTorch understood, with the file read without PyTorch, and the file that PyTorch writes
  back, byte for byte;
* the sends, receives, unshards and gradient reductions that PyTorch's lowering adds to the
  compute-only file, with those of the file with communication;
* whether PyTorch's own dry run of that lowering reaches the end;
* for schedules that PyTorch generates itself, its order with pipesim's.

Needs PyTorch, no GPU and no network: the process group is the fake one of PyTorch's tests.
"""

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
from collections import Counter

try:
    import torch
    import torch.distributed as dist
    from pipesim import cells as orders
    from torch.distributed.pipelining import PipelineStage, schedules
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as error:
    print(f"SKIP: PyTorch is not installed ({error}); pip install torch")
    sys.exit(77)

SHAPES = [(1, 2), (2, 2), (2, 4), (3, 7), (4, 4), (4, 8), (4, 9), (8, 20), (8, 24), (16, 64)]

# pipesim's name -> PyTorch's class, and what its placement is called there.
CLASSES = {
    "looped-bfs": (schedules.ScheduleLoopedBFS, "loop"),
    "interleaved-1f1b": (schedules.ScheduleInterleaved1F1B, "loop"),
    "interleaved-zb": (schedules.ScheduleInterleavedZeroBubble, "loop"),
    "zb-v": (schedules.ScheduleZBVZeroBubble, "v"),
    "dualpipev": (schedules.ScheduleDualPipeV, "v"),
}
# Newer versions wait for each send and reduction in files with communication.
WAITS = "WAIT_REDUCE_GRAD" in schedules._ComputationType.__members__
RUNTIME = "pytorch-2.15" if WAITS else "pytorch-2.11"


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def as_tuple(action):
    if action.sub_actions is not None:
        expect(action.computation_type == schedules.OVERLAP_F_B, f"{action} is no pair")
        return tuple(as_tuple(half) for half in action.sub_actions)
    return action.stage_index, action.computation_type.value, action.microbatch_index


def as_rows(order):
    return [[as_tuple(a) for a in order[rank] if a is not None] for rank in sorted(order)]


def make_stages(rank_of, ranks, rank=0):
    """PyTorch's own stages of one rank, of modules without parameters."""
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
    mine = sorted(stage for stage, where in rank_of.items() if where == rank)
    return [
        PipelineStage(torch.nn.Identity(), stage, len(rank_of), torch.device("cpu"))
        for stage in mine
    ]


def make_runtime(path, rows, layout):
    rank_of = orders.placement(rows)
    stages = make_stages(rank_of, len(rows))
    runtime = schedules._PipelineScheduleRuntime(
        stages, n_microbatches=orders.microbatches(rows), loss_fn=lambda *_: None
    )
    runtime._load_csv(path, format=layout)
    return runtime


def written_back(runtime, layout):
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as file:
        runtime._dump_csv(file.name, format=layout)
        return file.read()


def settle(rows):
    """The order of neighbouring RESHARDs follows the hashing of a Python set: sorted here."""
    for row in rows:
        begin = 0
        while begin < len(row):
            end = begin
            while end < len(row) and row[end][1] == "RESHARD":
                end += 1
            row[begin:end] = sorted(row[begin:end])
            begin = max(end, begin + 1)
    return rows


def dry_run(runtime):
    """PyTorch's simulation of a lowered order. It knows no unshards and takes a pair only as
    its halves."""
    kept = {}
    for rank, row in runtime.pipeline_order_with_comms.items():
        leaves = (leaf for a in row for leaf in (a.sub_actions or (a,)))
        kept[rank] = [a for a in leaves if a.microbatch_index is not None]
    rank_of = runtime.stage_index_to_group_rank
    schedules._simulate_comms_compute(kept, lambda s: rank_of[s], runtime._num_stages)


def check_compute(path):
    """Loads a compute-only file; the runtime, for what follows."""
    rows = orders.read(path)
    runtime = make_runtime(path, rows, "compute_only")
    expect(as_rows(runtime.pipeline_order) == rows, "PyTorch reads other actions")
    with open(path, encoding="ascii") as file:
        expect(written_back(runtime, "compute_only") == file.read(), "written back differently")
    dry_run(runtime)
    return runtime


def check_lowering(path, runtime):
    """Loads a file with communication, which must be what PyTorch's lowering makes."""
    rows = orders.read(path)
    loaded = make_runtime(path, rows, "compute_comms")
    expect(as_rows(loaded.pipeline_order_with_comms) == rows, "PyTorch reads other actions")
    dry_run(loaded)
    own = settle(as_rows(runtime.pipeline_order_with_comms))
    for rank, (left, right) in enumerate(zip(own, settle(rows), strict=True)):
        for at, (theirs, ours) in enumerate(zip(left, right)):
            expect(theirs == ours, f"rank {rank}, action {at}: PyTorch {theirs}, file {ours}")
        expect(len(left) == len(right), f"rank {rank}: {len(left)} and {len(right)} actions")


def check_class(name, path):
    """PyTorch's generator against the file; False where PyTorch refuses the shape."""
    make, style = CLASSES[name]
    rows = orders.read(path)
    stages = make_stages(orders.placement(rows), len(rows))
    mapping = schedules.generate_stage_to_rank_mapping(len(rows), stages[0].num_stages, style)
    expect(mapping == orders.placement(rows), "another placement than PyTorch's")
    try:
        generated = make(stages, orders.microbatches(rows), loss_fn=lambda *_: None)
    except (ValueError, AssertionError):
        return False
    expect(as_rows(generated.pipeline_order) == rows, f"not the order of {make.__name__}")
    return True


class Pipesim:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def names(self):
        said = subprocess.run(
            [self.program, "list", "--names"], capture_output=True, text=True, check=True
        )
        return said.stdout.split()

    def _run(self, name, path, *options):
        said = subprocess.run(
            [self.program, "export", "--schedule", name, "-o", path, *options],
            capture_output=True,
            text=True,
        )
        expect(said.returncode in (0, 2), f"exit status {said.returncode}: {said.stderr}")
        return (path, None) if said.returncode == 0 else (None, said.stderr.strip())

    def export(self, name, ranks, count, *options):
        """A path; or None and why it was refused."""
        path = os.path.join(self.folder, "order.csv")
        shape = ["--pp", str(ranks), "--microbatches", str(count)]
        return self._run(name, path, "--framework", "pytorch", *shape, *options)

    def lower(self, order):
        """What PyTorch makes of the file @order: a path, or None and why it was refused."""
        path = os.path.join(self.folder, "order.comms.csv")
        return self._run(order, path, "--with-comms", "--runtime", RUNTIME)


def check_schedule(pipesim, name, ranks, count, tally):
    options = []
    if name == "interleaved-1f1b" and count % max(1, count // ranks) == 0:
        options = ["--group", str(count // max(1, count // ranks))]  # as PyTorch's class
    path, refused = pipesim.export(name, ranks, count, *options)
    if path is None:
        tally["inexpressible" if "PyTorch cannot run" in refused else "refused"] += 1
        return
    if name in CLASSES:
        tally["classes"] += check_class(name, path)
    runtime = check_compute(path)
    tally["compute"] += 1
    path, refused = pipesim.lower(path)
    expect(path is not None, f"refused with communication: {refused}")
    check_lowering(path, runtime)
    tally["comms"] += 1


def check_all(program, shapes):
    failures = 0
    print(f"{'':18}loaded     with   same order as   cannot be   other shapes")
    print(f"{'schedule':18}compute   comms   PyTorch's class expressed   only")
    with tempfile.TemporaryDirectory() as folder:
        pipesim = Pipesim(program, folder)
        for name in pipesim.names():
            tally = Counter()
            for ranks, count in shapes:
                try:
                    check_schedule(pipesim, name, ranks, count, tally)
                except (Failure, RuntimeError, ValueError, AssertionError) as error:
                    print(f"FAIL: {name} {ranks}/{count}: {error}")
                    failures += 1
            print(
                f"{name:18}{tally['compute']:7} {tally['comms']:7} "
                f"{tally['classes']:17} {tally['inexpressible']:11} {tally['refused']:7}"
            )
            if tally["compute"] + tally["inexpressible"] == 0:
                print(f"FAIL: {name}: no shape could be exported")
                failures += 1
    return failures


def check_files(paths):
    failures = 0
    for path in paths:
        try:
            check_compute(path)
            print(f"{path}: loaded")
        except (Failure, RuntimeError, ValueError, AssertionError) as error:
            print(f"FAIL: {path}: {error}")
            failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="compute-only files instead of all schedules")
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    parser.add_argument("--shape", action="append", help="PP/M; several", default=[])
    parser.add_argument("--print-runtime", action="store_true", help="pipesim's name of this one")
    arguments = parser.parse_args()
    if arguments.print_runtime:
        print(RUNTIME)
        return 0
    shapes = [tuple(map(int, shape.split("/"))) for shape in arguments.shape] or SHAPES
    print(f"PyTorch {torch.__version__}, --runtime {RUNTIME}")
    if arguments.files:
        return check_files(arguments.files) > 0
    return check_all(arguments.pipesim, shapes) > 0


if __name__ == "__main__":
    sys.exit(main())
