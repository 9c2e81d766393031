#!/usr/bin/env python3
"""Gaps of `pipesim optimize` on instances drawn at random, for docs/optima.md.

    optima-drawn.py run SEED COUNT SECONDS FILE.csv [STEP]   a line for each of COUNT instances of SEED, every STEP-th;
                                                             those that are in the file are not run again
    optima-drawn.py run-mixed SEED COUNT SECONDS FILE.csv [STEP]   of others, that recompute, copy or cut
    optima-drawn.py table FILE.csv                           tables of docs/optima.md of what it holds

Seeds 1 and 3 are reported; what is tuned is tuned on seed 2. PIPESIM is the command that runs pipesim, of one or more words.
"""

import csv
import json
import math
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys

FIELDS = "seed instance seconds placement kind memory options step_ms bound_ms gap".split()
KINDS = [  # name, options, weight
    ("plain", "", 10),
    ("uneven", "", 4),
    ("queue", "--runtime pytorch-2.11", 4),
    ("pairs", "", 3),
    ("other runtime", "--runtime pytorch-2.15", 1),
    ("other runtime", "--runtime megatron", 1),
    ("full backwards", "--full-backward", 2),
]


def between(draw, low, high):
    """A whole number whose logarithm is uniform."""
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def instance(seed, number):
    """(placement, kind, memory over 1F1B's, options): the same of a number in every run."""
    draw = random.Random(seed * 1000003 + number)
    ranks, count = between(draw, 2, 16), between(draw, 4, 64)
    placement = draw.choices(["single", "v", "interleaved", "wave"], [9, 9, 1, 1])[0]
    kind, options, _ = draw.choices(KINDS, [weight for *_, weight in KINDS])[0]
    i, w = round(draw.uniform(0.6, 1.8), 2), round(draw.uniform(0.3, 1.2), 2)
    memory = draw.choice([0.5, 0.75, 1, 1.5, 2])
    if "megatron" in options:  # where it has schedules, which hold no less than 1F1B
        placement = {"v": "single", "wave": "interleaved"}.get(placement, placement)
        memory = max(memory, 1)
    halves = max(round(2 * memory * ranks), 2)
    in_bytes = draw.random() < 0.25
    times = f"F=1,I={i},W={w}"
    if kind == "pairs":
        times += f",FB={round(draw.uniform(0.75, 0.95) * (1 + i + w), 2)}"
    if kind in ("queue", "other runtime"):
        times += ",P2P=0.05"
    if kind == "uneven":
        first, last = round(draw.uniform(1.1, 1.8), 1), round(draw.uniform(1.1, 1.8), 1)
        options += f" --stage-scale 0={first},{ranks - 1}={last}"
    if in_bytes:  # an activation is 4 GB, of which I frees a share
        freed = draw.randint(0, 2)
        options += f" --activation-bytes {freed}GB+{4 - freed}GB --memory-limit {2 * halves}GB"
        options += f" --max-activations {2 * ranks}"
    else:
        options += f" --max-activations {halves / 2:g}"
    options = f"--pp {ranks} -m {count} --placement {placement} --times {times} {options}"
    return placement, kind, f"{memory:g}x{' bytes' if in_bytes else ''}", " ".join(options.split())


def mixed(seed, number):
    """The same of orders that recompute, copy or cut: what is spared stands as the kind."""
    draw = random.Random(f"mixed {seed} {number}")
    ranks, count = between(draw, 2, 8), between(draw, 4, 20)
    kind = draw.choice(["recomputed", "copied", "cut"])
    placement = "single" if kind == "cut" else draw.choice(["single", "single", "v", "interleaved"])
    memory = draw.choice([0.25, 0.5, 0.75])
    held = max(round(2 * memory * ranks), 2) / 2
    i, w = round(draw.uniform(0.6, 1.8), 2), round(draw.uniform(0.3, 1.2), 2)
    times = f"F=1,I={i},W={w}"
    chunks = 1 if placement == "single" else draw.randint(1, 2)
    if kind == "recomputed":
        options = f"--recompute-chunks {chunks}"
    elif kind == "copied":
        options = f"--offload-chunks {chunks}"
        times += f",COPY={round(draw.uniform(0.3, 1.2), 1)}"
    else:
        options = f"--slices {draw.choice([2, 4])}"
    options = f"--pp {ranks} -m {count} --placement {placement} --times {times} {options} --max-activations {held:g}"
    return placement, kind, f"{memory:g}x", options


def run(draw, seed, count, seconds, path, step):
    command = shlex.split(os.environ.get("PIPESIM", "pipesim"))
    there = set()
    if os.path.exists(path):
        with open(path, newline="") as file:
            there = {(r["seed"], r["instance"], r["seconds"]) for r in csv.DictReader(file)}
    for number in range(0, count, step):
        if (str(seed), str(number), str(seconds)) in there:
            continue
        placement, kind, memory, options = draw(seed, number)
        asked = ["optimize", *options.split(), "--time", f"{seconds}s", "--threads", "1", "--format", "json"]
        done = subprocess.run(command + asked, capture_output=True, text=True)
        if done.returncode == 2:  # nothing fits: said as such
            found = {"makespan_ms": "", "lower_bound_ms": "", "gap": ""}
        else:
            done.check_returncode()
            found = json.loads(done.stdout)
        with open(path, "a", newline="") as file:
            out = csv.writer(file)
            if file.tell() == 0:
                out.writerow(FIELDS)
            out.writerow(
                [seed, number, seconds, placement, kind, memory, options, found["makespan_ms"]]
                + [found["lower_bound_ms"], found["gap"]]
            )


def cells(rows):
    gaps = sorted(100 * float(r["gap"]) for r in rows)
    return (
        f"{len(gaps)} | {sum(g == 0 for g in gaps)} | {statistics.mean(gaps):.2f} | {statistics.median(gaps):.2f} | "
        f"{gaps[min(math.ceil(0.95 * len(gaps)), len(gaps)) - 1]:.2f} | {gaps[-1]:.2f}"
    )


def table(path):
    with open(path, newline="") as file:
        rows = [r for r in csv.DictReader(file)]
    rows = [r for r in rows if r["gap"] != ""]
    times = sorted({int(r["seconds"]) for r in rows})
    head = "instances | proven | mean, % | median, % | 95 %, % | worst, %"
    print(f"| search | {head} |\n|---|---|---|---|---|---|---|")
    of = {s: [r for r in rows if int(r["seconds"]) == s] for s in times}
    for s in times:
        print(f"| {s} s | {cells(of[s])} |")
    subsets = [s for s in times if len(of[s]) < max(map(len, of.values()))]
    for s in subsets:  # the others on the same instances
        same = {r["instance"] for r in of[s]}
        for t in times:
            if t != s:
                print(f"| {t} s, of the same {len(same)} | {cells([r for r in of[t] if r['instance'] in same])} |")
    longest = max(s for s in times if s not in subsets)
    for title, key in (
        ("placement and kind", lambda r: f"{r['placement']}, {r['kind']}"),
        ("placement and memory", lambda r: f"{r['placement']}, {r['memory']}"),
    ):
        print(f"\n| {title}, {longest} s | {head} |\n|---|---|---|---|---|---|---|")
        for name in sorted({key(r) for r in of[longest]}):
            print(f"| {name} | {cells([r for r in of[longest] if key(r) == name])} |")
    print(f"\n| the widest, {longest} s | found, ms | bound, ms | gap |\n|---|---|---|---|")
    for r in sorted(of[longest], key=lambda r: -float(r["gap"]))[:10]:
        print(f"| `{r['options']}` | {r['step_ms']} | {r['bound_ms']} | {100 * float(r['gap']):.2f} % |")


if __name__ == "__main__":
    if len(sys.argv) >= 6 and sys.argv[1] in ("run", "run-mixed"):
        seed, count, seconds = map(int, sys.argv[2:5])
        step = int(sys.argv[6]) if len(sys.argv) > 6 else 1
        run(instance if sys.argv[1] == "run" else mixed, seed, count, seconds, sys.argv[5], step)
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as others do before head
        table(sys.argv[2])
    else:
        sys.exit(__doc__)
