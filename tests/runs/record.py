"""Small recordings of every class of torch.distributed.pipelining, for tests/runs: two processes on a CPU (gloo), two linear
layers of 256 a stage, one step of four micro-batches behind another, PyTorch's own ranges.

    torchrun --nproc-per-node 2 record.py FOLDER [CLASS...]    FOLDER/pytorch-VERSION-gloo-CLASS-rankR.json.gz
"""

import gzip
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed import pipelining
from torch.profiler import ProfilerActivity, profile

WIDTH, ROWS, MICROBATCHES = 256, 4 * 512, 4
CLASSES = {  # stages a rank, and whether in a V
    "GPipe": (1, False),
    "1F1B": (1, False),
    "Interleaved1F1B": (2, False),
    "LoopedBFS": (2, False),
    "InterleavedZeroBubble": (2, False),
    "ZBVZeroBubble": (2, True),
    "DualPipeV": (2, True),
}


def make(name, rank, world):
    chunks, in_v = CLASSES[name]
    numbers = [rank, 2 * world - 1 - rank] if in_v else [rank + world * chunk for chunk in range(chunks)]
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(2)]
    stages = [
        pipelining.PipelineStage(torch.nn.Sequential(*layers), number, world * chunks, torch.device("cpu"))
        for number in numbers
    ]
    for stage in stages if in_v else ():
        # PyTorch 2.11 first exchanges a message with each neighbour, which in a V may be the same rank: gloo has none to itself.
        stage._get_init_p2p_neighbors_ops = list
    cls = getattr(pipelining, f"Schedule{name}")
    loss = torch.nn.functional.mse_loss
    return cls(stages if chunks > 1 else stages[0], MICROBATCHES, loss_fn=loss), numbers, world * chunks


def keep(path, out):
    """Of the file of the profiler what pipesim reads: ranges, and operators that lie in no other."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events, until = [], {}
    for event in sorted((e for e in trace["traceEvents"] if e.get("ph") == "X"), key=lambda e: (e["ts"], -e["dur"])):
        if event.get("cat") == "cpu_op":
            if event["ts"] < until.get(event["tid"], 0):
                continue
            until[event["tid"]] = event["ts"] + event["dur"]
        elif event.get("cat") != "user_annotation" or event["name"].startswith("ProfilerStep"):
            continue
        events.append({key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")})
    kept = {key: trace[key] for key in ("schemaVersion", "distributedInfo", "baseTimeNanoseconds") if key in trace}
    text = json.dumps({**kept, "traceEvents": events}, separators=(",", ":"))
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(text.encode())


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(CLASSES)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    version = ".".join(torch.__version__.split(".")[:2])
    for name in names:
        schedule, numbers, n_stages = make(name, rank, world)
        first = {"input": torch.randn(ROWS, WIDTH)} if 0 in numbers else {}
        last = {"target": torch.randn(ROWS, WIDTH)} if n_stages - 1 in numbers else {}

        def step(schedule=schedule, first=first, last=last):
            schedule.step(*first.values(), **last)

        step()
        dist.barrier()
        whole = os.path.join(folder, f"whole-{rank}.json")
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            step()
        profiler.export_chrome_trace(whole)
        keep(whole, os.path.join(folder, f"pytorch-{version}-gloo-{name.lower()}-rank{rank}.json.gz"))
        os.remove(whole)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
