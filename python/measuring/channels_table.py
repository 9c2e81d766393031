"""Steps that channels.py measured beside what pipesim says of them: the table of docs/runtimes.md.

    channels_table.py table FOLDER           prints it; FOLDER: as `pack` wrote it, such as traces/channels-h200x2
    channels_table.py pack FOLDER OUT...     from what channels.py wrote into each OUT

What is to be shown are the runtimes' rules: which message waits for which. So the ops of a row take what they took in the
measured step itself, the one of median length, and what the first rank spends outside of its ops is added. A message
takes what it took between idle chips; or what fits the steps of PyTorch 2.11 best, which says nothing yet of the rows of 2.15; or,
where they were timed, what the messages of a step took in the mean. Beside it, from the capture alone. Needs no PyTorch.
"""

import argparse
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

FIELDS = (
    "runtime,channels,defer_recv,schedule,ranks,microbatches,stages,message_ns,moved_ns,step_ns,outside_ns,peak_bytes"
).split(",")
OPS = ("run", "stage", "phase", "microbatch", "dur_ns")
FIRST = "pytorch-2.11"  # whose steps a message's time is taken from
GRID = [ms / 10 for ms in range(10, 17)]


def lines(out):
    with open(os.path.join(out, "runs.jsonl"), encoding="ascii") as file:
        return [json.loads(line) for line in file]


def middle(steps):
    """The number of the step of median length."""
    return sorted(range(len(steps)), key=steps.__getitem__)[len(steps) // 2]


def outside(run, step):
    """ns of a step on the first rank before its first op and behind its last."""
    first, *_, last = run["ops"][0][step]
    return run["rank_step_ns"][0][step] - (last[3] + last[4] - first[3])


def moved(run):
    """ns of a step's messages in the mean, each by the end that did not wait; None where they were not timed."""
    ends = {}
    for me, messages in enumerate(run.get("messages", [])):
        for sent, peer, ns in messages:
            edge = (me, peer) if sent else (peer, me)
            ends.setdefault(edge, ([], []))[sent].append(ns)
    took = [min(pair) for received, sent in ends.values() for pair in zip(received, sent, strict=True)]
    return round(statistics.mean(took)) if took else None


def check_alike(runs):
    """Every run has computed the same: losses bit by bit, gradients as far as attention's backward does."""
    norms = zip(*(run["gradient_norms"] for run in runs))
    most = max(max(of) / min(of) - 1 for of in norms)
    if any(run["losses"] != runs[0]["losses"] for run in runs) or most > 1e-5:
        raise SystemExit("losses or gradients of the runs differ")
    print(f"{len(runs)} runs: losses are equal bit by bit, norms of gradients to {most:.0e}")


def pack(folder, outs):
    os.makedirs(folder, exist_ok=True)
    runs = []
    for out in outs:
        said = lines(out)
        took = {run["channels"]: run["message_ns"] for run in said if "message_ns" in run}
        runs += [(run, took[run["channels"]]) for run in said if "step_ns" in run]
        if os.path.exists(os.path.join(out, "captures.zip")):
            unpack(os.path.join(out, "captures.zip"), folder, runs[0][0]["stages"])
    check_alike([run for run, _ in runs])
    with (
        open(os.path.join(folder, "steps.csv"), "w", encoding="ascii", newline="") as steps,
        gzip.GzipFile(os.path.join(folder, "ops.csv.gz"), "wb", mtime=0) as packed,
    ):
        rows, ops = csv.writer(steps, lineterminator="\n"), ["#" + ",".join(OPS)]
        rows.writerow(FIELDS)
        for number, (run, took) in enumerate(runs):
            step = middle(run["step_ns"])
            rows.writerow(
                [run["runtime"], run["channels"], int(run.get("defer", False)), run["schedule"]]
                + [len(run["ops"]), run["microbatches"], run["stages"], round(statistics.median(took)), moved(run)]
                + [";".join(map(str, run["step_ns"])), outside(run, step)]
                + [";".join(map(str, run["peak_bytes"]))]
            )
            spans = itertools.chain(*(rank[step] for rank in run["ops"]))
            ops += [f"{number},{stage},{kind},{m},{ns}" for stage, kind, m, _, ns in spans]
        packed.write(("\n".join(ops) + "\n").encode("ascii"))


def unpack(path, folder, stages):
    """The captures of so many stages."""
    with zipfile.ZipFile(path) as captures:
        for name in captures.namelist():
            if not name.rpartition(".")[0].endswith(f"-{stages}"):
                continue
            data = captures.read(name)
            if name.endswith(".csv"):
                name, data = f"{name}.gz", gzip.compress(data, 9, mtime=0)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)


class Run:
    """A row of steps.csv with the ops of its median step."""

    def __init__(self, row, ops):
        self.__dict__.update(row)
        self.ops = ops
        self.steps = [int(ns) / 1e6 for ns in self.step_ns.split(";")]
        self.measured = self.steps[middle(self.steps)]
        self.outside, self.message = int(self.outside_ns) / 1e6, int(self.message_ns) / 1e6
        self.moved = int(self.moved_ns) / 1e6 if self.moved_ns else None
        self.defers = self.defer_recv == "1"

    def write_op_times(self, path):
        """For --op-times; halves of a backward that ran whole are of no account."""
        with open(path, "w", encoding="ascii") as file:
            file.write("stage,microbatch,F,I,W,B\n")
            for stage, m in itertools.product(range(int(self.stages)), range(int(self.microbatches))):
                took = {kind: self.ops[stage, kind, m] for kind in "FIWB" if (stage, kind, m) in self.ops}
                whole = took.get("B") or took["I"] + took["W"]
                halves = [took.get(kind, whole / 2) for kind in "IW"]
                cells = [f"{ns / 1e6:.6f}" for ns in (took["F"], *halves, whole)]
                file.write(",".join(map(str, [stage, m, *cells])) + "\n")

    def name(self):
        return f"{self.schedule}{', `--defer-recv`' if self.defers else ''}"


def read(folder):
    taken = {}
    with gzip.open(os.path.join(folder, "ops.csv.gz"), "rt", encoding="ascii") as file:
        for run, stage, kind, m, ns in csv.reader(itertools.islice(file, 1, None)):
            taken.setdefault(int(run), {})[int(stage), kind, int(m)] = int(ns)
    with open(os.path.join(folder, "steps.csv"), encoding="ascii") as file:
        return [Run(row, taken[number]) for number, row in enumerate(csv.DictReader(file))]


class Said:
    """What pipesim says."""

    def __init__(self, program, folder, scratch):
        self.program, self.scratch = program, scratch
        (capture,) = (name for name in os.listdir(folder) if name.endswith(".csv.gz") and name != "ops.csv.gz")
        self.costs = os.path.join(scratch, "costs.ini")
        subprocess.run(
            [program, "calibrate", os.path.join(folder, capture), "-o", self.costs],
            capture_output=True, check=True,
        )  # fmt: skip

    def makespan(self, run, times, message, channels):
        """ms"""
        asked = []
        if run.runtime != FIRST:
            asked = ["--communicators", channels, *(["--defer-recv"] if run.defers and channels == "edge" else [])]
        said = subprocess.run(
            [self.program, "--pp", run.ranks, "-m", run.microbatches, "-s", run.schedule, *times]
            + ["--runtime", run.runtime, *asked, "--times", f"P2P={message:.6f}", "-f", "csv"],
            capture_output=True, text=True,
        )  # fmt: skip
        if said.returncode != 0:
            raise SystemExit(said.stderr)
        return float(next(csv.DictReader(said.stdout.splitlines()))["makespan_ms"])

    def of_its_ops(self, run, message, channels=None):
        """% off."""
        path = os.path.join(self.scratch, "ops.csv")
        run.write_op_times(path)
        made = self.makespan(run, ["--op-times", path], message, channels or run.channels)
        return 100 * ((made + run.outside) / run.measured - 1)

    def of_capture(self, run):
        made = self.makespan(run, ["--costs", self.costs], run.message, run.channels)
        return 100 * ((made + run.outside) / run.measured - 1)


def fit_message(said, runs):
    """ms: of GRID what the steps of 2.11 are least off with, in the mean."""
    first = [run for run in runs if run.runtime == FIRST]
    return min(GRID, key=lambda ms: statistics.mean(abs(said.of_its_ops(run, ms)) for run in first))


def print_sums(rows, titles):
    groups = {
        "PyTorch 2.11's rules": lambda run: run.runtime == FIRST,
        "2.15's, one queue (`rank`)": lambda run: run.runtime != FIRST and run.channels == "rank",
        "2.15's, `pair`": lambda run: run.runtime != FIRST and run.channels == "pair",
        "2.15's, `edge`": lambda run: run.runtime != FIRST and run.channels == "edge",
        "2.15's, all": lambda run: run.runtime != FIRST,
    }
    print(f"| error: mean, largest | {' | '.join(titles)} |")
    print("|---|" + "---|" * len(titles))
    for name, of in groups.items():
        chosen, cells = [off for run, off in rows if of(run)], []
        for column in zip(*chosen):
            errors = [abs(off) for off in column if off is not None]
            cells.append("")
            if errors:
                cells[-1] = f"{statistics.mean(errors):.2f} %, {max(errors):.1f} % ({len(errors)})"
        print(f"| {name} | {' | '.join(cells)} |")


def predict(said, run, message):
    """% off, by column; None where it is not known."""
    known = run.moved or message
    return [
        None if run.moved else said.of_capture(run),
        said.of_its_ops(run, run.message),
        said.of_its_ops(run, message),
        said.of_its_ops(run, run.moved) if run.moved else None,
        said.of_its_ops(run, known, "rank") if run.channels != "rank" else None,
    ]


def table(program, folder):
    with tempfile.TemporaryDirectory() as scratch:
        runs, said = read(folder), Said(program, folder, scratch)
        message = fit_message(said, runs)
        rows = [(run, predict(said, run, message)) for run in runs]
    idle = statistics.median(run.message for run in runs)
    titles = [
        "capture alone", f"its ops, {idle:.2f} ms", f"its ops, {message:.2f} ms", "its ops and messages",
        "the same, one queue",
    ]  # fmt: skip
    print("| rules | channels | schedule | measured, ms | smallest - largest | " + " | ".join(titles) + " |")
    print("|---|---|---|---|---|" + "---|" * len(titles))
    for run, off in rows:
        cells = ["" if error is None else f"{error:+.1f} %" for error in off]
        print(
            f"| {run.runtime.removeprefix('pytorch-')} | {run.channels} | {run.name()} | {run.measured:.1f} | "
            f"{min(run.steps):.1f} - {max(run.steps):.1f} | {' | '.join(cells)} |"
        )
    print()
    print_sums(rows, titles)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("table").add_argument("folder")
    one = commands.add_parser("pack")
    one.add_argument("folder")
    one.add_argument("outs", nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.folder, arguments.outs)
    else:
        table(arguments.pipesim, arguments.folder)


if __name__ == "__main__":
    sys.exit(main())
