"""Real steps beside what pipesim says of them from captures made before: the table of docs/accuracy.md.

    accuracy.py table FOLDER        prints it; FOLDER: as `pack` wrote it, such as traces/accuracy-h200x2
    accuracy.py replays TRACE...    ranks that pipesim-microbench replayed on one GPU
    accuracy.py peaks FOLDER...     peaks of memory, measured and by the formulae of --model: docs/memory.md
    accuracy.py pack OUT FOLDER     from what steps.py wrote into OUT

Every step is predicted from the capture alone: calibrate, then simulate the order with the rules of the
runtime that ran it, at the speed that the capture found of each GPU. Four times: without the effects of idle time
and of receives that wait, with each alone, with both. Needs no PyTorch.
"""

import argparse
import configparser
import copy
import csv
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../../traces/accuracy-h200x2")
sys.path.insert(0, os.path.join(HERE, "../../python"))

from pipesim import cells, memory  # noqa: E402

MODES = {"neither": (), "idle": ("power",), "receives": ("residence",), "both": ("power", "residence")}
# How the models of traces/accuracy-h200x2/NAME-model.ini are trained in steps.py.
TRAINING = {
    "even-4096": ("--seq", "4096"),
    "uneven-8192": ("--seq", "8192"),
    "short-1024": ("--seq", "1024", "--microbatch-size", "2"),
    "recompute-2048": ("--seq", "2048", "--microbatch-size", "2", "--recompute", "full"),
}
OFTEN_ENOUGH = 0.01  # an order of two schedules counts where they differ by more


def pack_captures(out, folder):
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(out, "captures.zip")) as packed:
        for name in packed.namelist():
            data = packed.read(name)
            if name.endswith(".csv"):
                name, data = f"{name}.gz", gzip.compress(data, 9, mtime=0)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)


def pack(out, folder):
    pack_captures(out, folder)
    with open(os.path.join(out, "runs.jsonl"), encoding="ascii") as file:
        runs = [json.loads(line) for line in file]
    before = {}  # the same stages go on with the next pause: gradients are there then
    with open(os.path.join(folder, "steps.csv"), "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["case", "schedule", "ranks", "microbatches", "stages", "step_ns", "pause_ns", "peak_bytes"]
        )
        for run in runs:
            if "skipped" in run:
                writer.writerow([run["case"], run["schedule"], *5 * [""], run["skipped"]])
                continue
            at = before.setdefault((run["case"], run["schedule"]), [m["before"] for m in run["memory"]])
            peaks = [str(memory["peak"] - b) for memory, b in zip(run["memory"], at)]
            writer.writerow(
                [run["case"], run["schedule"], len(run["memory"]), run["microbatches"], run["stages"]]
                + [";".join(map(str, run["step_ns"])), pause_of(run), ";".join(peaks)]
            )


    pack_idle(out, folder)


def pack_idle(out, folder):
    """idle.csv: of each rank by itself what its ops took in each step, and its idle time in the mean."""
    took, whole = {}, {}
    with gzip.open(os.path.join(out, "spans.csv.gz"), "rt", encoding="ascii") as file:
        for case, what, step, _, _, _, _, start, ns, *_ in csv.reader(file):
            if what.startswith("idle-") and int(step) >= 0:
                key, at = (case, what.removeprefix("idle-")), int(step)
                took.setdefault(key, {}).setdefault(at, []).append(int(ns))
                begin, _ = whole.get(key, (int(start), 0))
                whole[key] = begin, int(start) + int(ns)
    if not took:
        return
    with open(os.path.join(folder, "idle.csv"), "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "schedule", "ranks", "rank", "microbatches", "ops_ns", "idle_ns"])
        for (case, what), steps in took.items():
            begin, end = whole[case, what]
            ops = [sum(times) for _, times in sorted(steps.items())]
            # The pause before the first step that counts is not seen.
            idle = (end - begin - sum(ops)) / (len(ops) - 1)
            count = sum(1 for _ in steps[0]) // (3 if what.startswith("zb") else 2)
            writer.writerow([case, what, 4, 1, count, ";".join(map(str, ops)), round(idle)])


def pause_of(run):
    """ns that the GPUs of a run had nothing to do between two steps, median."""
    begins = zip(run["began_ns"], run["began_ns"][1:], run["step_ns"])
    return round(statistics.median(behind - begin - step for begin, behind, step in begins))


def read_steps(folder):
    with open(os.path.join(folder, "steps.csv"), encoding="ascii") as file:
        return [row for row in csv.DictReader(file) if row["step_ns"]]


def read_ini(text):
    config = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    config.optionxform = str
    config.read_string(text)
    return config


class Captures:
    """Costs from the captures of a folder: of each case and number of stages, for each mode. What idle time
    and receives do is taken from the captures of @effects, of the same models."""

    def __init__(self, program, folder, effects, stretch, scratch):
        self.program, self.folder, self.effects, self.scratch = program, folder, effects, scratch
        self.stretch = stretch
        self._made, self._calibrated = {}, {}

    def _calibrate(self, folder, case, stages):
        """Once for all modes: copy what is changed."""
        key = folder, case, stages
        if key not in self._calibrated:
            path = os.path.join(self.scratch, "costs.ini")
            trace = os.path.join(folder, f"{case}-{stages}.csv.gz")
            command = [self.program, "calibrate", trace, "-o", path]
            subprocess.run(command, capture_output=True, check=True)
            with open(path, encoding="utf-8") as file:
                self._calibrated[key] = read_ini(file.read())
        return self._calibrated[key]

    def costs(self, case, stages, mode):
        """A costs file; histories and messages are in captures of four stages alone."""
        key = case, stages, mode
        if key not in self._made:
            made = copy.deepcopy(self._calibrate(self.folder, case, stages))
            whole = self._calibrate(self.effects, case, "4")
            made["times"]["P2P"] = whole["times"]["P2P"]
            times = made["stage-times"]
            for kind in times if self.stretch != 1 else ():
                parts = (str(round(int(ns) * self.stretch)) for ns in times[kind].split(";"))
                times[kind] = ";".join(parts)
            for name in ("power", "residence", "step"):
                made.remove_section(name)
                if name in (*MODES[mode], "step") and name in whole:
                    made[name] = whole[name]
            number = len(self._made)
            path = os.path.join(self.scratch, f"costs-{number}.ini")
            with open(path, "w", encoding="utf-8") as file:
                made.write(file, space_around_delimiters=False)
            self._made[key] = path
        return self._made[key]

    def metadata(self, case, stages):
        return memory.metadata_of(os.path.join(self.folder, f"{case}-{stages}.csv.gz"))

    def speeds(self, case):
        """For --speed: 0=1.01,1=0.99"""
        ppm = self.metadata(case, 4)["rank_relative_ppm"]
        return ",".join(f"{r}={1e6 / int(p):.6f}" for r, p in enumerate(ppm.split(";")))


def shape_of(row):
    """Arguments for the ranks of a run and the stages on each."""
    ranks = row.get("ranks") or "2"
    chunks = int(row["stages"]) // int(ranks)
    return ["--pp", ranks, *(["--chunks", str(chunks)] if ranks == "1" else [])]


def label(row):
    """A schedule as tables call it: on one GPU with the pause before each step."""
    if row.get("ranks") != "1":
        return row["schedule"]
    return f"{row['schedule']}, {int(row['pause_ns']) / 1e6:.0f} ms"


def simulate(captures, row, mode):
    """ns"""
    name, runtime = row["schedule"].lower(), "pytorch-2.11"
    if row["schedule"] in ("1F1B", "GPipe"):
        runtime = "single"  # PyTorch's own classes of one stage a rank
    pause = []
    if row.get("pause_ns") and "power" in MODES[mode]:
        pause = ["--step-pause", f"{row['pause_ns']}ns"]
    costs = captures.costs(row["case"], row["stages"], mode)
    said = subprocess.run(
        [captures.program, *shape_of(row), "--microbatches", row["microbatches"], "--schedule", name]
        + ["--costs", costs, "--runtime", runtime, "--speed", captures.speeds(row["case"])]
        + ["--format", "json", *pause],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout)["schedules"][0]["makespan_ms"] * 1e6


def compare_memory(captures, row):
    """Bytes by rank at most: (measured, said), parameters included, inputs and targets not."""
    order = os.path.join(captures.scratch, "order.csv")
    subprocess.run(
        [captures.program, "export", "--schedule", row["schedule"].lower(), *shape_of(row)]
        + ["--microbatches", row["microbatches"], "-o", order],
        capture_output=True,
        check=True,
    )
    rows, metadata = cells.read(order), captures.metadata(row["case"], row["stages"])
    parameters = memory.Stages(metadata).parameters
    there = [0] * len(rows)
    for stage, rank in cells.placement(rows).items():
        there[rank] += parameters[stage]
    measured = [p + int(more) for p, more in zip(there, row["peak_bytes"].split(";"))]
    return measured, memory.peak_bytes(metadata, rows)


def misordered(rows, mode):
    """(pairs of schedules of a case that differ by more than 1 %, those that pipesim has the other way)"""
    pairs = wrong = 0
    for one, two in itertools.combinations(rows, 2):
        if one["schedule"] == two["schedule"] or pause_ms(one) != pause_ms(two):
            continue
        small, large = sorted((one, two), key=lambda row: row["measured"])
        if one["case"] != two["case"] or large["measured"] <= small["measured"] * (1 + OFTEN_ENOUGH):
            continue
        pairs += 1
        wrong += large["said"][mode] <= small["said"][mode]
    return pairs, wrong


def pause_ms(row):
    """To the next ten."""
    return round(int(row.get("pause_ns") or 0) / 1e7)


def simulate_idle(captures, row, mode):
    """(ns of the ops of a rank, ns without any): all stages like the second, which runs there by itself."""
    path = captures.costs(row["case"], "4", mode)
    with open(path, encoding="utf-8") as file:
        made = read_ini(file.read())
    times = made["stage-times"]
    for kind in times:
        times[kind] = ";".join(4 * [times[kind].split(";")[1]])
    for name in ("residence", "step"):
        made.remove_section(name)
    if "power" in made:
        made["power"]["exchanging_ppm"] = "1000000"  # no messages
    path = os.path.join(captures.scratch, "idle.ini")
    with open(path, "w", encoding="utf-8") as file:
        made.write(file, space_around_delimiters=False)
    said = subprocess.run(
        [captures.program, "--pp", row["ranks"], "--microbatches", row["microbatches"]]
        + ["--schedule", row["schedule"], "--costs", path, "--times", "P2P=0", "--format", "ops"],
        capture_output=True,
        text=True,
        check=True,
    )
    ops = list(csv.DictReader(said.stdout.splitlines()))
    took = sum(int(op["dur_ns"]) for op in ops if op["rank"] == row["rank"])
    return took, max(int(op["start_ns"]) + int(op["dur_ns"]) for op in ops) - took


def print_idle(captures, folder):
    """Ranks by themselves."""
    path = os.path.join(folder, "idle.csv")
    if not os.path.exists(path):
        return
    print("\n| model | rank 1 of 4 | idle, ms | simulated | ops, ms | smallest - largest | sustained | idle time | |")
    print("|---|---|---|---|---|---|---|---|---|")
    errors = {"neither": [], "idle": []}
    with open(path, encoding="ascii") as file:
        for row in csv.DictReader(file):
            steps = [int(step) for step in row["ops_ns"].split(";")]
            measured = statistics.median(steps)
            said = {mode: simulate_idle(captures, row, mode) for mode in errors}
            off = {mode: 100 * (took / measured - 1) for mode, (took, _) in said.items()}
            for mode, values in errors.items():
                values.append(abs(off[mode]))
            print(
                f"| {row['case']} | {row['schedule']} | {int(row['idle_ns']) / 1e6:.1f} | "
                f"{said['idle'][1] / 1e6:.1f} | {measured / 1e6:.1f} | {min(steps) / 1e6:.1f} - "
                f"{max(steps) / 1e6:.1f} | {off['neither']:+.1f} % | {said['idle'][0] / 1e6:.1f} | "
                f"{off['idle']:+.1f} % |"
            )
    print(
        "\nRanks by themselves, mean and largest: "
        + ", ".join(
            f"{name} {statistics.mean(errors[mode]):.2f} % and {max(errors[mode]):.1f} %"
            for mode, name in (("neither", "sustained times"), ("idle", "with idle time"))
        )
        + "."
    )


def replays(program, paths):
    """Ranks of pipelines by themselves, in steps that pipesim-microbench replayed: what their ops take."""
    print("| GPU | rank 1 of 4 | ops, ms | smallest - largest | sustained | idle time | |")
    print("|---|---|---|---|---|---|---|")
    for path in paths:
        with gzip.open(path, "rt", encoding="ascii") as file:
            lines = file.read().splitlines()
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        device = next(line for line in lines if line.startswith("#device_name")).split(",")[1]
        steps = {}
        for row in rows:
            if row["series"] == "replay" and int(row["step"]) >= 0:
                name = row["run_id"].removeprefix("replay/").removesuffix("-pp4-rank1")
                steps.setdefault(name, {}).setdefault(row["step"], []).append(int(row["dur_ns"]))
        for name, taken in steps.items():
            ops = [sum(times) for times in taken.values()]
            measured = statistics.median(ops)
            said = [simulate_replay(program, path, name, power) for power in ("off", "measured")]
            off = [100 * (took / measured - 1) for took in said]
            print(
                f"| {device} | {name} | {measured / 1e6:.1f} | {min(ops) / 1e6:.1f} - {max(ops) / 1e6:.1f} | "
                f"{off[0]:+.1f} % | {said[1] / 1e6:.1f} | {off[1]:+.1f} % |"
            )


def simulate_replay(program, path, name, power):
    said = subprocess.run(
        [program, "--pp", "4", "-m", "8", "--schedule", name, "--trace", path]
        + ["--times", "P2P=0.159", "--power", power, "--format", "ops"],
        capture_output=True,
        text=True,
        check=True,
    )
    ops = csv.DictReader(said.stdout.splitlines())
    return sum(int(op["dur_ns"]) for op in ops if op["rank"] == "1")


def print_table(rows):
    print(
        "| model | schedule | measured, ms | smallest - largest | neither | idle time | receives "
        "| both | | GiB, by rank | predicted |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        off = " | ".join(f"{row['off'][mode]:+.1f} %" for mode in list(MODES)[:-1])
        measured, said = (" ".join(f"{b / 2**30:.2f}" for b in peaks) for peaks in row["peaks"])
        print(
            f"| {row['case']} | {label(row)} | {row['measured'] / 1e6:.1f} | "
            f"{min(row['steps']) / 1e6:.1f} - {max(row['steps']) / 1e6:.1f} | {off} | "
            f"{row['said']['both'] / 1e6:.1f} | {row['off']['both']:+.1f} % | {measured} | {said} |"
        )


def print_sums(rows):
    print("| error | " + " | ".join(["neither", "idle time alone", "receives alone", "both"]) + " |")
    print("|---|---|---|---|---|")
    cases = list(dict.fromkeys(row["case"] for row in rows))
    for name, chosen in [*((c, [r for r in rows if r["case"] == c]) for c in cases), ("all", rows)]:
        cells = []
        for mode in MODES:
            errors = [abs(row["off"][mode]) for row in chosen]
            cells.append(f"{statistics.mean(errors):.2f} %, {max(errors):.1f} %")
        print(f"| {name}: mean, largest | " + " | ".join(cells) + " |")
    cells = []
    for mode in MODES:
        pairs, wrong = misordered(rows, mode)
        cells.append(f"{wrong} of {pairs}")
    print("| pairs in the wrong order | " + " | ".join(cells) + " |")
    errors = [abs(100 * (s / m - 1)) for row in rows for m, s in zip(*row["peaks"])]
    print()
    print(
        f"Peak memory of {len(errors)} ranks: off by {statistics.mean(errors):.2f} % in the mean, "
        f"{max(errors):.1f} % at most."
    )


def table(program, folder, effects, stretch):
    rows = read_steps(folder)
    order = list(dict.fromkeys(row["case"] for row in rows))
    rows.sort(key=lambda row: order.index(row["case"]))
    with tempfile.TemporaryDirectory() as scratch:
        captures = Captures(program, folder, effects, stretch, scratch)
        for row in rows:
            row["steps"] = [int(step) for step in row["step_ns"].split(";")]
            row["measured"] = statistics.median(row["steps"])
            row["said"] = {mode: simulate(captures, row, mode) for mode in MODES}
            row["off"] = {m: 100 * (said / row["measured"] - 1) for m, said in row["said"].items()}
            row["peaks"] = compare_memory(captures, row)
        print_table(rows)
        print()
        print_sums(rows)
        print_idle(captures, folder)


def count_peaks(program, row):
    """What `pipesim model` says of a run: its ranks."""
    name, runtime = row["schedule"], "pytorch-2.11"
    if name in ("1F1B", "GPipe"):
        runtime = "single"
    said = subprocess.run(
        [program, "model", os.path.join(MODELS, f"{row['case']}-model.ini"), *TRAINING[row["case"]]]
        + ["--modules", "pytorch", "--optimizer", "sgd", "--workspace", "0", "--pp", "2"]
        + ["--microbatches", row["microbatches"], "--schedule", name.lower()]
        + ["--runtime", runtime, "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout)["stages"]


def peaks(program, folders):
    print("| run | model | schedule | measured, GB, by rank | counted | error, % |")
    print("|---|---|---|---|---|---|")
    errors = []
    for number, folder in enumerate(folders, 1):
        for row in read_steps(folder):
            ranks = count_peaks(program, row)
            more = map(int, row["peak_bytes"].split(";"))
            measured = [r["parameter_bytes"] + m for r, m in zip(ranks, more)]
            off = [100 * (r["peak_bytes"] / m - 1) for r, m in zip(ranks, measured)]
            errors += map(abs, off)
            one = " ".join(f"{m / 1e9:.3f}" for m in measured)
            two = " ".join(f"{r['peak_bytes'] / 1e9:.3f}" for r in ranks)
            both = " ".join(f"{o:+.2f}" for o in off)
            print(f"| {number} | {row['case']} | {row['schedule']} | {one} | {two} | {both} |")
    print(f"\n{len(errors)} ranks: off by {statistics.mean(errors):.2f} % in the mean, "
          f"{max(errors):.2f} % at most.")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    commands = parser.add_subparsers(required=True, dest="command")
    one = commands.add_parser("table")
    one.add_argument("folder")
    one.add_argument("--effects", metavar="FOLDER", help="of captures that have the series")
    one.add_argument("--stretch", type=float, default=1, help="multiplies all captured times")
    one = commands.add_parser("replays")
    one.add_argument("traces", nargs="+")
    one = commands.add_parser("peaks")
    one.add_argument("folders", nargs="+")
    one = commands.add_parser("pack")
    one.add_argument("out")
    one.add_argument("folder")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.out, arguments.folder)
    elif arguments.command == "replays":
        replays(arguments.pipesim, arguments.traces)
    elif arguments.command == "peaks":
        peaks(arguments.pipesim, arguments.folders)
    else:
        effects = arguments.effects or arguments.folder
        table(arguments.pipesim, arguments.folder, effects, arguments.stretch)


if __name__ == "__main__":
    main()
