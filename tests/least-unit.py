#!/usr/bin/env python3
"""Whether a V has an order that repeats so many micro-batches in so much time, by a constraint solver.

    least-unit.py --pp 8 --max-activations 4 --times 1,1.6,0.85 --units 2 --period 7.2

Needs OR-tools (pip install ortools). Prints FEASIBLE, INFEASIBLE or UNKNOWN, where --seconds were not enough. What
is infeasible is so in all shorter periods too. --check asks where src/schedule/search/fold.c has found the shortest units of
one. It knows nothing of pipesim's search: every op of every micro-batch has a time, and a place in the period at
which its rank runs nothing else; whatever an op of a micro-batch waits for is of any period.
"""

import argparse
import math
import sys
import time
from fractions import Fraction

try:
    from ortools.sat.python import cp_model
except ImportError:
    print("SKIP: python3 has no OR-tools")
    sys.exit(77)

# PP, activations, times, periods: of the first there is none, of the second there is one
KNOWN = [(4, 2, "1,1.6,0.85", "4.1", "4.125"), (4, 2, "1,0.83,0.9", "2.99", "3")]


class Unit:
    """@room: chunks that a rank may hold; @took: {kind: of a chunk}, and @period, in whole ticks."""

    def __init__(self, ranks, room, took, count, period):
        self.ranks, self.room, self.took, self.count, self.period = ranks, room, took, count, period
        self.model = cp_model.CpModel()
        self.stages = range(2 * ranks)
        self.at = {
            (kind, stage, k): self.model.NewIntVar(0, (room + 2) * period, "")
            for kind in "FIW"
            for stage in self.stages
            for k in range(count)
        }
        self.model.Add(self.at["F", 0, 0] == 0)
        self.add_waits()
        for rank in range(ranks):
            self.add_rank(rank)

    def add_waits(self):
        at, took, model = self.at, self.took, self.model
        for k in range(self.count):
            for stage in self.stages[1:]:
                model.Add(at["F", stage, k] >= at["F", stage - 1, k] + took["F"])
                model.Add(at["I", stage - 1, k] >= at["I", stage, k] + took["I"])
            model.Add(at["I", self.stages[-1], k] >= at["F", self.stages[-1], k] + took["F"])
            for stage in self.stages:
                model.Add(at["W", stage, k] >= at["I", stage, k] + took["I"])
        # micro-batches are alike: they may as well run in their order
        for stage in self.stages:
            for kind in "FIW":
                for k in range(1, self.count):
                    model.Add(at[kind, stage, k] >= at[kind, stage, k - 1] + took[kind])
                last = at[kind, stage, self.count - 1] + took[kind]
                model.Add(last <= at[kind, stage, 0] + self.period)

    def add_rank(self, rank):
        """Places from the rank's first F on: no two ops at once, and never more held than there is room for."""
        model, at, took, period = self.model, self.at, self.took, self.period
        held = (rank, 2 * self.ranks - 1 - rank)
        ops = [(kind, stage, k) for stage in held for kind in "FIW" for k in range(self.count)]
        first = ops[0]
        place, turn = {first: 0}, {first: 0}
        spans = [model.NewFixedSizeIntervalVar(0, took["F"], "")]
        for op in ops[1:]:
            place[op] = model.NewIntVar(took["F"], period - took[op[0]], "")
            turn[op] = model.NewIntVar(-1, self.room + 2, "")
            model.Add(at[op] == at[first] + place[op] + period * turn[op])
            spans.append(model.NewFixedSizeIntervalVar(place[op], took[op[0]], ""))
        model.AddNoOverlap(spans)
        forwards = [op for op in ops if op[0] == "F"]
        weights = [op for op in ops if op[0] == "W"]
        turns = sum(turn[w] for w in weights) - sum(turn[f] for f in forwards)
        earlier = {}

        def before(a, b):
            if first in (a, b):
                return int(a == first)
            if (a, b) not in earlier:
                earlier[a, b] = model.NewBoolVar("")
                earlier[b, a] = 1 - earlier[a, b]
                model.Add(place[a] + took[a[0]] <= place[b]).OnlyEnforceIf(earlier[a, b])
                model.Add(place[b] + took[b[0]] <= place[a]).OnlyEnforceIf(earlier[a, b].Not())
            return earlier[a, b]

        for f in forwards:
            begun = 1 + sum(before(other, f) for other in forwards if other != f)
            model.Add(turns + begun - sum(before(w, f) for w in weights) <= self.room)
        # what follows from that, summed over a period
        stays = sum(at[w] + took["W"] for w in weights) - sum(at[f] for f in forwards)
        model.Add(stays <= self.room * period)

    def solve(self, seconds, threads):
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = threads
        return solver.StatusName(solver.Solve(self.model)).replace("OPTIMAL", "FEASIBLE")


def ask(pp, activations, times, count, period, seconds, threads):
    halves = [Fraction(one) / 2 for one in times.split(",")]
    ticks = math.lcm(*(half.denominator for half in halves))
    took = {kind: int(half * ticks) for kind, half in zip("FIW", halves)}
    began = time.monotonic()
    said = Unit(pp, 2 * activations, took, count, int(Fraction(period) * ticks)).solve(seconds, threads)
    passed = time.monotonic() - began
    what = f"PP {pp}, {activations} activations, F,I,W={times}: {count} micro-batches in {period} ms"
    print(f"{what}: {said} ({passed:.1f} s)", flush=True)
    return said


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pp", type=int, default=8)
    options.add_argument("--max-activations", type=int, default=4)
    options.add_argument("--times", default="1,1.6,0.85", help="F,I,W of a rank, ms")
    options.add_argument("--units", type=int, default=1, help="micro-batches that are repeated")
    options.add_argument("--period", help="of them together, ms")
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--check", action="store_true", help="ask what is known")
    o = options.parse_args()
    if not o.check:
        if o.period is None:
            options.error("--period is missing")
        ask(o.pp, o.max_activations, o.times, o.units, o.period, o.seconds, o.threads)
        return 0
    wrong = 0
    for pp, activations, times, none, one in KNOWN:
        for period, wanted in ((none, "INFEASIBLE"), (one, "FEASIBLE")):
            said = ask(pp, activations, times, 1, period, o.seconds, o.threads)
            wrong += said not in (wanted, "UNKNOWN")
    print(f"{'0' if wrong else '100'}%: Checks: {2 * len(KNOWN)}, Failures: {wrong}, Errors: 0")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
