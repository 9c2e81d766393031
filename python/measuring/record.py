"""Profiles steps with PyTorch's own profiler, one file a rank, clean and with one thing that goes wrong, and times
steps without it, for `pipesim diagnose`.

    torchrun --nproc-per-node 2 record.py -o FOLDER [--size NAME,...] FILE.csv:CASE ... FILE.csv ...

FILE.csv:CASE is profiled: FOLDER/FILE-CASE-rankR.json.gz as the profiler wrote it but without what pipesim does not read
(operators of the host, flows). FILE.csv is only timed. Both write what steps took without the profiler into
FOLDER/steps.csv, of a case with what was injected and, right before each, without. A name of PyTorch's in
place of a file (1F1B, Interleaved1F1B, DualPipeV ...) is one of its classes. Injected is, in every step,

    host        sleep in a rank's process (--host-rank) before its fourth forward
    slow-rank   on the last rank a kernel that keeps some of its multiprocessors (--held)
    imbalance   one more layer in the last stage
    pause       a kernel that does nothing but last, within the fourth forward of the last rank
    uneven      some layers (--moved) of each stage of the first rank move to the last rank
    messages    the fourth send of the first rank leaves late

Sleep, pause and delay are --milliseconds. Of several sizes the first is taken whose steps leave every chip below its power limit; if
none does, the last. On a CPU, to try the script, nothing is injected but sleep and layers.
"""

import argparse
import contextlib
import csv
import datetime
import gc
import gzip
import json
import os
import statistics
import threading
import time

import torch
import torch.distributed as dist
import train
from hold import HOLD
from models import Layer, Size
from pipesim.torch.clock import drain, gather, largest, say, settle, start
from pipesim.torch.nvml import open_gpu

KEPT = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation"}
SIZES = {
    "wide": Size(4, 4096, 32, 4096, 2048, torch.bfloat16),
    "headed": Size(8, 2048, 16, 4096, 16384, torch.bfloat16, sequences=2),
    "recomputed": Size(8, 3072, 24, 4096, 8192, torch.bfloat16, recompute=True),
    "narrow": Size(8, 1024, 16, 4096, 256, torch.bfloat16, sequences=4),
    "single": Size(8, 1024, 16, 4096, 256, torch.float32),
    "thin": Size(8, 512, 16, 4096, 256, torch.bfloat16, sequences=8),
    "tiny": Size(8, 128, 2, 128, 256, torch.float32),
}
FOURTH = 3
WHOLE_STEP = "a whole step"


class Case:
    """One thing that goes wrong while it is on."""

    def __init__(self, run, device, arguments):
        self.on, self.cuda = False, device.type == "cuda"
        self.seconds = arguments.milliseconds / 1000
        self.prepare(run, device, arguments)

    def prepare(self, run, device, arguments):
        pass

    def begin(self):
        pass

    def end(self):
        pass

    def close(self):
        pass


class Host(Case):
    """The process of a rank sleeps before it launches a forward, with nothing queued."""

    def prepare(self, run, device, arguments):
        self.forwards = 0
        if run.rank != arguments.host_rank:
            return
        for stage in run.stages:
            stage.forward_one_chunk = self.late(stage.forward_one_chunk, device)

    def late(self, inner, device):
        def outer(microbatch, *arguments, **options):
            if self.on and self.forwards == FOURTH:
                if self.cuda:  # a receive that waits may go on
                    torch.cuda.current_stream().synchronize()
                time.sleep(self.seconds)
            self.forwards += 1
            return inner(microbatch, *arguments, **options)

        return outer

    def begin(self):
        self.forwards = 0


class Pause(Case):
    """The chip of the last rank does nothing for a while, in the middle of its work."""

    def prepare(self, run, device, arguments):
        self.forwards = 0
        if run.rank < run.ranks - 1:
            return
        self.kernel = torch.cuda._compile_kernel(HOLD, "hold_for") if self.cuda else None
        for stage in run.stages:
            stage.forward_one_chunk = self.long(stage.forward_one_chunk)

    def long(self, inner):
        def outer(microbatch, *arguments, **options):
            if self.on and self.forwards == FOURTH:
                if self.cuda:
                    self.kernel((1, 1, 1), (1, 1, 1), (round(self.seconds * 1e6),), stream=torch.cuda.current_stream())
                else:
                    time.sleep(self.seconds)
            self.forwards += 1
            return inner(microbatch, *arguments, **options)

        return outer

    def begin(self):
        self.forwards = 0


class SlowRank(Case):
    """Something else holds some multiprocessors of the last rank for as long as the step takes."""

    def prepare(self, run, device, arguments):
        self.last, self.held = run.rank == run.ranks - 1 and self.cuda, arguments.held
        if self.last:
            self.stream = torch.cuda.Stream()
            self.kernel = torch.cuda._compile_kernel(HOLD, "hold_until")
            self.flag = torch.zeros(1, dtype=torch.int32, device=device)

    def begin(self):
        if self.on and self.last:
            self.flag.zero_()
            self.stream.wait_stream(torch.cuda.current_stream())
            self.kernel((self.held, 1, 1), (1024, 1, 1), (self.flag,), stream=self.stream)

    def end(self):
        if self.last:
            self.flag.fill_(1)


class Messages(Case):
    """One send of the first rank leaves late, while the rank computes on."""

    def prepare(self, run, device, arguments):
        self.inner = None
        if run.rank > 0 or not self.cuda:
            return
        self.stream = torch.cuda.Stream()
        self.kernel = torch.cuda._compile_kernel(HOLD, "hold_for")
        self.inner, self.sends = dist.batch_isend_irecv, 0

        def outer(operations):
            late = self.on and any(o.op is dist.isend for o in operations)
            self.sends += late
            if not late or self.sends != FOURTH + 1:
                return self.inner(operations)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self.kernel((1, 1, 1), (1, 1, 1), (round(self.seconds * 1e6),), stream=self.stream)
                return self.inner(operations)

        dist.batch_isend_irecv = outer

    def begin(self):
        self.sends = 0

    def close(self):
        if self.inner is not None:
            dist.batch_isend_irecv = self.inner


class Imbalance(Case):
    """The last stage has one more layer of its own, whether this is on or not."""

    def prepare(self, run, device, arguments):
        if run.rank == run.ranks - 1:
            add_layers(run.stages[-1], run, device, 1, lambda: True)


class Uneven(Case):
    """Layers move from each stage of the first rank to one of the last."""

    def prepare(self, run, device, arguments):
        for stage in run.stages:
            if run.rank == 0:
                layers = stage.submod.layers
                for name in list(layers)[-arguments.moved :]:
                    layers[name] = Sometimes(layers[name], lambda: not self.on)
            if run.rank == run.ranks - 1:
                add_layers(stage, run, device, arguments.moved, lambda: self.on)


class Sometimes(torch.nn.Module):
    """A layer that is there while @there() says so."""

    def __init__(self, layer, there):
        super().__init__()
        self.layer, self.there = layer, there

    def forward(self, x):
        return self.layer(x) if self.there() else x


def add_layers(stage, run, device, count, there):
    for index in range(count):
        with device:
            layer = Layer(run.size).to(dtype=run.size.dtype)
        stage.submod.layers[f"more{index}"] = Sometimes(layer, there)


CASES = {
    "clean": Case,
    "host": Host,
    "imbalance": Imbalance,
    "messages": Messages,
    "pause": Pause,
    "slow-rank": SlowRank,
    "uneven": Uneven,
}


def step(run, case):
    """ms of this rank."""
    cuda = run.device.type == "cuda"
    settle(run.device)
    with torch.profiler.record_function(WHOLE_STEP):
        return time_step(run, case, cuda)


def time_step(run, case, cuda):
    if cuda:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
    else:
        begin = time.perf_counter()
    case.begin()
    run.step()
    case.end()
    if not cuda:
        return (time.perf_counter() - begin) * 1e3
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def write(profiler, path, kept):
    """The last @kept of the steps."""
    whole = f"{path}.whole.json"
    profiler.export_chrome_trace(whole)
    with open(whole, encoding="utf-8") as file:
        trace = json.load(file)
    os.unlink(whole)
    begins = sorted(
        event["ts"]
        for event in trace["traceEvents"]
        if event.get("cat") == "user_annotation" and event["name"] == WHOLE_STEP
    )
    trace["traceEvents"] = [
        event
        for event in trace["traceEvents"]
        if event.get("cat") in KEPT
        and event["ts"] > begins[-kept]
        and (event["cat"] != "cuda_runtime" or "correlation" in event["args"])
    ]
    for event in trace["traceEvents"]:
        arguments = event.get("args", {})
        event["args"] = {k: arguments[k] for k in ("stream", "correlation") if k in arguments}
    if "deviceProperties" in trace:
        trace["deviceProperties"] = trace["deviceProperties"][:1]
    with gzip.open(f"{path}.json.gz", "wt", encoding="utf-8", compresslevel=6) as file:
        json.dump(trace, file, separators=(",", ":"))


def warm_up(run, case, arguments):
    """At least as many steps and as long as asked for."""
    begin = time.monotonic()
    for _ in range(arguments.warm_steps):
        step(run, case)
    while largest(time.monotonic() - begin, run.device) < arguments.warm_seconds:
        step(run, case)


def record(run, name, case, arguments):
    """Medians without and with what is injected, and the profile of a few steps with it."""
    took = {False: [], True: []}
    for case.on in (False, True):
        step(run, case)
    for _ in range(arguments.steps):
        for case.on in (False, True):
            took[case.on].append(largest(step(run, case), run.device))
    activities = [torch.profiler.ProfilerActivity.CPU]
    if run.device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    step(run, case)
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(arguments.profiled):
            step(run, case)
    write(profiler, os.path.join(arguments.output, f"{name}-rank{run.rank}"), arguments.kept)
    return took


def row_of(schedule, case, on, took):
    times = (statistics.median(took), min(took), max(took))
    return [schedule, case, on, len(took), *(f"{ms:.3f}" for ms in times)]


def run_job(job, size, arguments, device, rows):
    what, _, name = job.partition(":")
    run = train.Run(what, size, device, arguments.microbatches)
    case = CASES[name or "clean"](run, device, arguments)
    try:
        warm_up(run, case, arguments)
        if name:
            took = record(run, f"{run.name}-{name}", case, arguments)
        else:
            took = {False: [largest(step(run, case), device) for _ in range(2 * arguments.steps)]}
    finally:
        case.close()
    for on, times in took.items():
        rows.append(row_of(run.name, name or "timed", "on" if on else "off", times))
        say(f"{run.name:22}{name:10}{rows[-1][2]:>4}{rows[-1][4]:>10} ms ({rows[-1][5]} - {rows[-1][6]})")


def strain(what, name, arguments, device):
    """Most that any chip draws of its limit, in %, and the lowest clock of any, in the middle of steps of
    size @name; None where none can be asked."""
    run = train.Run(what, SIZES[name], device, arguments.microbatches)
    case = Case(run, device, arguments)
    gpu, seen, over = open_gpu(device), [], threading.Event()

    def watch():
        while not over.wait(0.01):
            seen.append((100 * gpu.power_w() / gpu.power_limit_w(), gpu.clock_mhz()))

    for _ in range(arguments.warm_steps):
        step(run, case)
    watcher = threading.Thread(target=watch)
    if gpu is not None:
        watcher.start()
    for _ in range(6):
        step(run, case)
    over.set()
    if gpu is not None:
        watcher.join()
    mine = (max(p for p, _ in seen), min(c for _, c in seen)) if seen else None
    every = gather(mine)
    if None in every:
        return None
    return max(p for p, _ in every), min(c for _, c in every)


def choose_size(arguments, device):
    """The first size that leaves all chips below their limits."""
    names = arguments.size.split(",")
    for name in names:
        if len(names) == 1:
            break
        seen = strain(arguments.jobs[0].partition(":")[0], name, arguments, device)
        gc.collect()
        if seen is None:
            break
        say(f"size {name}: {seen[0]:.0f} % of the power limit at most, clock {seen[1]} MHz at least")
        if seen[0] < 93 and seen[1] >= 1950:
            break
    say(f"size {name}: {SIZES[name]}")
    return name, SIZES[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+", metavar="FILE.csv[:CASE]")
    parser.add_argument("-o", "--output", default=".")
    parser.add_argument("--size", default="wide", help="of " + ", ".join(SIZES) + "; or several, see above")
    parser.add_argument("--microbatches", type=int, default=16, help="for names of classes")
    parser.add_argument("--steps", type=int, default=6, help="steps of a sort that are timed without the profiler")
    parser.add_argument("--profiled", type=int, default=2, help="steps, of which the last ones are kept")
    parser.add_argument("--kept", type=int, default=1, help="steps, at most those")
    parser.add_argument("--warm-steps", type=int, default=4)
    parser.add_argument("--warm-seconds", type=float, default=0)
    parser.add_argument("--milliseconds", type=float, default=60, help="of sleep and delay")
    parser.add_argument("--host-rank", type=int, default=0)
    parser.add_argument("--held", type=int, default=24, help="multiprocessors of slow-rank")
    parser.add_argument("--moved", type=int, default=1, help="layers of uneven")
    parser.add_argument("--seconds", type=float, default=600, help="no job is begun later than this")
    arguments = parser.parse_args()
    begin = time.monotonic()
    torch.backends.cuda.matmul.allow_tf32 = False
    device = start()
    os.makedirs(arguments.output, exist_ok=True)
    name, size = choose_size(arguments, device)
    rows = [["schedule", "case", "injected", "steps", "median_ms", "min_ms", "max_ms"]]
    for job in arguments.jobs:
        if largest(time.monotonic() - begin, device) > arguments.seconds:
            say(f"{job}: left out, time is up")
            continue
        with contextlib.suppress(torch.OutOfMemoryError):
            run_job(job, size, arguments, device, rows)
        if dist.get_rank() == 0:
            with open(os.path.join(arguments.output, "steps.csv"), "w", encoding="ascii", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    if dist.get_rank() == 0:
        write_about(name, size, arguments, device)
    dist.destroy_process_group()


def write_about(name, size, arguments, device):
    about = {
        "date_utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "torch": torch.__version__,
        "size": f"{name}: {size}",
        **{key: str(value) for key, value in vars(arguments).items()},
    }
    if device.type == "cuda":
        gpu = open_gpu(device)
        about["device"] = torch.cuda.get_device_name()
        about["driver"] = gpu.driver() if gpu is not None else ""
        about["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    with open(os.path.join(arguments.output, "about.json"), "w", encoding="ascii") as file:
        json.dump(about, file, indent=2)


if __name__ == "__main__":
    main()
