"""Searched orders beside schedules made by hand, measured and predicted: a table of docs/accuracy.md.

    gains.py table FOLDER [--effects TRACE]   prints it; FOLDER: as `pack` wrote it, such as traces/optimized-h200x2
    gains.py pack OUT FOLDER                  from what optimized.py wrote into OUT

Each order is predicted from the captures of FOLDER, made before the orders were searched: at sustained times, and with
what idle time and receives do according to TRACE. Needs no PyTorch.
"""

import argparse
import configparser
import csv
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../python"))

from pipesim import cells, memory  # noqa: E402

CUTS = (4, 2)
CLASS = "1F1B"  # PyTorch's own class, whose order is that of 1f1b
# Schedules made by hand with so much more memory than an order found are still compared with it.
SLACK = 1.01
EFFECTS = os.path.join(HERE, "../../traces/accuracy-h200x2/uneven-8192-4.csv.gz")


def read_ini(path):
    made = configparser.ConfigParser(interpolation=None)
    made.optionxform = str
    made.read(path, encoding="utf-8")
    return made


class Predictor:
    def __init__(self, program, folder, effects, scratch):
        self.program, self.folder, self.scratch = program, folder, scratch
        self.metadata, self.costs = {}, {}
        more = self.calibrate(effects, "effects")
        for cut in CUTS:
            trace = os.path.join(folder, f"uneven-{cut}.csv.gz")
            self.metadata[cut] = memory.metadata_of(trace)
            made = self.calibrate(trace, str(cut))
            made["times"]["P2P"] = read_ini(os.path.join(folder, "message.ini"))["message"]["ns"]
            for section in ("power", "residence"):
                made[section] = more[section]
            self.costs[cut] = os.path.join(scratch, f"costs-{cut}.ini")
            with open(self.costs[cut], "w", encoding="utf-8") as file:
                made.write(file, space_around_delimiters=False)

    def calibrate(self, trace, name):
        path = os.path.join(self.scratch, f"{name}.ini")
        command = [self.program, "calibrate", trace, "-o", path]
        subprocess.run(command, capture_output=True, check=True)
        return read_ini(path)

    def order(self, row):
        """A file of the schedule that @row ran."""
        name = row["schedule"]
        path = os.path.join(self.folder, f"{name}.csv")
        if not os.path.exists(path):
            path = os.path.join(self.scratch, f"{name}.csv")
            subprocess.run(
                [self.program, "export", "--schedule", name.lower(), "--pp", "2"]
                + ["--microbatches", row["microbatches"], "-o", path],
                capture_output=True, check=True,
            )  # fmt: skip
        return path

    def time(self, row, *options):
        """ms"""
        runtime = "single" if row["schedule"] == CLASS else "pytorch-2.11"
        said = subprocess.run(
            [self.program, "--pp", "2", "--microbatches", row["microbatches"], "--format", "json"]
            + ["--schedule", self.order(row), "--costs", self.costs[int(row["stages"])]]
            + ["--runtime", runtime, *options],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return json.loads(said.stdout)["schedules"][0]["makespan_ms"]

    def peak(self, row):
        rows = cells.read(self.order(row))
        return max(memory.peak_bytes(self.metadata[int(row["stages"])], rows))


def is_found(row):
    return row["schedule"].startswith("optimized-")


def read_rows(folder):
    with open(os.path.join(folder, "steps.csv"), encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["steps"] = [int(step) / 1e6 for step in row["step_ns"].split(";")]
        row["measured"] = statistics.median(row["steps"])
        row["peak"] = max(map(int, row["peak_bytes"].split(";")))
    return rows


def beside(row, rows):
    """The shortest made by hand of no more memory; where there is none, that of least memory."""
    hand = [one for one in rows if not is_found(one)]
    fits = [one for one in hand if one["peak"] <= SLACK * row["peak"]]
    if fits:
        return min(fits, key=lambda one: one["measured"])
    return min(hand, key=lambda one: (one["peak"], one["measured"]))


def gain(row, other, key):
    return f"{100 * (1 - row[key] / other[key]):.1f} %"


def print_table(rows):
    print(
        "| order | GiB | said | measured, ms | smallest - largest | shorter than | sustained | "
        "| idle time and receives | |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        gains, than = {"sustained": "", "both": ""}, ""
        if is_found(row):
            other = beside(row, rows)
            than = f"{other['schedule']}: **{gain(row, other, 'measured')}**"
            gains = {key: gain(row, other, key) for key in gains}
        shown = [
            row["schedule"], f"{row['peak'] / 2**30:.2f}", f"{row['said_peak'] / 2**30:.2f}",
            f"{row['measured']:.1f}", f"{min(row['steps']):.1f} - {max(row['steps']):.1f}", than, f"{row['sustained']:.1f}",
            gains["sustained"], f"{row['both']:.1f}", gains["both"],
        ]  # fmt: skip
        print("| " + " | ".join(shown) + " |")


def table(program, folder, effects):
    rows = read_rows(folder)
    with tempfile.TemporaryDirectory() as scratch:
        predictor = Predictor(program, folder, effects, scratch)
        for row in rows:
            row["sustained"] = predictor.time(row, "--power", "off")
            row["both"] = predictor.time(row)
            row["said_peak"] = predictor.peak(row)
    print_table(rows)
    losses = [row["losses"].split(";") for row in rows]
    count = int(rows[0]["microbatches"])
    same = 0
    while same < len(losses[0]) and len({loss[same] for loss in losses}) == 1:
        same += 1
    print(f"\nSteps of training whose losses are bit-equal in all orders: {same // count} of {len(losses[0]) // count}.")


def pack(out, folder):
    os.makedirs(folder, exist_ok=True)
    for cut in CUTS:
        with open(os.path.join(out, f"uneven-{cut}.csv"), "rb") as file:
            text = file.read()
        with open(os.path.join(folder, f"uneven-{cut}.csv.gz"), "wb") as file:
            file.write(gzip.compress(text, mtime=0))
        shutil.copy(os.path.join(out, f"uneven-{cut}.ini"), folder)
    costs = read_ini(os.path.join(out, "costs-4.ini"))
    with open(os.path.join(folder, "message.ini"), "w", encoding="ascii") as file:
        file.write(f"[message]\nns={costs['times']['P2P']}\n")
    with open(os.path.join(out, "plan.json"), encoding="ascii") as file:
        plan = json.load(file)
    stages = {one["name"]: one["stages"] for one in plan["by_hand"] + plan["searched"]} | {CLASS: 2}
    with open(os.path.join(out, "check.json"), encoding="ascii") as file:
        check = json.load(file)
    steps = {}
    with open(os.path.join(out, "runs.jsonl"), encoding="ascii") as file:
        for line in map(json.loads, file):
            steps.setdefault(line["schedule"], []).extend(line["step_ns"])
    with open(os.path.join(folder, "steps.csv"), "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["schedule", "microbatches", "stages", "step_ns", "peak_bytes", "losses"])
        for name, taken in steps.items():
            losses = [repr(loss) for step in check[name]["losses"] for loss in step]
            made = (taken, check[name]["peak_bytes"], losses)
            count = len(check[name]["losses"][0])
            writer.writerow([name, count, stages[name], *(";".join(map(str, m)) for m in made)])
            if name.startswith("optimized-"):
                shutil.copy(os.path.join(out, "orders", f"{name}.csv"), folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    commands = parser.add_subparsers(required=True, dest="command")
    one = commands.add_parser("table")
    one.add_argument("folder")
    one.add_argument("--effects", metavar="TRACE", default=EFFECTS)
    one = commands.add_parser("pack")
    one.add_argument("out")
    one.add_argument("folder")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.out, arguments.folder)
    else:
        table(arguments.pipesim, arguments.folder, arguments.effects)


if __name__ == "__main__":
    main()
