"""Captures an uneven model on two GPUs, lets pipesim search orders for it, and runs them beside the schedules made by hand.

    torchrun --nproc-per-node 2 optimized.py --pipesim PATH -o FOLDER

In FOLDER: the captures of both cuts, orders/NAME.csv, plan.json (what pipesim says of each order, and which are run),
check.json (losses of three training steps and sums of the last gradients, under deterministic kernels, and peak
bytes), runs.jsonl (a line a turn: steps in ns) and, if there is time, a capture with series. For gains.py.
"""

import argparse
import concurrent.futures
import configparser
import json
import math
import os
import statistics
import subprocess

import models
import steps
import torch
import torch.distributed as dist
from pipesim import cells, memory
from pipesim.torch import Model, Plan, capture, load, messages
from pipesim.torch.clock import Clock, drain, gather, largest, settle

SIZE = models.Size(10, 4096, 32, 8192, 32768, torch.bfloat16)
COUNT = 4  # micro-batches
EDGES = {4: (0, 2, 5, 8, 10), 2: (0, 5, 10)}  # embedding before, norm, head and loss behind
BY_HAND = {
    2: ("1f1b", "zb-h1", "zb-h2", "gpipe"),
    4: ("interleaved-1f1b", "interleaved-zb", "looped-bfs", "1f1b-v", "zb-v", "v-half", "v-min", "dualpipev"),
}
LIMITS = 14  # limits of memory that are tried for each placement
MOVES = 300000
RUN_ANYWAY = ("1f1b", "interleaved-1f1b", "interleaved-zb")
TURNS, STEPS = 5, 3  # measured: STEPS of each of TURNS, after one that is not
WARM = 1.2
TRAINED = 3


def build_part(size, stage, stages, device):
    first, last = EDGES[stages][stage : stage + 2]
    with device:
        return models.Part(size, first, last).to(dtype=size.dtype)


def cut(size, stages, device):
    inputs, targets = models.make_batch(size, 1, device)
    parts = [lambda s=s: build_part(size, s, stages, device) for s in range(stages)]
    return Model(parts, (inputs,), models.loss_function, targets, name="uneven")


class Planner:
    """Runs pipesim on rank 0, with nothing but the captures."""

    def __init__(self, pipesim, folder, message_ns):
        self.pipesim, self.folder, self.metadata = pipesim, folder, {}
        os.makedirs(self.path("orders"), exist_ok=True)
        for stages in EDGES:
            trace, made = self.path(f"uneven-{stages}.csv"), self.path(f"costs-{stages}.ini")
            self.call("calibrate", trace, "-o", made)
            costs = configparser.ConfigParser(interpolation=None)
            costs.optionxform = str
            costs.read(made)
            costs["times"]["P2P"] = str(message_ns)
            self.metadata[stages] = memory.metadata_of(trace)
            self.has_bytes = any(map(int, self.metadata[stages]["stage_after_f_bytes"].split(";")))
            # What a stage keeps in PyTorch is most between I and W.
            held = zip(*(self.metadata[stages][f"stage_after_{k}_bytes"].split(";") for k in "fi"))
            costs["stage-bytes"]["until_weight"] = ";".join(str(max(map(int, h))) for h in held)
            costs["stage-bytes"]["until_input"] = ";".join("0" for _ in range(stages))
            with open(made, "w", encoding="utf-8") as file:
                costs.write(file, space_around_delimiters=False)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def call(self, *arguments):
        """What it prints; None where it refuses."""
        said = subprocess.run([self.pipesim, *arguments], capture_output=True, text=True, check=False)
        return said.stdout if said.returncode == 0 else None

    def look(self, name, stages):
        """What pipesim says of an order, and what PyTorch's runtime would hold."""
        order = self.path("orders", f"{name}.csv")
        said = self.call(
            "--pp", "2", "-m", str(COUNT), "--costs", self.path(f"costs-{stages}.ini"),
            "--runtime", "pytorch-2.11", "-s", order, "-f", "json",
        )  # fmt: skip
        run = json.loads(said)["schedules"][0]
        if self.has_bytes:
            peaks = memory.peak_bytes(self.metadata[stages], cells.read(order))
        else:  # on a CPU, to try the script: activations
            peaks = run["activations"]["peak_per_rank"]
        return {"name": name, "stages": stages, "makespan_ms": run["makespan_ms"], "peak_bytes": peaks}

    def by_hand(self):
        for stages, names in BY_HAND.items():
            for name in names:
                order = self.path("orders", f"{name}.csv")
                asked = ("--schedule", name, "--pp", "2", "--microbatches", str(COUNT), "-o", order)
                if self.call("export", "--framework", "pytorch", *asked) is not None:
                    yield self.look(name, stages)

    def search(self, name, placement, full, limit):
        asked = ("--memory-limit", str(round(limit))) if self.has_bytes else (
            "--max-activations", f"{limit:.2f}")  # fmt: skip
        found = self.call(
            "optimize", "--pp", "2", "-m", str(COUNT), "--placement", placement,
            "--costs", self.path("costs-4.ini"), "--runtime", "pytorch-2.11", *asked,
            "--moves", str(MOVES), "-f", "json", "-o", self.path("orders", f"{name}.csv"),
            *(["--full-backward"] if full else []),
        )  # fmt: skip
        if found is None or json.loads(found)["order_of"] is not None:
            return None
        return self.look(name, 4) | {"limit": limit}

    def searched(self, least, most):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = []
            for placement in ("v", "interleaved"):
                for full in (False, True):
                    for i in range(LIMITS):
                        name = f"optimized-{placement}{'-full' if full else ''}-{i}"
                        limit = least + (most - least) * i / (LIMITS - 1)
                        made.append(pool.submit(self.search, name, placement, full, limit))
            return [one.result() for one in made if one.result() is not None]

    def plan(self):
        """Everything that was looked at is written; returned are names of what is worth running: of orders
        found the shortest with no more memory than any schedule made by hand, that which gains most
        with less than interleaved-1f1b has, and the shortest with as much."""
        hand = list(self.by_hand())
        peaks = [max(h["peak_bytes"]) for h in hand]
        usual = next(max(h["peak_bytes"]) for h in hand if h["name"] == "interleaved-1f1b")
        found = list(self.searched(0.6 * min(peaks), sorted(peaks)[-2]))
        for one in found:
            fits = [h for h in hand if max(h["peak_bytes"]) <= max(one["peak_bytes"])]
            fits = fits or [min(hand, key=lambda h: max(h["peak_bytes"]))]
            best = min(fits, key=lambda h: h["makespan_ms"])
            one["best_by_hand"] = best["name"]
            one["gain"] = 1 - one["makespan_ms"] / best["makespan_ms"]
        least = [f for f in found if max(f["peak_bytes"]) <= min(peaks)]
        below = [f for f in found if min(peaks) < max(f["peak_bytes"]) < 0.98 * usual]
        about = [f for f in found if max(f["peak_bytes"]) <= 1.01 * usual]
        chosen = []
        for some, key in (
            (least, lambda f: f["makespan_ms"]),
            (below, lambda f: -f["gain"]),
            (about, lambda f: f["makespan_ms"]),
        ):
            one = min(some, key=key, default=None)
            if one and one["name"] not in chosen:
                chosen.append(one["name"])
        run = ["1F1B", *RUN_ANYWAY, *chosen]
        with open(self.path("plan.json"), "w", encoding="ascii") as file:
            json.dump({"by_hand": hand, "searched": found, "run": run}, file, indent=1)
        return run


def take_step(pipeline, inputs, targets):
    """Losses of the micro-batches, where the last stage lives."""
    losses, arguments, options = [], (), {}
    for stage in pipeline.stages:
        stage.submod.zero_grad()
        if stage.is_first:
            arguments = (inputs,)
        if stage.is_last:
            options = {"target": targets, "losses": losses}
    pipeline.schedule.step(*arguments, return_outputs=False, **options)
    return losses


def digest(tensor):
    """Two sums over the bits, of which one knows their order."""
    bits = tensor.detach().flatten().view(torch.int16).to(torch.int64)
    places = torch.arange(bits.numel(), device=bits.device) % 65521 + 1
    return [bits.sum().item(), (bits * places).sum().item()]


def check(pipeline, batch, device):
    """TRAINED steps of training: (losses, digest of each parameter's last gradient), the same on all ranks."""
    torch.use_deterministic_algorithms(True)
    losses, digests = [], {}
    for _ in range(TRAINED):
        losses.append([loss.item() for loss in take_step(pipeline, *batch)])
        for stage in pipeline.stages:
            for name, parameter in stage.submod.named_parameters():
                digests[name] = digest(parameter.grad)
                with torch.no_grad():
                    parameter -= 0.1 * parameter.grad
    torch.use_deterministic_algorithms(False)
    everything = gather((losses, digests))
    last = next(made for made, _ in everything if made[0])
    return last, {name: digest for _, made in everything for name, digest in made.items()}


def timed(pipeline, batch, clock, device):
    """ns on this rank"""
    settle(device)
    begin = clock.now()
    take_step(pipeline, *batch)
    end = clock.now()
    drain(device)
    return clock.between(begin, end)


class Runs:
    def __init__(self, folder, device):
        self.folder, self.device, self.clock = folder, device, Clock(device)
        self.of = {}

    def warm(self, pipeline, batch):
        one = largest(timed(pipeline, batch, self.clock, self.device), self.device) / 1e9
        least = WARM if self.device.type == "cuda" else 0
        for _ in range(1 + math.ceil(least / one)):
            timed(pipeline, batch, self.clock, self.device)

    def turn(self, name, pipeline, batch):
        timed(pipeline, batch, self.clock, self.device)
        everything = gather([timed(pipeline, batch, self.clock, self.device) for _ in range(STEPS)])
        longest = [max(taken) for taken in zip(*everything)]
        self.of.setdefault(name, []).extend(longest)
        if dist.get_rank() == 0:
            line = {"schedule": name, "step_ns": longest}
            with open(os.path.join(self.folder, "runs.jsonl"), "a", encoding="ascii") as file:
                file.write(json.dumps(line) + "\n")

    def print(self):
        for name, taken in self.of.items() if dist.get_rank() == 0 else ():
            print(f"{name:30}{statistics.median(taken) / 1e6:9.2f} ms, {min(taken) / 1e6:.2f} - "
                  f"{max(taken) / 1e6:.2f}, {len(taken)} steps", flush=True)  # fmt: skip


def say(deadline, text):
    if dist.get_rank() == 0:
        print(f"{deadline.spent():6.1f} s  {text}", flush=True)


def message_time(size, device, count):
    example = torch.zeros(1, size.tokens, size.hidden, dtype=size.dtype, device=device)
    took = statistics.median(messages.measure_messages(example, device, count))
    return round(largest(took, device))


def make_plan(arguments, size, device, brief):
    """Names of what is run, the same on all ranks."""
    message_ns = message_time(size, device, 3 if brief else 30)
    names = [None]
    if dist.get_rank() == 0:
        names = [Planner(arguments.pipesim, arguments.output, message_ns).plan()]
    dist.broadcast_object_list(names, src=0)
    return names[0]


def load_one(name, folder, size, device):
    def build(stage, stages):
        return build_part(size, stage, stages, device)

    what = name if name == "1F1B" else os.path.join(folder, "orders", f"{name}.csv")
    return load(what, build, models.loss_function, device, count=COUNT)


def load_and_train(names, batch, size, device, planned, folder):
    """{name: pipeline}; check.json has what they make of a few steps, and what each holds at most."""
    pipelines, found = {}, {}
    for name in names:
        before = steps.memory(device)["now"]
        pipelines[name] = load_one(name, planned, size, device)
        losses, digests = check(pipelines[name], batch, device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        take_step(pipelines[name], *batch)
        drain(device)
        peaks = gather(steps.memory(device)["peak"] - before)
        found[name] = {"losses": losses, "gradients": digests, "peak_bytes": peaks}
    if dist.get_rank() == 0:
        with open(os.path.join(folder, "check.json"), "w", encoding="ascii") as file:
            json.dump(found, file, indent=1)
        first = next(iter(found.values()))
        for name, made in found.items():
            digests = made["gradients"]
            equal = sum(digests[k] == first["gradients"][k] for k in digests)
            print(f"{name:30}losses {'bit-equal' if made['losses'] == first['losses'] else 'DIFFER'}, "
                  f"{equal} of {len(digests)} gradients bit-equal, "
                  + " ".join(f"{peak / 2**30:.2f}" for peak in made["peak_bytes"]) + " GiB",
                  flush=True)  # fmt: skip
    return pipelines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--planned", metavar="FOLDER", help="of an earlier run: its plan and orders, no captures")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seconds", type=float, default=1e9, help="stops before so many")
    arguments = parser.parse_args()
    deadline, device = steps.Deadline(arguments.seconds), steps.begin()
    os.makedirs(arguments.output, exist_ok=True)
    size, plan = SIZE, Plan(
        settle=1.5, sustained=1.1, pause_rounds=1, duty_busy=(0.8, 0.5), duty=1.2, beside=8,
        waiting=1.0, count_sms=False,
    )  # fmt: skip
    brief = device.type != "cuda"
    if brief:
        size, plan = steps.tiny(steps.Case(size, COUNT)).size, plan.brief()
    if arguments.planned is None:
        for stages in EDGES:
            path = os.path.join(arguments.output, f"uneven-{stages}.csv")
            capture(cut(size, stages, device), path, device, plan, series=False)
            say(deadline, f"{stages} stages captured")
        names, planned = make_plan(arguments, size, device, brief), arguments.output
    else:
        planned = arguments.planned
        with open(os.path.join(planned, "plan.json"), encoding="ascii") as file:
            names = json.load(file)["run"]
    say(deadline, "to run: " + " ".join(names))
    batch, runs = models.make_batch(size, COUNT, device), Runs(arguments.output, device)
    pipelines = load_and_train(names, batch, size, device, planned, arguments.output)
    say(deadline, "trained")
    for pipeline in pipelines.values():
        runs.warm(pipeline, batch)
    for turn in range(arguments.turns):
        for name, pipeline in pipelines.items():
            if not deadline.passed(device):
                runs.turn(name, pipeline, batch)
        say(deadline, f"turn {turn + 1}")
    runs.print()
    pipelines = pipeline = None
    if arguments.planned is None and (deadline.seconds - deadline.spent() > 45 or brief):
        if not brief:
            torch.cuda.empty_cache()
        path = os.path.join(arguments.output, "series-4.csv")
        capture(cut(size, 4, device), path, device, plan)
        say(deadline, "series captured")
    os._exit(0)  # a process group that was aborted holds the process up at its end


if __name__ == "__main__":
    main()
