#!/usr/bin/env python3
"""The shortest orders of small instances by an integer program, beside what `pipesim optimize` says of them.

    check-optimal.py            bound <= optimum <= found, or it fails; needs cbc (Debian: coinor-cbc)
    check-optimal.py --full     all shapes up to 4 ranks and 6 micro-batches: hours

Times are whole milliseconds, and so are starts then. Of every op and instant a variable says whether it has
started; what waits for what, one op at a time, and the limit of activations are inequalities of these. Whether
an order of T ms exists is asked for T below what was found, until there is none. It knows nothing of pipesim's
bound or search.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PIPESIM = os.environ.get("PIPESIM", "pipesim")
CBC = os.environ.get("CBC") or shutil.which("cbc")
SECONDS = 30  # for one question


class Instance:
    def __init__(self, ranks, count, placement, limit, times, scale=None, p2p=0):
        """@limit: activations, in halves of a stage's; @times: F, I and W of a stage; @scale: {stage: factor}"""
        self.ranks, self.count, self.placement, self.halves = ranks, count, placement, limit
        self.times, self.scale, self.p2p = times, scale or {}, p2p
        self.chunks = 2 if placement == "v" else 1
        self.stages = ranks * self.chunks

    def name(self):
        scale = "".join(f" {stage}={factor}" for stage, factor in self.scale.items())
        times = ",".join(map(str, self.times))
        return f"{self.ranks}/{self.count} {self.placement} {self.halves / 2:g} F,I,W={times} P2P={self.p2p}{scale}"

    def options(self):
        times = ",".join(f"{kind}={ms * self.chunks}" for kind, ms in zip("FIW", self.times))
        asked = [
            "--pp", self.ranks, "--microbatches", self.count, "--placement", self.placement,
            "--max-activations", self.halves / 2, "--times", f"{times},P2P={self.p2p}",
        ]  # fmt: skip
        if self.scale:
            asked += ["--stage-scale", ",".join(f"{s}={f}" for s, f in self.scale.items())]
        return [str(one) for one in asked]

    def rank(self, stage):
        return stage if stage < self.ranks else 2 * self.ranks - 1 - stage

    def time(self, stage, kind):
        return self.times["FIW".index(kind)] * self.scale.get(stage, 1)

    def ops(self):
        return [(s, kind, k) for s in range(self.stages) for kind in "FIW" for k in range(self.count)]

    def hop(self, a, b):
        return self.p2p if self.rank(a) != self.rank(b) else 0

    def waits(self):
        """(before, after, ms between their starts)"""
        for stage, kind, k in self.ops():
            op = stage, kind, k
            if k > 0:  # micro-batches are alike: they may as well run in their order
                yield (stage, kind, k - 1), op, self.time(stage, kind)
            if kind == "F" and stage > 0:
                yield (stage - 1, "F", k), op, self.time(stage - 1, "F") + self.hop(stage - 1, stage)
            elif kind == "I" and stage + 1 < self.stages:
                yield (stage + 1, "I", k), op, self.time(stage + 1, "I") + self.hop(stage + 1, stage)
            if kind == "I":
                yield (stage, "F", k), op, self.time(stage, "F")
            elif kind == "W":
                yield (stage, "I", k), op, self.time(stage, "I")


def windows(instance, horizon):
    """{op: (first start, last start)} where nothing but waiting counts; None: there is none."""
    first = dict.fromkeys(instance.ops(), 0)
    last = {op: horizon - instance.time(op[0], op[1]) for op in first}
    waits = list(instance.waits())
    changed = True
    while changed:
        changed = False
        for a, b, ms in waits:
            if first[a] + ms > first[b]:
                first[b], changed = first[a] + ms, True
            if last[b] - ms < last[a]:
                last[a], changed = last[b] - ms, True
        if any(first[op] > last[op] for op in first):
            return None
    return {op: (first[op], last[op]) for op in first}


class Program:
    """The integer program: is there an order of at most so many ms?"""

    def __init__(self, instance, horizon):
        self.instance, self.horizon, self.lines, self.known = instance, horizon, [], set()
        self.window = windows(instance, horizon)
        self.index = {op: i for i, op in enumerate(instance.ops())}
        if self.window is not None:
            self.fill()

    def started(self, op, t):
        """The variable that says whether @op has started at @t or before, or 0 or 1."""
        first, last = self.window[op]
        if t < first:
            return 0
        if t >= last:
            return 1
        name = f"z{self.index[op]}_{t}"
        self.known.add(name)
        return name

    def add(self, terms, most):
        """Sum of (factor, variable or number) <= @most"""
        sums = {}
        for factor, value in terms:
            if isinstance(value, int):
                most -= factor * value
            else:
                sums[value] = sums.get(value, 0) + factor
        sums = {name: factor for name, factor in sums.items() if factor != 0}
        if sums:
            text = " ".join(f"{'+' if f > 0 else '-'} {abs(f)} {name}" for name, f in sums.items())
            self.lines.append(f" {text} <= {most}")
        elif most < 0:
            self.lines.append(" z0_0 <= -1")  # never
            self.known.add("z0_0")

    def fill(self):
        instance = self.instance
        for op, (first, last) in self.window.items():
            for t in range(first, last):
                self.add([(1, self.started(op, t)), (-1, self.started(op, t + 1))], 0)
        for a, b, ms in instance.waits():
            for t in range(self.window[b][0], self.window[b][1] + 1):
                self.add([(1, self.started(b, t)), (-1, self.started(a, t - ms))], 0)
        for rank, t in itertools.product(range(instance.ranks), range(self.horizon)):
            mine = [op for op in instance.ops() if instance.rank(op[0]) == rank]
            running, held = [], []
            for op in mine:
                ended = self.started(op, t - instance.time(op[0], op[1]))
                running += [(1, self.started(op, t)), (-1, ended)]
                if op[1] == "F":
                    held.append((1, self.started(op, t)))
                elif op[1] == "W":
                    held.append((-1, ended))
            self.add(running, 1)
            self.add(held, instance.halves * instance.chunks // 2)

    def solve(self, folder):
        """True: there is one, False: there is none, None: not known in time."""
        if self.window is None:
            return False
        model, answer = (os.path.join(folder, name) for name in ("model.lp", "answer"))
        names = sorted(self.known)
        with open(model, "w", encoding="ascii") as file:
            file.write(f"Minimize\n cost: {' + '.join(names[:1] or ['none'])}\nSubject To\n")
            file.write("\n".join(self.lines) + "\nBinaries\n " + "\n ".join(names) + "\nEnd\n")
        subprocess.run(
            [CBC, model, "sec", str(SECONDS), "solve", "solu", answer], capture_output=True, check=True
        )
        with open(answer, encoding="ascii") as file:
            said = file.readline()
        os.unlink(answer)
        if said.startswith("Optimal"):
            return True
        return False if re.match(r"(Integer i|I)nfeasible", said) else None


def optimum(instance, found, folder):
    """ms; None where a question was not answered in time."""
    while True:
        answer = Program(instance, found - 1).solve(folder)
        if answer is not True:
            return found if answer is False else None
        found -= 1


def look(instance, moves):
    """(bound, found), ms"""
    said = subprocess.run(
        [PIPESIM, "optimize", *instance.options(), "--moves", str(moves), "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(said.stdout)
    return found["lower_bound_ms"], found["makespan_ms"]


def instances(full):
    shapes = list(itertools.product((2, 3, 4), range(2, 7))) if full else [(2, 6), (3, 4), (4, 3), (4, 6)]
    for ranks, count in shapes:
        for limit in sorted({2, 2 * ranks - 2, 2 * ranks, 3 * ranks, 4 * ranks}):
            yield Instance(ranks, count, "single", limit, (1, 1, 1))
            if full or limit >= 2 * ranks - 2:
                yield Instance(ranks, count, "single", limit, (1, 2, 1), p2p=1)
            if full or ranks * count <= 12:
                yield Instance(ranks, count, "single", limit, (1, 1, 2), {0: 2, ranks - 1: 3})
    for ranks, count in shapes if full else [(2, 3), (2, 4), (3, 3)]:
        for limit in sorted({2, ranks + 1, 2 * ranks, 3 * ranks}):
            yield Instance(ranks, count, "v", limit, (1, 1, 1))
            yield Instance(ranks, count, "v", limit, (1, 2, 1), p2p=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more instances")
    parser.add_argument("--moves", type=int, default=100000)
    arguments = parser.parse_args()
    if CBC is None:
        print("SKIP: no cbc (Debian: coinor-cbc), or name it: CBC=/path/to/cbc")
        return 77
    counts = {"solved": 0, "undecided": 0, "bound is the optimum": 0, "found is the optimum": 0}
    wrong = 0
    print("PP/M placement activations times: bound, optimum, found (ms)")
    with tempfile.TemporaryDirectory() as folder:
        for instance in instances(arguments.full):
            bound, found = look(instance, arguments.moves)
            if found != round(found):
                print(f"{instance.name()}: found {found} ms, no whole number", flush=True)
                wrong += 1
                continue
            least = optimum(instance, round(found), folder)
            counts["solved" if least is not None else "undecided"] += 1
            counts["bound is the optimum"] += bound == least
            counts["found is the optimum"] += found == least
            bad = bound > found or (least is not None and not bound <= least <= found)
            wrong += bad
            print(f"{instance.name()}: {bound:g}, {least if least is not None else '?'}, {found:g}"
                  + (" WRONG" if bad else ""), flush=True)  # fmt: skip
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f", {wrong} wrong")
    return 1 if wrong or counts["solved"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
