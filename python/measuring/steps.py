"""Captures models, then runs real steps of them with many schedules, for accuracy.py.

    torchrun --nproc-per-node 2 steps.py --schedules FOLDER -o FOLDER [CASE...]

FOLDER of --schedules has NAME-mM.csv for two ranks, as steps.sh lets pipesim write them. What is measured is written as
it comes: captures.zip (a trace and its provenance for each case and cut), runs.jsonl (a line a run: steps in
ns, peak bytes by rank), spans.csv.gz (the ops of some steps). With --seconds no run begins after that many.

With --nproc-per-node 1 all four stages are on one GPU, which pauses before every step (NAME-one.csv, of one rank), and
ranks of pipelines that are too long for one host run there by themselves: their ops, idle where they are
(NAME-idle.csv: kind, micro-batch and ns without work before it, of chips that take as long as --cycle says for F, B, F, I, W).
"""

import argparse
import csv
import datetime
import gc
import gzip
import io
import itertools
import json
import math
import os
import time
import zipfile
from dataclasses import dataclass, replace

import models
import torch
import torch.distributed as dist
from classes import load_any
from pipesim.torch import Model, Plan, Recorder, capture, load, messages
from pipesim.torch.clock import Clock, drain, gather, largest, settle
from pipesim.torch.part import Part
from pipesim.torch.player import Player

BF16 = torch.bfloat16


@dataclass
class Case:
    size: models.Size
    count: int  # micro-batches

    def cut(self, stages, device):
        inputs, targets = models.make_batch(self.size, 1, device)

        def build(stage):
            return lambda: models.make_part(self.size, stage, stages, device)

        parts = [build(stage) for stage in range(stages)]
        return Model(parts, (inputs,), models.loss_function, targets)


CASES = {
    "even-4096": Case(models.Size(4, 4096, 32, 4096, 0, BF16), 8),
    "uneven-8192": Case(models.Size(4, 4096, 32, 8192, 32768, BF16), 8),
    "short-1024": Case(models.Size(8, 4096, 32, 1024, 0, BF16, sequences=2), 8),
    "recompute-2048": Case(models.Size(4, 4096, 32, 2048, 0, BF16, True, sequences=2), 8),
}
# In order of what one would not do without, should time run out.
SCHEDULES = (
    ("1f1b", "looped-bfs"),
    ("1F1B", "interleaved-1f1b"),
    ("zb-v", "DualPipeV"),
    ("GPipe", "v-half"),
    ("zb-h1", "interleaved-zb", "dualpipev"),
    ("v-min", "gpipe"),
)
# Then sustained times are measured once more.
AGAIN_AFTER = 4
# On one GPU: orders of all stages; seconds of pause before each of their steps; orders of ranks by themselves.
ALONE, PAUSES = ("interleaved-1f1b", "looped-bfs", "interleaved-zb"), (0, 0.05, 0.2)
IDLE = ("1f1b", "zb-h1", "gpipe")
# Steps of a rank by itself that are left out, and that count.
IDLE_WARM, IDLE_STEPS = 8, 12
# PyTorch's own classes.
CLASSES = ("1F1B", "GPipe", "DualPipeV")
# Long enough for the governor to come to rest, which overshoots for a second.
WARM, MEASURED = 1.2, 2.2


def tiny(case):
    """For a CPU, to try the script."""
    vocabulary = min(case.size.vocabulary, 64)
    return Case(replace(case.size, hidden=64, heads=2, tokens=32, vocabulary=vocabulary, width=32,
                        dtype=torch.float32), case.count)  # fmt: skip


class Output:
    """What rank 0 has written stays, whatever happens afterwards."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, **values):
        if dist.get_rank() == 0:
            with open(self.path("runs.jsonl"), "a", encoding="ascii") as file:
                file.write(json.dumps(values) + "\n")

    def spans(self, rows):
        if dist.get_rank() == 0:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            with gzip.open(self.path("spans.csv.gz"), "at", encoding="ascii") as file:
                file.write(text.getvalue())

    def pack(self, *names):
        """Moves files into one: few may come back."""
        if dist.get_rank() == 0:
            with zipfile.ZipFile(self.path("captures.zip"), "a", zipfile.ZIP_DEFLATED) as file:
                for name in names:
                    file.write(self.path(name), name)
                    os.unlink(self.path(name))


class Deadline:
    def __init__(self, seconds):
        self.begin, self.seconds = time.monotonic(), seconds

    def passed(self, device):
        """The same on all ranks."""
        return largest(time.monotonic() - self.begin, device) > self.seconds

    def spent(self):
        return time.monotonic() - self.begin


def memory(device):
    if device.type != "cuda":
        return {"now": 0, "peak": 0, "reserved": 0}
    return {
        "now": torch.cuda.memory_allocated(),
        "peak": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
    }


def take_step(pipeline, inputs, targets, clock, device, losses=None, recorder=None, pause=0):
    """(ns on this rank, ns on the process's clock until all was done, when that began); @losses: a list
    that gets those of the micro-batches where the last stage is; @pause: seconds before it"""
    losses, arguments, options = [] if losses is None else losses, (), {}
    for stage in pipeline.stages:
        stage.submod.zero_grad()
        if stage.is_first:
            arguments = (inputs,)
        if stage.is_last:
            options = {"target": targets, "losses": losses}
    settle(device)
    time.sleep(pause)
    wall, begin = time.perf_counter_ns(), clock.now()
    if recorder is not None:
        recorder.begin()
    pipeline.schedule.step(*arguments, return_outputs=False, **options)
    end = clock.now()
    drain(device)
    return clock.between(begin, end), time.perf_counter_ns() - wall, wall


def run_schedule(what, name, pipeline, batch, least, device, output, pause=0):
    clock, taken, before = Clock(device), [], memory(device)
    for _ in range(2):
        take_step(pipeline, *batch, clock, device)
    one = largest(take_step(pipeline, *batch, clock, device)[0], device) / 1e9
    seconds = (WARM, MEASURED) if device.type == "cuda" else (0, 0)
    for _ in range(math.ceil(seconds[0] / (one + pause))):
        take_step(pipeline, *batch, clock, device, pause=pause)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    repetitions = max(least, math.ceil(seconds[1] / (one + pause)))
    for _ in range(repetitions):
        taken.append(take_step(pipeline, *batch, clock, device, pause=pause))
    peaks = {"before": before["now"], **memory(device)}
    recorded = []
    for with_memory in (False, False, False, True):
        with Recorder(pipeline.schedule, with_memory) as recorder:
            ns, _, _ = take_step(pipeline, *batch, clock, device, recorder=recorder, pause=pause)
            recorded.append([("step", "", "", 0, ns), *recorder.take()])
    everything = gather((taken, peaks, recorded))
    steps = [max(t[r][0] for t, _, _ in everything) for r in range(repetitions)]
    walls = [max(t[r][1] for t, _, _ in everything) for r in range(repetitions)]
    began = [everything[0][0][r][2] for r in range(repetitions)]
    output.run(
        case=name, schedule=what, name=pipeline.name, microbatches=pipeline.microbatches,
        ranks=dist.get_world_size(), asked_pause=pause, stages=pipeline.stage_count, step_ns=steps, wall_ns=walls, began_ns=began,
        rank_step_ns=[[t[r][0] for r in range(repetitions)] for t, _, _ in everything],
        memory=[m for _, m, _ in everything],
    )  # fmt: skip
    output.spans(
        [name, f"{what}+{pause}" if pause else what, step, rank, *span]
        for rank, (_, _, recorded) in enumerate(everything)
        for step, spans in enumerate(recorded)
        for span in spans
    )
    if dist.get_rank() == 0:
        peak = " ".join(f"{m['peak'] / 2**30:.2f}" for _, m, _ in everything)
        print(f"{name:16}{what:18}{pause:5}{sorted(steps)[repetitions // 2] / 1e6:9.2f} "
              f"{min(steps) / 1e6:9.2f} {max(steps) / 1e6:9.2f} ms {repetitions} steps {peak} GiB",
              flush=True)  # fmt: skip


def capture_case(name, case, arguments, device, output, plan):
    for stages in (4, 2) if dist.get_world_size() > 1 else (4,):
        made = f"{name}-{stages}"
        model = case.cut(stages, device)
        model.name = name
        series = stages == 4 and not arguments.stages_only
        mine = plan if stages == 4 else replace(plan, sustained=1.5 * plan.sustained)
        capture(model, output.path(f"{made}.csv"), device, mine, series)
        output.pack(f"{made}.csv", f"{made}.ini")


def capture_again(name, case, device, output, plan):
    """Sustained times once more, to tell whether the chips have changed since."""
    model = case.cut(4, device)
    model.name = name
    capture(model, output.path(f"{name}-again.csv"), device, plan, False)
    output.pack(f"{name}-again.csv", f"{name}-again.ini")


def load_named(what, case, build, arguments, device):
    path = os.path.join(arguments.schedules, f"{what}-m{case.count}.csv")
    made = what if what in CLASSES else path
    return load_any(made, build, models.loss_function, device, case.count)


def run_case(name, case, names, arguments, device, output, deadline):
    batch = models.make_batch(case.size, case.count, device)

    def build(stage, stages):
        return models.make_part(case.size, stage, stages, device)

    for what in names:
        if deadline.passed(device):
            output.run(case=name, schedule=what, skipped="no time left")
            continue
        try:
            pipeline = load_named(what, case, build, arguments, device)
            run_schedule(what, name, pipeline, batch, arguments.repetitions, device, output)
        except torch.OutOfMemoryError as error:
            output.run(case=name, schedule=what, skipped=str(error).splitlines()[0])
        pipeline = None
        gc.collect()


def run_alone(what, name, case, arguments, device, output, deadline):
    """All stages on one GPU, with pauses between steps."""
    batch = models.make_batch(case.size, case.count, device)

    def build(stage, stages):
        return models.make_part(case.size, stage, stages, device)

    pipeline = None
    for pause in PAUSES:
        if deadline.passed(device):
            output.run(case=name, schedule=what, skipped="no time left")
            continue
        if pipeline is None:
            path = os.path.join(arguments.schedules, f"{what}-one.csv")
            pipeline = load(path, build, models.loss_function, device)
        run_schedule(what, name, pipeline, batch, arguments.repetitions, device, output, pause)
    pipeline = None
    gc.collect()


def idle(device, seconds):
    """Nothing on the stream for about so long."""
    if device.type == "cuda":
        torch.cuda._sleep(int(1.9e9 * seconds))  # in cycles of some clock; how long it was is measured
    else:
        time.sleep(seconds)


def run_idle(name, case, arguments, device, output, deadline):
    """The second stage by itself, in the order of a rank and idle where that is."""
    inputs, _ = models.make_batch(case.size, 1, device)
    with torch.no_grad():
        inputs = models.make_part(case.size, 0, 4, device)(inputs)
    part = Part(models.make_part(case.size, 1, 4, device), 1, 4, [inputs], models.loss_function, None)
    player = Player(device)
    for _ in range(3):
        player.cycle(part)
    player.take()
    player.cycle(part)
    scale = sum(span.took for span in player.take()) / arguments.cycle
    for what in IDLE:
        if deadline.passed(device):
            continue
        with open(os.path.join(arguments.schedules, f"{what}-idle.csv"), encoding="ascii") as file:
            order = [(k, int(m), int(ns) * scale / 1e9) for k, m, ns in csv.reader(file)]
        player.set_origin()
        for step in range(IDLE_WARM + IDLE_STEPS):
            for kind, microbatch, seconds in order:
                if seconds > 1e-5:
                    idle(device, seconds)
                player.play(part, kind, step=step, microbatch=microbatch)
        spans = player.take()
        output.spans(
            [name, f"idle-{what}", s.marks["step"] - IDLE_WARM, 0, s.stage, s.kind,
             s.marks["microbatch"], s.start, s.took]
            for s in spans
        )  # fmt: skip
        took = sum(s.took for s in spans[IDLE_WARM * len(order) :]) / IDLE_STEPS
        whole = (spans[-1].start + spans[-1].took - spans[IDLE_WARM * len(order) - 1].start) / IDLE_STEPS
        print(f"{name:16}{what:18} alone {took / 1e6:9.2f} ms of {whole / 1e6:9.2f}", flush=True)


def begin():
    """The process group, with a time limit so that a hang ends; and this rank's device."""
    local, limit = int(os.environ["LOCAL_RANK"]), datetime.timedelta(seconds=45)
    if torch.cuda.device_count() > local:
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", timeout=limit, device_id=device)
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)
        dist.init_process_group("gloo", timeout=limit)
    return device


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--schedules", required=True)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--repetitions", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--stages-only", action="store_true", help="no series in captures")
    parser.add_argument("--cycle", type=float, default=1e9, help="ns that F, B, F, I, W took, of idle times")
    arguments = parser.parse_args()
    deadline = Deadline(arguments.seconds)
    device, output = begin(), Output(arguments.output)
    plan = Plan(
        sustained=1.1, pauses=(0.01, 0.03, 0.1, 0.3), pause_rounds=1, duty_busy=(0.95, 0.9, 0.8, 0.5),
        duty=1.1, steps=8, turns=20, rested=6, beside=4, exchange=1.0, waiting=0.9, count_sms=False,
    )  # fmt: skip
    cases = {name: CASES[name] for name in arguments.cases}
    if dist.get_world_size() == 1:
        cases = {name: Case(case.size, case.count // 2) for name, case in cases.items()}
    if device.type != "cuda":
        plan, cases = plan.brief(), {name: tiny(case) for name, case in cases.items()}
    for name, case in cases.items():
        capture_case(name, case, arguments, device, output, plan)
        if dist.get_rank() == 0:
            print(f"{name}: captured at {deadline.spent():.0f} s", flush=True)
    if dist.get_world_size() == 1:
        for name, case in cases.items():
            run_idle(name, case, arguments, device, output, deadline)
        for what, (name, case) in itertools.product(ALONE, cases.items()):
            run_alone(what, name, case, arguments, device, output, deadline)
        print(f"done after {deadline.spent():.0f} s", flush=True)
        os._exit(0)
    for tier, names in enumerate(SCHEDULES):
        for name, case in cases.items():
            run_case(name, case, names, arguments, device, output, deadline)
            if tier == AGAIN_AFTER and not deadline.passed(device):
                capture_again(name, case, device, output, plan)
    if dist.get_rank() == 0:
        print(f"runs done after {deadline.spent():.0f} s", flush=True)
    pair = messages.Pair(device, torch.zeros(1, 4096, 4096, dtype=BF16))
    sms = messages.receive_sms(pair)
    if dist.get_rank() == 0:
        print(f"a receive holds {sms} SMs", flush=True)
    if dist.get_rank() == 0:
        print(f"done after {deadline.spent():.0f} s", flush=True)
    os._exit(0)  # a profiler that was used holds the process up at its end


if __name__ == "__main__":
    main()
