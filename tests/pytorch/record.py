"""Profiles steps with PyTorch's own profiler, one file a rank, clean and with one thing that goes wrong, for
`pipesim diagnose`.

    torchrun --nproc-per-node 2 record.py -o FOLDER FILE.csv clean host slow-rank imbalance messages
    torchrun --nproc-per-node 2 record.py -o FOLDER --steps 10 --measure FILE.csv ...

The first form writes FOLDER/CASE-rankR.json.gz for each case, as the profiler wrote them but without what pipesim
does not read (operators of the host, flows), and FOLDER/steps.csv: how long the steps of every case took without the
profiler, with what was injected and, right before each, without. The second only measures the
steps of each file. Injected is, in every step,

    host        60 ms of sleep in the first rank's process before its forward of micro-batch 3
    slow-rank   on the last rank a kernel that keeps 24 of its multiprocessors
    imbalance   one more layer in the last stage
    messages    60 ms before the first rank sends the activations of micro-batch 3
"""

import argparse
import csv
import datetime
import gzip
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import train
from models import Layer, Size
from pipesim_torch.clock import largest, say, settle

KEPT = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation"}
SIZE = Size(4, 4096, 32, 4096, 2048, torch.bfloat16)
MICROBATCH = 3
SECONDS = 0.06

HOLD = """
extern "C" __global__ void hold_until(volatile int *flag)
{
	if (threadIdx.x == 0)
		while (*flag == 0)
			__nanosleep(1000);
	__syncthreads();
}

extern "C" __global__ void hold_for(int us)
{
	long long begin, now;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do {
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	} while (now - begin < us * 1000LL);
}
"""


class Host:
    """The process of the first rank sleeps before it launches a forward, with nothing queued."""

    def __init__(self, run, device):
        self.on = False
        if run.rank > 0:
            return
        inner = run.stages[0].forward_one_chunk

        def outer(microbatch, *arguments, **options):
            if self.on and microbatch == MICROBATCH:
                torch.cuda.synchronize()
                time.sleep(SECONDS)
            return inner(microbatch, *arguments, **options)

        run.stages[0].forward_one_chunk = outer

    def begin(self):
        pass

    def end(self):
        pass


class SlowRank:
    """Something else holds some multiprocessors of the last rank for as long as the step takes."""

    def __init__(self, run, device):
        self.on, self.last = False, run.rank == run.ranks - 1
        self.stream = torch.cuda.Stream()
        self.kernel = torch.cuda._compile_kernel(HOLD, "hold_until")
        self.flag = torch.zeros(1, dtype=torch.int32, device=device)

    def begin(self):
        if self.on and self.last:
            self.flag.zero_()
            self.stream.wait_stream(torch.cuda.current_stream())
            self.kernel((24, 1, 1), (1024, 1, 1), (self.flag,), stream=self.stream)

    def end(self):
        self.flag.fill_(1)


class Messages:
    """The activations of one micro-batch leave the first rank late, while it computes on."""

    def __init__(self, run, device):
        self.on, self.first = False, run.rank == 0
        self.stream = torch.cuda.Stream()
        if not self.first:
            return
        self.kernel = torch.cuda._compile_kernel(HOLD, "hold_for")
        inner, self.sends = dist.batch_isend_irecv, 0
        from torch.distributed.pipelining import schedules

        def outer(operations):
            late = self.on and any(o.op is dist.isend for o in operations)
            self.sends += late
            if not late or self.sends != MICROBATCH + 1:
                return inner(operations)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self.kernel((1, 1, 1), (1, 1, 1), (round(SECONDS * 1e6),), stream=self.stream)
                return inner(operations)

        dist.batch_isend_irecv = schedules.dist.batch_isend_irecv = outer

    def begin(self):
        self.sends = 0

    def end(self):
        pass


class Nothing:
    def __init__(self, run, device):
        self.on = False

    def begin(self):
        pass

    def end(self):
        pass


CASES = {"clean": Nothing, "imbalance": Nothing, "host": Host, "slow-rank": SlowRank, "messages": Messages}


def make_longer(run, layers):
    """The last stage gets more layers of its own."""
    if run.rank < run.ranks - 1:
        return
    part = run.stages[-1].submod
    for index in range(layers):
        with run.device:
            part.layers[f"more{index}"] = Layer(run.size).to(dtype=run.size.dtype)


def step(run, case):
    settle(run.device)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    case.begin()
    run.step()
    case.end()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def write(profiler, path):
    whole = f"{path}.whole.json"
    profiler.export_chrome_trace(whole)
    with open(whole, encoding="utf-8") as file:
        trace = json.load(file)
    os.unlink(whole)
    trace["traceEvents"] = [
        event
        for event in trace["traceEvents"]
        if event.get("cat") in KEPT and (event["cat"] != "cuda_runtime" or "correlation" in event["args"])
    ]
    for event in trace["traceEvents"]:
        arguments = event.get("args", {})
        event["args"] = {k: arguments[k] for k in ("stream", "correlation") if k in arguments}
    trace["deviceProperties"] = trace["deviceProperties"][:1]
    with gzip.open(f"{path}.json.gz", "wt", encoding="utf-8", compresslevel=9) as file:
        json.dump(trace, file, separators=(",", ":"))


def run_case(name, what, arguments, device, rows):
    run = train.Run(what, SIZE, device, arguments.microbatches)
    if name == "imbalance":
        make_longer(run, 1)
    case = CASES[name](run, device)
    for _ in range(4):
        step(run, case)
    took = {False: [], True: []}
    for _ in range(arguments.steps):
        for case.on in (False, True):
            took[case.on].append(largest(step(run, case), device))
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    step(run, case)
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(arguments.profiled):
            step(run, case)
    write(profiler, os.path.join(arguments.output, f"{name}-rank{run.rank}"))
    rows.append([name, *(f"{statistics.median(took[on]):.3f}" for on in (False, True))])
    say(f"{name:12}{rows[-1][1]:>10} ms clean {rows[-1][2]:>10} ms with what was injected")


def measure(files, arguments, device, rows):
    for what in files:
        run = train.Run(what, SIZE, device, arguments.microbatches)
        case = Nothing(run, device)
        for _ in range(4):
            step(run, case)
        took = [largest(step(run, case), device) for _ in range(arguments.steps)]
        rows.append([run.name, f"{statistics.median(took):.3f}", f"{min(took):.3f}", f"{max(took):.3f}"])
        say(f"{run.name:20}" + "".join(f"{cell:>12}" for cell in rows[-1][1:]))
        del run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", metavar="FILE.csv [CASE...]")
    parser.add_argument("-o", "--output", default=".")
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--steps", type=int, default=6, help="steps that are timed without the profiler")
    parser.add_argument("--profiled", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help="only time the steps of files")
    arguments = parser.parse_args()
    local = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=120), device_id=device)
    os.makedirs(arguments.output, exist_ok=True)
    rows = []
    if arguments.measure:
        measure(arguments.what, arguments, device, rows)
    else:
        for name in arguments.what[1:]:
            run_case(name, arguments.what[0], arguments, device, rows)
    if dist.get_rank() == 0:
        header = ["schedule", "median_ms", "min_ms", "max_ms"] if arguments.measure else ["case", "clean_ms", "ms"]
        with open(os.path.join(arguments.output, "steps.csv"), "w", encoding="ascii", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
