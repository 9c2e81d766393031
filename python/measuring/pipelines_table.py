"""What pipesim says of the pipelines that pipelines.py ran: before, and beside the measured steps.

    pipelines_table.py plan OUT               schedules and jobs.csv for pipelines.py
    pipelines_table.py search OUT             then, of what it captured, orders that pipesim finds for each model
    pipelines_table.py captures OUT FOLDER    what predicts, from OUT into FOLDER: captures, jobs, orders that were found
    pipelines_table.py predict FOLDER         predictions.csv of all jobs, from these alone
    pipelines_table.py steps OUT FOLDER       steps.csv
    pipelines_table.py table FOLDER           the table of docs/accuracy.md
    pipelines_table.py no-exchange FOLDER     the same without what loops with messages say of ranks that exchange them
    pipelines_table.py replays TRACE          steps that pipesim-microbench replayed on several GPUs

Predicted is as accuracy.py does it. Needs no PyTorch.
"""

import argparse
import concurrent.futures
import csv
import functools
import gzip
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import accuracy

from pipesim import cells, memory  # noqa: E402  # found by accuracy

CASES = ("even-2048", "head-2048", "recompute-2048", "experts-4096")
EIGHT = ("even-2048", "experts-4096")  # have captures of eight stages
SEARCHED = "searched"
CLASSES = {"1F1B": "single", "GPipe": "single", "DualPipeV": "pytorch-2.11"}
RANKS, PAUSE = 2, 700000  # ns between two steps of the loop, as accuracy-h200x2-d measured it
COLUMNS = ["case", "schedule", "chunks", "microbatches", "runtime", "communicators", "order"]
# In order of what one would not do without: micro-batches, schedules.
FIRST = (
    (8, ("1F1B", "1f1b", "interleaved-1f1b", "zb-v")),
    (8, ("GPipe", "looped-bfs", "zb-h1", "DualPipeV")),
    (8, (SEARCHED, "interleaved-zb", "v-half", "interleaved-1f1b/4", "interleaved-zb/4", "looped-bfs/4")),
    (4, ("1f1b", "interleaved-1f1b", "zb-v", "GPipe", "zb-h1", "DualPipeV")),
    (2, ("1F1B", "interleaved-1f1b", "zb-v", "zb-h1", "GPipe")),
    (8, ("v-min", "zb-h2", "gpipe")),
    (4, ("looped-bfs", "interleaved-zb", "v-half")),
    (2, ("looped-bfs", "interleaved-zb", "v-half", "v-min")),
)
# By the newer runtime, with each way of sharing.
SHARING = ("rank", "pair", "edge")
NEWER = ((8, ("interleaved-1f1b", "dualpipev", "zb-v", "looped-bfs")), (4, ("interleaved-1f1b", "1f1b")))
NEWER_CASES = ("even-2048", "head-2048")


def all_jobs():
    def job(case, name, count, runtime, sharing):
        name, _, chunks = name.partition("/")
        order = f"{name}-c{chunks or 2}-m{count}.csv"
        if name == SEARCHED:
            order = f"{name}-{case}-m{count}.csv"
        if name in CLASSES:
            order, runtime = name, CLASSES[name]
        return dict(zip(COLUMNS, (case, name, chunks or 2, count, runtime, sharing, order)))

    for count, names in FIRST:
        for case, name in itertools.product(CASES, names):
            if not name.endswith("/4") or case in EIGHT:
                yield job(case, name, count, "pytorch-2.11", "rank")
    for count, names in NEWER:
        for case, name, sharing in itertools.product(NEWER_CASES, names, SHARING):
            yield job(case, name, count, "pytorch-2.15", sharing)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def export(program, job, path, framework="pytorch"):
    chunks = ["--chunks", str(job["chunks"])] if str(job["chunks"]) != "2" else []
    run(program, "export", "--framework", framework, "-s", job["schedule"].lower(), "--pp", str(RANKS),
        *chunks, "-m", str(job["microbatches"]), "-o", path)  # fmt: skip


def plan(program, out):
    os.makedirs(os.path.join(out, "schedules"), exist_ok=True)
    with open(os.path.join(out, "jobs.csv"), "w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for job in all_jobs():
            writer.writerow(job)
            path = os.path.join(out, "schedules", job["order"])
            if path.endswith(".csv") and job["schedule"] != SEARCHED and not os.path.exists(path):
                export(program, job, path)


def search(program, out):
    """For each model the shortest order of either placement that holds no more than interleaved 1F1B does."""
    folder = os.path.join(out, "found")
    captures(out, folder)

    def one(case):
        with tempfile.TemporaryDirectory() as scratch:
            costs = os.path.join(scratch, "costs.ini")
            run(program, "calibrate", os.path.join(folder, f"{case}-4.csv.gz"), "-o", costs)
            shape = ("--pp", str(RANKS), "-m", "8", "--costs", costs, "--runtime", "pytorch-2.11")
            usual = json.loads(run(program, *shape, "-s", "interleaved-1f1b", "-f", "json"))["schedules"][0]
            most = max(usual["activations"]["peak_per_rank"])
            best = None
            for placement in ("v", "interleaved"):
                path = os.path.join(scratch, f"{placement}.csv")
                said = run(program, "optimize", *shape, "--placement", placement, "--max-activations",
                           f"{most:.2f}", "--moves", "200000", "-f", "json", "-o", path)  # fmt: skip
                ms = json.loads(said)["makespan_ms"]
                if best is None or ms < best[0]:
                    best = ms, path
            shutil.copy(best[1], os.path.join(out, "schedules", f"{SEARCHED}-{case}-m8.csv"))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(one, CASES))


def captures(out, folder):
    accuracy.pack_captures(out, folder)
    shutil.copy(os.path.join(out, "jobs.csv"), folder)
    schedules = os.path.join(out, "schedules")
    for name in os.listdir(schedules):
        if name.startswith(SEARCHED):
            shutil.copy(os.path.join(schedules, name), folder)


def simulate(captured, row, mode, pause):
    """ns"""
    name = row["schedule"].lower()
    if name == SEARCHED:
        name = os.path.join(captured.folder, row["order"])
    arguments = ["--pp", str(RANKS), "-m", row["microbatches"]]
    arguments += ["--chunks", row["chunks"]] if row["chunks"] != "2" else []
    if row["runtime"] == "pytorch-2.15":
        arguments += ["--communicators", row["communicators"]]
    if "power" in accuracy.MODES[mode]:
        arguments += ["--step-pause", f"{pause}ns"]
    costs = captured.costs(row["case"], stages_of(row), mode)
    said = run(captured.program, *arguments, "-s", name, "--costs", costs, "--runtime", row["runtime"],
               "--speed", captured.speeds(row["case"]), "-f", "json")  # fmt: skip
    return json.loads(said)["schedules"][0]["makespan_ms"] * 1e6


# Of one stage a rank; all others have two, or as many as the job says.
ONE_STAGE = ("1f1b", "gpipe", "zb-h1", "zb-h2")


def stages_of(row):
    return str(RANKS * (1 if row["schedule"].lower() in ONE_STAGE else int(row["chunks"])))


@functools.cache
def cells_of(program, name, chunks, count):
    """The order of a schedule made by hand."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "order.csv")
        export(program, {"schedule": name, "chunks": chunks, "microbatches": count}, path, "pipesim")
        return cells.read(path)


def compare_memory(captured, row):
    """Bytes by rank at most: (measured, or none where @row was not run, said), as accuracy.compare_memory()."""
    if row["schedule"] == SEARCHED:
        rows = cells.read(os.path.join(captured.folder, row["order"]))
    else:
        rows = cells_of(captured.program, row["schedule"], row["chunks"], row["microbatches"])
    metadata = captured.metadata(row["case"], stages_of(row))
    parameters = memory.Stages(metadata).parameters
    there = [0] * len(rows)
    for stage, rank in cells.placement(rows).items():
        there[rank] += parameters[stage]
    more = row["peak_bytes"].split(";") if row.get("peak_bytes") else []
    return [p + int(b) for p, b in zip(there, more)], memory.peak_bytes(metadata, rows)


def predict(program, folder):
    with open(os.path.join(folder, "jobs.csv"), encoding="ascii") as file:
        jobs = list(csv.DictReader(file))
    columns = [*COLUMNS, "neither_ns", "both_ns", "peak_bytes"]
    with tempfile.TemporaryDirectory() as scratch:
        captured = accuracy.Captures(program, folder, folder, 1, scratch)
        with open(os.path.join(folder, "predictions.csv"), "w", encoding="ascii", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            for job in jobs:
                if not os.path.exists(os.path.join(folder, f"{job['case']}-{stages_of(job)}.csv.gz")):
                    continue
                if job["schedule"] == SEARCHED and not os.path.exists(os.path.join(folder, job["order"])):
                    continue
                said = {f"{mode}_ns": round(simulate(captured, job, mode, PAUSE)) for mode in ("neither", "both")}
                peaks = ";".join(map(str, compare_memory(captured, job)[1]))
                writer.writerow({**job, **said, "peak_bytes": peaks})


def steps(out, folder):
    with open(os.path.join(out, "runs.jsonl"), encoding="ascii") as file:
        runs = [json.loads(line) for line in file]
    columns = [*COLUMNS, "step_ns", "pause_ns", "peak_bytes", "skipped"]
    with open(os.path.join(folder, "steps.csv"), "w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for one in runs:
            if "skipped" not in one:
                one["pause_ns"] = accuracy.pause_of(one)
                one["peak_bytes"] = ";".join(str(m["peak"] - m["before"]) for m in one["memory"])
                one["step_ns"] = ";".join(map(str, one["step_ns"]))
            writer.writerow(one)


def label(row):
    name = row["schedule"] + (f", {row['chunks']} chunks" if row["chunks"] != "2" else "")
    return name + (f", 2.15, {row['communicators']}" if row["runtime"] == "pytorch-2.15" else "")


class NoExchange(accuracy.Captures):
    """Captures without what loops with messages say of ranks that exchange them."""

    def _calibrate(self, *where):
        made = super()._calibrate(*where)
        if "power" in made:
            made["power"]["exchanging_ppm"] = "1000000"
        return made


def read_rows(program, folder, scratch, kind):
    captured = kind(program, folder, folder, 1, scratch)
    rows = accuracy.read_steps(folder)

    def complete(row):
        row["steps"] = [int(step) for step in row["step_ns"].split(";")]
        row["measured"] = statistics.median(row["steps"])
        row["said"] = {m: simulate(captured, row, m, row["pause_ns"]) for m in ("neither", "both")}
        row["off"] = {m: 100 * (said / row["measured"] - 1) for m, said in row["said"].items()}
        row["peaks"] = compare_memory(captured, row)

    for row in rows:
        complete(row)
    return sorted(rows, key=lambda row: (CASES.index(row["case"]), -int(row["microbatches"])))


def print_rows(rows):
    print("| model | micro-batches | schedule | measured, ms | smallest - largest | sustained times | predicted | "
          "| GiB, by rank | predicted |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        measured, said = (" ".join(f"{b / 2**30:.2f}" for b in peaks) for peaks in row["peaks"])
        print(
            f"| {row['case']} | {row['microbatches']} | {label(row)} | {row['measured'] / 1e6:.1f} | "
            f"{min(row['steps']) / 1e6:.1f} - {max(row['steps']) / 1e6:.1f} | {row['off']['neither']:+.1f} % | "
            f"{row['said']['both'] / 1e6:.1f} | {row['off']['both']:+.1f} % | {measured} | {said} |"
        )


def wrong_pairs(rows, apart):
    """(pairs of rows of a model and number of micro-batches that differ by more than @apart, those said the other way)"""
    pairs = wrong = 0
    for one, two in itertools.combinations(rows, 2):
        small, large = sorted((one, two), key=lambda row: row["measured"])
        alike = all(one[key] == two[key] for key in ("case", "microbatches"))
        if alike and large["measured"] > small["measured"] * (1 + apart):
            pairs += 1
            wrong += large["said"]["both"] <= small["said"]["both"]
    return pairs, wrong


def print_sums(rows):
    print("| | rows | sustained times: mean, largest | predicted: mean, largest | wrong order, of pairs 1 % apart | 2 % apart |")
    print("|---|---|---|---|---|---|")
    groups = [(case, [r for r in rows if r["case"] == case]) for case in CASES]
    groups += [(f"{m} micro-batches", [r for r in rows if r["microbatches"] == m]) for m in ("2", "4", "8")]
    groups += [("2.15's runtime", [r for r in rows if r["runtime"] == "pytorch-2.15"]), ("all", rows)]
    for name, chosen in groups:
        if not chosen:
            continue
        cells = []
        for mode in ("neither", "both"):
            errors = [abs(row["off"][mode]) for row in chosen]
            cells.append(f"{statistics.mean(errors):.2f} %, {max(errors):.1f} %")
        for apart in (0.01, 0.02):
            pairs, wrong = wrong_pairs(chosen, apart)
            cells.append(f"{wrong} of {pairs}")
        print(f"| {name} | {len(chosen)} | {' | '.join(cells)} |")
    said = []
    for name in ("2.11", "2.15"):
        chosen = [row for row in rows if (row["runtime"] == "pytorch-2.15") == (name == "2.15")]
        errors = [abs(100 * (s / m - 1)) for row in chosen for m, s in zip(*row["peaks"])]
        said.append(f"{len(errors)} ranks under {name}: off by {statistics.mean(errors):.2f} % in the mean, "
                    f"{max(errors):.1f} % at most")  # fmt: skip
    print(f"\nPeak memory of {'; of '.join(said)}.")


def table(program, folder, kind=accuracy.Captures):
    with tempfile.TemporaryDirectory() as scratch:
        rows = read_rows(program, folder, scratch, kind)
    print_rows(rows)
    print()
    print_sums(rows)


WARM_STEPS = 5  # of a replay


def replays(program, path):
    """Steps of the bundled layer, one in every stage, from the capture that the same run of pipesim-microbench begins with."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = [row for row in csv.DictReader(line for line in file if line[0] != "#") if row["series"] == "replay"]
    print("| schedule | stages of a rank | measured, ms | smallest - largest | simulated | |")
    print("|---|---|---|---|---|---|")
    errors = []
    for run_id, ops in itertools.groupby(rows, key=lambda row: row["run_id"]):
        name, ends, stages = run_id.removeprefix("replay/").rpartition("-pp")[0], {}, set()
        for op in ops:
            ends.setdefault(int(op["step"]), {})[op["rank"]] = int(op["t_start_ns"]) + int(op["dur_ns"])
            stages.add((op["rank"], op["stage"]))
        taken = [max(ends[step][r] - ends[step - 1][r] for r in ends[step]) / 1e6 for step in ends if step >= WARM_STEPS]
        measured, each = statistics.median(taken), len(stages) // len(ends[0])
        bidirectional = name in ("chimera", "dualpipe")
        said = run(program, "--pp", str(len(ends[0])), "-m", "8", "-s", name, "--trace", path, "-f", "json",
                   *([] if bidirectional else ["--layers", str(each)]))  # fmt: skip
        simulated = json.loads(said)["schedules"][0]["makespan_ms"]
        errors.append(abs(100 * (simulated / measured - 1)))
        print(f"| {name} | {each} | {measured:.1f} | {min(taken):.1f} - {max(taken):.1f} | {simulated:.1f} | "
              f"{100 * (simulated / measured - 1):+.1f} % |")  # fmt: skip
    print(f"\nReplays: off by {statistics.mean(errors):.2f} % in the mean, {max(errors):.1f} % at most.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    commands = parser.add_subparsers(required=True, dest="command")
    for name in ("plan", "search"):
        commands.add_parser(name).add_argument("out")
    for name in ("captures", "steps"):
        one = commands.add_parser(name)
        one.add_argument("out")
        one.add_argument("folder")
    for name in ("predict", "table", "no-exchange", "replays"):
        commands.add_parser(name).add_argument("folder")
    arguments = parser.parse_args()
    if arguments.command in ("captures", "steps"):
        globals()[arguments.command](arguments.out, arguments.folder)
    elif arguments.command == "no-exchange":
        table(arguments.pipesim, arguments.folder, NoExchange)
    else:
        place = arguments.out if arguments.command in ("plan", "search") else arguments.folder
        globals()[arguments.command](arguments.pipesim, place)


if __name__ == "__main__":
    sys.exit(main())
