"""Captures models, then runs steps of many pipelines of them: schedules, numbers of micro-batches, ways in which messages share
channels.

    torchrun --nproc-per-node N pipelines.py capture -o OUT
    torchrun --nproc-per-node N pipelines.py run -o OUT [--seconds S]

OUT has jobs.csv, a line a run in order of importance, and schedules/, both written by pipelines_table.py. Run are those whose
runtime is that of PyTorch, or of the overlay (overlay.py) that is in use, and that were not before. What is measured is written as
it comes: captures.zip, and runs.jsonl (a line a run: steps in ns, bytes by rank). With --seconds no run begins after that many.
"""

import argparse
import csv
import gc
import json
import math
import os
from dataclasses import replace

import channels
import models
import steps
import torch
import torch.distributed as dist
from classes import load_any
from pipesim.torch import Plan, capture
from pipesim.torch.clock import Clock, gather, largest, say
from steps import Case, Deadline, Output, memory, take_step, tiny

BF16, NEWEST = torch.bfloat16, "pytorch-2.15"
CASES = {
    "even-2048": models.Size(8, 4096, 32, 2048, 0, BF16),
    "head-2048": models.Size(8, 4096, 32, 2048, 131072, BF16),
    "recompute-2048": models.Size(8, 4096, 32, 2048, 0, BF16, True),
    "experts-4096": models.Size(8, 2048, 16, 4096, 0, BF16, sequences=2, experts=16, chosen=4, width=1408),
}
# Four stages of two ranks have histories and messages; of the others the times of their stages alone.
EIGHT = ("even-2048", "experts-4096")
# The governor overshoots for a second after a pause; between two runs there is hardly any.
WARM, MEASURED, LEAST = 0.9, 1.3, 12
PLAN = Plan(
    sustained=1.0, pauses=(0.01, 0.03, 0.1, 0.3), pause_rounds=1, duty_busy=(0.95, 0.9, 0.8, 0.5),
    duty=1.1, steps=8, turns=20, rested=6, beside=4, exchange=1.0, waiting=0.9, count_sms=False,
)  # fmt: skip


def capture_all(cases, device, output, deadline):
    plan = PLAN if device.type == "cuda" else PLAN.brief()
    for name, case in cases.items():
        for stages in (4, 2, 8) if name in EIGHT else (4, 2):
            made, model = f"{name}-{stages}", case.cut(stages, device)
            model.name = name
            mine = plan if stages == 4 else replace(plan, sustained=plan.sustained * min(1.5, 4 / stages))
            capture(model, output.path(f"{made}.csv"), device, mine, stages == 4)
            output.pack(f"{made}.csv", f"{made}.ini")
        say(f"{name}: captured at {deadline.spent():.0f} s")
        gc.collect()


def run_steps(job, pipeline, batch, device, output):
    clock, taken, before = Clock(device), [], memory(device)
    for _ in range(2):
        take_step(pipeline, *batch, clock, device)
    one = largest(take_step(pipeline, *batch, clock, device)[0], device) / 1e9
    cuda = device.type == "cuda"
    for _ in range(math.ceil(WARM / one) if cuda else 0):
        take_step(pipeline, *batch, clock, device)
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    for _ in range(max(LEAST, math.ceil(MEASURED / one)) if cuda else 3):
        taken.append(take_step(pipeline, *batch, clock, device))
    everything = gather((taken, {"before": before["now"], **memory(device)}))
    each = list(zip(*(taken for taken, _ in everything)))
    took = [max(t[0] for t in ranks) for ranks in each]
    output.run(
        **job, ranks=dist.get_world_size(), stages=pipeline.stage_count, step_ns=took,
        wall_ns=[max(t[1] for t in ranks) for ranks in each], began_ns=[ranks[0][2] for ranks in each],
        rank_step_ns=[[t[0] for t in taken] for taken, _ in everything], memory=[m for _, m in everything],
    )  # fmt: skip
    peak = " ".join(f"{m['peak'] / 2**30:.2f}" for _, m in everything)
    say(f"{job['case']:16}{job['schedule']:18}{job['chunks']} {job['microbatches']:>2} {job['runtime']:13}"
        f"{job['communicators']:5}{sorted(took)[len(took) // 2] / 1e6:9.2f} {min(took) / 1e6:9.2f} "
        f"{max(took) / 1e6:9.2f} ms {len(took)} steps {peak} GiB")  # fmt: skip


def run_all(jobs, cases, device, output, deadline):
    groups = {}
    for job in jobs:
        if deadline.passed(device):
            break
        count, size = int(job["microbatches"]), cases[job["case"]].size
        what = job["order"]
        if what.endswith(".csv"):
            what = output.path(os.path.join("schedules", what))
            if largest(not os.path.exists(what), device):
                output.run(**job, skipped="no such order")
                continue
        mode = job["communicators"] if channels.NEWER else None
        if mode and mode not in groups:
            groups[mode] = channels.Channels(mode, device)
        pipeline, batch = None, models.make_batch(size, count, device)
        try:
            pipeline = load_job(what, size, device, count, groups.get(mode))
            run_steps(job, pipeline, batch, device, output)
        except torch.OutOfMemoryError as error:
            output.run(**job, skipped=str(error).splitlines()[0])
        pipeline = None
        gc.collect()


def jobs_left(output):
    """Of jobs.csv for this runtime: those that no line of runs.jsonl has steps of."""
    with open(output.path("jobs.csv"), encoding="ascii") as file:
        jobs = [job for job in csv.DictReader(file) if (job["runtime"] == NEWEST) == channels.NEWER]
    if os.path.exists(output.path("runs.jsonl")):
        with open(output.path("runs.jsonl"), encoding="ascii") as file:
            runs = [json.loads(line) for line in file]
        done = [run for run in runs if "skipped" not in run]
        jobs = [job for job in jobs if not any(job.items() <= run.items() for run in done)]
    return jobs


def load_job(what, size, device, count, sharing):
    def build(stage, stages):
        return models.make_part(size, stage, stages, device)

    if sharing is None:
        return load_any(what, build, models.loss_function, device, count)
    with sharing.building():
        return load_any(what, build, models.loss_function, device, count, sharing.group)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("capture", "run"))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    deadline, output = Deadline(arguments.seconds), Output(arguments.output)
    device = channels.begin() if channels.NEWER else steps.begin()
    cases = {name: Case(size, 0) for name, size in CASES.items()}
    if device.type != "cuda":
        cases = {name: tiny(case) for name, case in cases.items()}
    if arguments.what == "capture":
        capture_all(cases, device, output, deadline)
    else:
        run_all(jobs_left(output), cases, device, output, deadline)
    say(f"{arguments.what}: done after {deadline.spent():.0f} s")
    os._exit(0)  # NCCL's communicators hold the process up at its end


if __name__ == "__main__":
    main()
