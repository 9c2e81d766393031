#!/usr/bin/env python3
"""Plans of drawn models, GPUs and options, each row beside its own command.

    check-plans.py [--seed N] [--seconds N] [--models FOLDER]

A row's command must run and have the row's step and bytes; it fits if these and the reserve are within the memory; a plan of a
part of what another searches has no first row that is shorter by more than 1 %; and what is written for Megatron-LM and
torchtitan, read again, has the step and bytes of their rows. Seeds draw other plans; --models has more configurations
(config.json). --seconds is processor time of all.
"""

import argparse
import csv
import io
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PIPESIM = os.environ.get("PIPESIM", "pipesim")
SHIPPED = ["llama-3-8b", "llama-3-70b", "mixtral-8x7b", "mixtral-8x7b", "deepseek-v3", "gpt-3-175b", "qwen2.5-vl-7b"]
FRAMEWORKS = ["megatron", "torchtitan", "any"]
# Options, how often each is given, and what it may be; of models with experts alone where it says so.
OPTIONS = [
    ("--device", 0.7, ["h100", "h200", "b200", "gb200", "mi300x", "a100", "h800", "mi355x"], False),
    ("--seq", 0.3, [2048, 8192, 16384], False),
    ("--framework", 0.6, FRAMEWORKS, False),
    ("--memory", 0.3, ["40GiB", "80GiB", "141GB", "300GiB"], False),
    ("--precision", 0.25, ["fp8", "fp8-block", "fp8-cs", "fp16"], False),
    ("--recompute", 0.1, ["none", "full", "first=2"], False),
    ("--optimizer", 0.1, ["adam-bf16", "sgd"], False),
    ("--zero", 0.1, [0, 1, 2, 3, "fsdp"], False),
    ("--tp", 0.1, [1, 2, 4, 8], False),
    ("--pp", 0.1, [1, 2, 4, 8], False),
    ("--cp", 0.08, [1, 2, 4], False),
    ("--microbatch-size", 0.08, [1, 2, 4], False),
    ("--chunks", 0.05, [2, 4], False),
    ("-s", 0.06, ["1f1b", "zb-h1,1f1b", "1f1b,interleaved-1f1b", "zb-v,v-half", "dualpipev", "gpipe"], False),
    ("--runtime", 0.05, ["async", "pytorch-2.11", "pytorch-2.15", "megatron"], False),
    ("--modules", 0.05, ["pytorch", "torchtitan", "torchtitan-compiled", "megatron", "megatron-next", "deepseek"], False),
    ("--node-bandwidth", 0.06, ["12.5GB/s", "100GB/s"], False),
    ("--dp-bandwidth", 0.05, ["30GB/s"], False),
    ("--gpus-per-node", 0.05, [4, 8], False),
    ("--reserve", 0.06, ["0", "8GiB"], False),
    ("--time-factors", 0.05, ["1.1,1.5"], False),
    ("--cp-comm", 0.04, ["a2a"], False),
    ("--dispatcher", 0.2, ["alltoall", "deepep", "hybridep"], True),
    ("--graphs", 0.15, ["layers", "step"], True),
    ("--ep", 0.1, [1, 4, 8], True),
    ("--expert-imbalance", 0.08, [1.2], True),
]
FLAGS = [("--cuda-graph", 0.15), ("--overlap-grad-reduce", 0.12), ("--tp-overlap", 0.1), ("--post-validation", 0.08), ("--sequence-parallel", 0.04)]


def draw(rng, models):
    name = rng.choice(models)
    experts = any(word in name for word in ("mixtral", "deepseek", "qwen3", "gpt-oss", "kimi", "moonlight"))
    gpus = 8 * rng.choice([1, 1, 2, 2, 3, 4, 8])
    words = ["--model", name, "--gpus", gpus, "--global-batch", gpus * rng.choice([1, 2, 4, 8])]
    for option, share, values, sparse in OPTIONS:
        if rng.random() < share and (experts or not sparse):
            words += [option, rng.choice(values)]
    for flag, share in FLAGS + ([("--ep-overlap", 0.2)] if experts else []):
        if rng.random() < share:
            words.append(flag)
    if "-vl-" in name:
        words += ["--image-patches", rng.choice([1024, 4096])]
    return [str(word) for word in words]


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def plan(words):
    """As JSON; None where it is refused, or nothing fits."""
    status, out, error = run([PIPESIM, "plan", *words, "--format", "json"])
    if status not in (0, 1, 2, 3):
        raise SystemExit(f"exit status {status}: {error.strip()}: plan {' '.join(words)}")
    return json.loads(out) if status == 0 else None


def faults_of_row(row, fits, memory):
    status, out, error = run(["sh", "-c", row["command"].replace("pipesim", PIPESIM, 1) + " --format csv"])
    if status not in (0, 1):
        yield f"does not run: {error.strip()}"
        return
    figures = list(csv.DictReader(io.StringIO(out)))[-1]
    step, held = figures["step_ms"], int(figures["memory_peak_bytes"])
    if float(step) != float(row["step_ms"]) or held != row["peak_bytes"]:
        yield f"has {row['step_ms']} ms and {row['peak_bytes']} bytes, not {step} and {held}"
    if (row["peak_bytes"] + row["reserve_bytes"] <= memory) != fits:
        yield f"needs {row['peak_bytes']} + {row['reserve_bytes']} of {memory} bytes"


def part_of(rng, words, row):
    """The same plan, of less: sizes beside those of @row, for who has it."""
    less = [w for i, w in enumerate(words) if w != "--framework" and (i == 0 or words[i - 1] != "--framework")]
    less += ["--framework", row["for"]]
    for option, key in (("--tp", "tp"), ("--pp", "pp"), ("--cp", "cp"), ("--microbatch-size", "microbatch_size")):
        if option not in words and rng.random() < 0.6:
            less += [option, str(rng.choice([row[key], 2 * row[key], max(row[key] // 2, 1)]))]
    return less


# Options of a command that a file for a framework says, too.
SIZES = "--pp -m -s --layout --microbatch-size --tp --dp --cp --ep --expert-tp --sequence-parallel --recompute --zero --seq".split()
WORDS = "--optimizer --precision --cuda-graph --graphs --dispatcher --tp-overlap --ep-overlap --overlap-grad-reduce --cp-comm --runtime".split()
NAMED = ("1f1b", "interleaved-1f1b", "zb-v")


def less_options(command, said):
    """The words of a command without its name and options that @said has."""
    words, kept = shlex.split(command)[1:], []
    while words:
        value = 1 if len(words) > 1 and not words[1].startswith("-") else 0
        if words[0] not in said:
            kept += words[: 1 + value]
        words = words[1 + value :]
    return kept


def faults_of_files(words, found):
    """What is written for frameworks beside their first rows."""
    with tempfile.TemporaryDirectory() as folder:
        run([PIPESIM, "plan", *words, "-o", folder])
        for framework, name in (("megatron", "megatron.txt"), ("torchtitan", "torchtitan.toml")):
            row = next((row for row in found["best"] if row["for"] == framework), None)
            path = Path(folder, name)
            if row is None or not path.exists() or "-vl-" in row["command"] or row["dp"] * row["cp"] == 1:
                continue
            if re.search("^# (torchtitan|Megatron-LM|without) ", path.read_text(), re.M):  # what is not as planned
                continue
            if framework == "megatron":
                path.write_text(f"torchrun --nnodes {found['gpus'] // 8} --nproc-per-node 8 x.py {path.read_text()}")
            command = less_options(row["command"], SIZES + (WORDS if framework == "megatron" else []))
            if framework == "torchtitan" and row["schedule"].split(":")[0] not in NAMED:
                command += ["-s", f"{folder}/schedule.csv"]
            status, out, error = run([PIPESIM, f"--from-{framework}", str(path), *command, "-f", "csv"])
            figures = list(csv.DictReader(io.StringIO(out)))[-1] if status in (0, 1) else {"step_ms": "0", "memory_peak_bytes": "0"}
            if (figures["step_ms"], figures["memory_peak_bytes"]) != (f"{row['step_ms']}", f"{row['peak_bytes']}"):
                yield (
                    f"{name} has {figures['step_ms']} ms and {figures['memory_peak_bytes']} bytes, "
                    f"not {row['step_ms']} and {row['peak_bytes']}: {row['command']}\n{error}"
                )


def check(rng, words):
    """How many rows it has, and what is wrong."""
    found, faults = plan(words), []
    if found is None:
        return 0, faults
    rows = [(row, kind == "best") for kind in ("best", "near_misses") for row in found[kind]]
    for row, fits in rows:
        faults += [f"{fault}: {row['command']}" for fault in faults_of_row(row, fits, found["memory_bytes"])]
    if rng.random() < 0.5:
        faults += faults_of_files(words, found)
    if found["best"] and rng.random() < 0.5:
        row = rng.choice(found["best"])
        first = next(one for one in found["best"] if one["for"] == row["for"])
        less = part_of(rng, words, row)
        part = plan(less)
        if part and float(part["best"][0]["step_ms"]) < 0.99 * float(first["step_ms"]):
            faults.append(f"{first['step_ms']} ms, but {part['best'][0]['step_ms']} of a part: plan {' '.join(less)}")
    return len(rows), faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--models", type=Path)
    asked = parser.parse_args()
    models = SHIPPED + ([str(path) for path in sorted(asked.models.glob("*.json"))] if asked.models else [])
    rng = random.Random(asked.seed)
    plans = rows = wrong = 0
    while sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) < asked.seconds:
        words = draw(rng, models)
        n, faults = check(rng, words)
        plans, rows, wrong = plans + 1, rows + n, wrong + len(faults)
        for fault in faults:
            print(f"{fault}\n  of: plan {' '.join(words)}", flush=True)
    print(f"{plans} plans with {rows} rows, {wrong} faults")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
