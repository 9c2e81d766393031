"""Steps of one model with many schedules, once for each way in which a runtime's messages share channels.

    torchrun --nproc-per-node N channels.py capture --schedules FOLDER -o OUT     PyTorch 2.11: captures, then its rules
    torchrun --nproc-per-node N channels.py channels --schedules FOLDER -o OUT    2.15: rank, pair, edge

FOLDER has NAME.csv for N ranks, as channels.sh lets pipesim write them. Which runtime it is, is that of
PyTorch, or of the overlay (overlay.py) that is in use. Channels as RUNTIMES of pipesim name them come from the process
group: bound to its device NCCL sends and receives on one communicator (rank); not bound, single sends and
receives go through one of each two ranks (pair); edge is 2.15's own flag. OUT gets, as it comes, runs.jsonl (a line a
run: steps, ops of each step, bytes, how long sent tensors lived) and captures.zip.
"""

import argparse
import contextlib
import datetime
import gc
import os
from collections import Counter

import lifetimes
import models
import torch
import torch.distributed as dist
from pipesim.torch import Plan, Recorder, load, messages
from pipesim.torch.clock import Clock, drain, gather, largest, say, settle
from steps import Case, Deadline, Output, capture_case, memory, take_step, tiny
from torch.distributed.pipelining import schedules

COUNT = 8
NAMES = (
    "interleaved-1f1b", "looped-bfs", "dualpipev", "v-half", "interleaved-zb", "zb-v", "1f1b-v", "hanayo",
)  # fmt: skip
DEFERRED = ("interleaved-1f1b", "looped-bfs")
CLASSES = ("1F1B", "GPipe")  # of PyTorch, one stage a rank
NEWER = "WAIT_SEND_F" in schedules._ComputationType.__members__
WARM, MEASURED = 0.8, 10  # seconds; steps


def make_case(ranks):
    """Two layers a rank in two stages, an embedding and a head: uneven."""
    return Case(models.Size(2 * ranks, 4096, 32, 4096, 32768, torch.bfloat16), COUNT)


def begin():
    """Not bound to a device: groups of other kinds are made of it."""
    local, limit = int(os.environ["LOCAL_RANK"]), datetime.timedelta(seconds=60)
    if torch.cuda.device_count() > local:
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", timeout=limit)
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)
        dist.init_process_group("gloo", timeout=limit)
    return device


class Channels:
    """The process group with whose stages the messages of a rank share channels as @mode says."""

    def __init__(self, mode, device):
        self.mode = mode
        bound = {"device_id": device} if mode == "rank" and device.type == "cuda" else {}
        self.group = dist.new_group(**bound)

    def building(self):
        """Stages that are built while the block runs have them."""
        if self.mode != "edge":
            return contextlib.nullcontext()
        import torch.distributed.config as config

        return config.patch(pipeline_per_edge_p2p=True)


def measure_message(case, device, group, repetitions=30):
    """ns of each, from rank 0 to rank 1, both waiting, one after the other, posted as the runtime posts."""
    size = case.size
    buffer = torch.zeros(size.sequences, size.tokens, size.hidden, dtype=size.dtype, device=device)
    clock, took = Clock(device), []
    for repetition in range(-5, repetitions):
        settle(device)
        at = clock.now()
        if dist.get_rank() < 2:
            post = dist.isend if dist.get_rank() == 0 else dist.irecv
            ops = [dist.P2POp(post, buffer, 1 - dist.get_rank(), group)]
            for work in schedules._batch_p2p(ops):
                work.wait()
        end = clock.now()
        settle(device)
        if repetition >= 0:
            ns = clock.between(at, end) if dist.get_rank() < 2 else 0
            took.append(int(largest(ns, device)))
    return took


@contextlib.contextmanager
def timed_messages(found):
    """While the block runs: [sent, peer, work] of every message of this rank goes into @found."""
    inner = schedules._batch_p2p

    def outer(ops, *arguments, **options):
        works = inner(ops, *arguments, **options)
        if len(ops) == len(works) == 1:
            found.append((ops[0].op is dist.isend, ops[0].group_peer, works[0]))
        return works

    schedules._batch_p2p = outer
    try:
        yield
    finally:
        schedules._batch_p2p = inner


def message_times(found, device):
    """[sent, peer, ns] of each, by NCCL's events around its kernel: the shorter of both ends is the
    message itself, the longer has waited."""
    if device.type != "cuda" or os.environ.get("TORCH_NCCL_ENABLE_TIMING") != "1":
        return []
    try:
        return [(int(sent), peer, round(1e6 * work._get_duration())) for sent, peer, work in found]
    except RuntimeError as error:
        return [str(error).splitlines()[0]]


def norm(stage):
    """Of the gradients of a stage: the same in every run of a schedule, if they are."""
    return sum(p.grad.double().pow(2).sum() for p in stage.submod.parameters()).sqrt().item()


def run_schedule(name, pipeline, batch, device, output, **about):
    clock, steps, ops, walls, before = Clock(device), [], [], [], memory(device)
    for _ in range(2):
        take_step(pipeline, *batch, clock, device)
    one = largest(take_step(pipeline, *batch, clock, device)[0], device) / 1e9
    for _ in range(round(WARM / one) if device.type == "cuda" else 0):
        take_step(pipeline, *batch, clock, device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with Recorder(pipeline.schedule) as recorder:
        for _ in range(MEASURED):
            recorder.begin()
            took, wall, _ = take_step(pipeline, *batch, clock, device)
            steps.append(took)
            walls.append(wall)
            ops.append(recorder.take())
    peak = memory(device)["peak"] - before["now"]
    losses, found = [], []
    with timed_messages(found):
        take_step(pipeline, *batch, clock, device)
    taken = message_times(found, device)
    found.clear()
    with lifetimes.watched(pipeline) as lives:
        take_step(pipeline, *batch, clock, device, losses)
    made = [loss.item() for loss in losses], {s.stage_index: norm(s) for s in pipeline.stages}
    everything = gather((steps, ops, peak, dict(Counter(lives.found())), walls, made, taken))
    step_ns = [max(each[0][step] for each in everything) for step in range(MEASURED)]
    output.run(
        schedule=name, microbatches=pipeline.microbatches, stages=pipeline.stage_count, step_ns=step_ns,
        wall_ns=[max(each[4][step] for each in everything) for step in range(MEASURED)],
        rank_step_ns=[each[0] for each in everything], ops=[each[1] for each in everything],
        peak_bytes=[each[2] for each in everything], lives=[each[3] for each in everything],
        losses=[loss for each in everything for loss in each[5][0]],
        gradient_norms=[n for _, n in sorted(one for each in everything for one in each[5][1].items())],
        messages=[each[6] for each in everything], **about,
    )  # fmt: skip
    middle = sorted(step_ns)[MEASURED // 2] / 1e6
    say(
        f"{about['runtime']:13}{about['channels']:5}{'defer ' if about.get('defer') else '      '}{name:18}"
        f"{middle:9.2f} {min(step_ns) / 1e6:9.2f} {max(step_ns) / 1e6:9.2f} ms "
        + " ".join(f"{each[2] / 2**30:.2f}" for each in everything)
    )


def streams_of_messages(pipeline, batch, device):
    """On how many streams of each rank one step's sends and receives run: its channels."""
    if device.type != "cuda":
        return None
    take_step(pipeline, *batch, Clock(device), device)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        take_step(pipeline, *batch, Clock(device), device)
    streams = [event["args"]["stream"] for event in messages.kernels(profiler)]
    return [len(set(streams)), len(streams)]


def run_all(case, arguments, device, output, deadline, jobs):
    """@jobs: (mode of channels, schedule, options of PyTorch's runtime)"""
    batch = models.make_batch(case.size, case.count, device)
    runtime, seen = "pytorch-2.15" if NEWER else "pytorch-2.11", {}

    def build(stage, stages):
        return models.make_part(case.size, stage, stages, device)

    def make(mode, name, options):
        if mode not in seen:
            seen[mode] = Channels(mode, device)
            took = measure_message(case, device, seen[mode].group)
            output.run(message_ns=took, runtime=runtime, channels=mode)
        path = name if name in CLASSES else os.path.join(arguments.schedules, f"{name}.csv")
        with seen[mode].building():
            group = seen[mode].group
            return load(
                path, build, models.loss_function, device, case.count, group=group, **options
            )

    for mode, name, options in jobs:
        about = {"runtime": runtime, "channels": mode, **({"defer": True} if options else {})}
        if deadline.passed(device):
            output.run(schedule=name, skipped="no time left", **about)
            continue
        pipeline = make(mode, name, options)
        run_schedule(name, pipeline, batch, device, output, **about)
        pipeline = None
        gc.collect()
    for mode in seen:  # last, because a profiler leaves its hooks
        if not deadline.passed(device):
            pipeline = make(mode, NAMES[0], {})
            found = gather(streams_of_messages(pipeline, batch, device))
            output.run(streams=found, schedule=NAMES[0], runtime=runtime, channels=mode)
            say(f"{mode}: streams and kernels of messages by rank: {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("capture", "channels"))
    parser.add_argument("--schedules", required=True)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=1e9, help="no run begins after that many")
    parser.add_argument("--names", default=",".join(NAMES))
    arguments = parser.parse_args()
    deadline = Deadline(arguments.seconds)
    device, output = begin(), Output(arguments.output)
    case, names = make_case(dist.get_world_size()), arguments.names.split(",")
    if device.type != "cuda":
        case = tiny(case)
    if arguments.what == "capture":
        plan = Plan(settle=1.0, sustained=0.9)
        arguments.stages_only = True
        capture_case("uneven-4096", case, arguments, device, output, plan)
        say(f"captured at {deadline.spent():.0f} s")
    modes = ("rank", "pair", "edge") if NEWER else ("rank",)
    # Schedule by schedule, so that all modes have the same of them if time runs out. Receives are put off
    # where pipesim has proved that safe.
    deferred = {"defer_pp_recv": True}
    jobs = [(mode, name, {}) for name in names[:6] for mode in modes]
    jobs += [("edge", name, deferred) for name in names if NEWER and name in DEFERRED]
    jobs += [("rank", name, {}) for name in CLASSES]
    jobs += [(mode, name, {}) for name in names[6:] for mode in modes]
    run_all(case, arguments, device, output, deadline, jobs)
    say(f"done after {deadline.spent():.0f} s")
    os._exit(0)  # a profiler that was used holds the process up at its end


if __name__ == "__main__":
    main()
