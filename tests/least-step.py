#!/usr/bin/env python3
"""The shortest orders of small instances with overlapped pairs by a constraint solver, beside what `pipesim optimize` says.

    least-step.py --seed 1 --count 30      bound <= optimum <= found, or it fails
    least-step.py --pp 3 -m 8 --placement single --max-activations 4 --times 15,19,5,27

Needs OR-tools (pip install ortools). Of every op there is a start, and of every forward and backward of two micro-batches
on one rank whether they run as one pair; a rank runs one op at a time and holds no more than it may. It knows nothing of
pipesim's bound or search. The order that it finds is run by the simulator, which must say the same. Times are those of
a stage, F,I,W,FB.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    from ortools.sat.python import cp_model
except ImportError:
    print("SKIP: python3 has no OR-tools")
    sys.exit(77)

PIPESIM = os.environ.get("PIPESIM", "pipesim")


class Instance:
    """@room: chunks that a rank may hold; @times: F, I, W and a pair of a stage, whole ms."""

    def __init__(self, ranks, count, placement, room, times):
        self.ranks, self.count, self.placement, self.room, self.times = ranks, count, placement, room, times
        self.chunks = 2 if placement == "v" else 1
        self.stages = range(ranks * self.chunks)

    def rank(self, stage):
        return stage if stage < self.ranks else 2 * self.ranks - 1 - stage

    def options(self):
        times = ",".join(f"{kind}={self.chunks * ms}" for kind, ms in zip(("F", "I", "W", "FB"), self.times))
        held = f"{self.room / self.chunks:g}"
        asked = f"--pp {self.ranks} -m {self.count} --placement {self.placement} --times {times}"
        return [*asked.split(), "--max-activations", held]


class Step:
    """All orders of @x that take no more than @most."""

    def __init__(self, x, most):
        self.x, self.most = x, most
        self.model = cp_model.CpModel()
        ops = [(kind, s, k) for s in x.stages for k in range(x.count) for kind in "FIW"]
        self.at = {op: self.model.NewIntVar(0, most, "") for op in ops}
        self.end = {op: self.model.NewIntVar(0, most, "") for op in ops}
        self.pairs = {
            (f, k, b, j): self.model.NewBoolVar("")
            for f in x.stages
            for b in x.stages
            for k in range(x.count)
            for j in range(max(k - 2 * x.room, 0), k)
            if x.rank(f) == x.rank(b)
        }
        self.spans = {rank: [] for rank in range(x.ranks)}
        self.stays = {rank: [] for rank in range(x.ranks)}
        for s in x.stages:
            for k in range(x.count):
                self.add(s, k)
        for (f, k, b, j), both in self.pairs.items():
            self.model.Add(self.at["F", f, k] == self.at["I", b, j]).OnlyEnforceIf(both)
        self.makespan = self.model.NewIntVar(0, most, "")
        for rank in range(x.ranks):
            # what follows from all others, said at once
            paired = sum(both for (f, *_), both in self.pairs.items() if x.rank(f) == rank)
            work = x.chunks * x.count * sum(x.times[:3]) - (sum(x.times[:3]) - x.times[3]) * paired
            self.model.Add(self.makespan >= work)
            self.model.AddNoOverlap(self.spans[rank])
            self.model.AddCumulative(self.stays[rank], [1] * len(self.stays[rank]), x.room)
        for s in x.stages:
            self.model.Add(self.makespan >= self.end["W", s, x.count - 1])
        self.model.Minimize(self.makespan)

    def add(self, s, k):
        """What micro-batch @k does on stage @s: in a pair I and W are one, and W starts with it."""
        x, model, at, end = self.x, self.model, self.at, self.end
        f, i, w, pair = x.times
        rank = x.rank(s)
        forward, back = model.NewBoolVar(""), model.NewBoolVar("")
        model.Add(forward == sum(v for (a, n, _, _), v in self.pairs.items() if (a, n) == (s, k)))
        model.Add(back == sum(v for (_, _, a, n), v in self.pairs.items() if (a, n) == (s, k)))
        took = f + (pair - f) * forward
        model.Add(end["I", s, k] == at["I", s, k] + i + (pair - i) * back)
        model.Add(end["W", s, k] == at["W", s, k] + w + (pair - w) * back)
        model.Add(at["W", s, k] >= end["I", s, k]).OnlyEnforceIf(back.Not())
        model.Add(at["W", s, k] == at["I", s, k]).OnlyEnforceIf(back)
        self.spans[rank] += [
            model.NewIntervalVar(at["F", s, k], took, end["F", s, k], ""),
            model.NewOptionalFixedSizeIntervalVar(at["I", s, k], i, back.Not(), ""),
            model.NewOptionalFixedSizeIntervalVar(at["W", s, k], w, back.Not(), ""),
        ]
        stay = model.NewIntVar(0, self.most, "")
        self.stays[rank].append(model.NewIntervalVar(at["F", s, k], stay, end["W", s, k], ""))
        last = s == x.stages[-1]
        if s > 0:
            model.Add(at["F", s, k] >= end["F", s - 1, k])
        model.Add(at["I", s, k] >= end["F", s, k] if last else at["I", s, k] >= end["I", s + 1, k])
        for kind in "FIW" if k > 0 else "":  # micro-batches are alike: they may as well run in their order
            model.Add(at[kind, s, k] >= end[kind, s, k - 1])

    def solve(self, seconds, threads):
        """(whether that is all, the least makespan or None, the order as a file of pipesim has it)"""
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = threads
        status = solver.Solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return status == cp_model.INFEASIBLE, None, None
        cells = {rank: [] for rank in range(self.x.ranks)}
        taken = {}
        for (f, k, b, j), both in self.pairs.items():
            if solver.Value(both):
                taken["F", f, k] = f"({f}F{k};{b}B{j})OVERLAP_F_B"
                taken["I", b, j] = taken["W", b, j] = None
        for op, at in sorted(self.at.items(), key=lambda one: solver.Value(one[1])):
            cell = taken.get(op, "{1}{0}{2}".format(*op))
            if cell:
                cells[self.x.rank(op[1])].append(cell)
        order = "\n".join(",".join(row) for row in cells.values()) + "\n"
        return status == cp_model.OPTIMAL, round(solver.ObjectiveValue()), order


def ask(*options):
    done = subprocess.run([PIPESIM, *options, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def simulate(x, order):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(order)
        file.flush()
        times = x.options()[x.options().index("--times") + 1]
        return ask("--schedule", file.name, "--times", times)["schedules"][0]["makespan_ms"]


def check(x, o):
    """What is wrong, "" as nothing is."""
    found = ask("optimize", *x.options(), "--moves", str(o.moves), "--threads", "1")
    most, bound = found["makespan_ms"], found["lower_bound_ms"]
    told = f"{' '.join(x.options())}: bound {bound:g}, found {most:g}"
    if most == bound:
        print(f"{told}, the same", flush=True)
        return ""
    done, least, order = Step(x, round(most)).solve(o.seconds, o.threads)
    print(f"{told}, {'optimum' if done else 'at most'} {least}", flush=True)
    if done and (least is None or least < bound):
        return "no order" if least is None else "below the bound"
    return "not as simulated" if order and simulate(x, order) > least else ""


def draw(seed, number):
    draws = random.Random(f"{seed} {number}")
    ranks, placement = draws.choice([2, 2, 3, 3, 4]), draws.choice(["single", "v"])
    f, i, w = 20, draws.randint(12, 36), draws.randint(6, 24)
    pair = round(draws.uniform(0.7, 0.95) * (f + i + w))
    room = round(draws.choice([0.75, 1, 1, 1.5]) * ranks * (2 if placement == "v" else 1))
    return Instance(ranks, draws.randint(5, 10), placement, room, (f, i, w, pair))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=4, help="instances that are drawn")
    options.add_argument("--pp", type=int, help="one instance, as below")
    options.add_argument("-m", type=int, default=8)
    options.add_argument("--placement", choices=("single", "v"), default="v")
    options.add_argument("--max-activations", type=float, default=4)
    options.add_argument("--times", default="15,19,5,27", help="F,I,W,FB of a stage, ms")
    options.add_argument("--moves", type=int, default=200000)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--threads", type=int, default=2)
    o = options.parse_args()
    if o.pp:
        room = round(o.max_activations * (2 if o.placement == "v" else 1))
        those = [Instance(o.pp, o.m, o.placement, room, tuple(map(int, o.times.split(","))))]
    else:
        those = [draw(o.seed, number) for number in range(o.count)]
    wrong = 0
    for x in those:
        said = check(x, o)
        if said:
            print(f"F: {said}")
            wrong += 1
    print(f"{100 * (len(those) - wrong) // len(those)}%: Checks: {len(those)}, Failures: {wrong}, Errors: 0")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
