#!/usr/bin/env python3
"""Steps of torchtitan beside what pipesim says of their description alone.

    titan_table.py [--pipesim PROGRAM] FOLDER

FOLDER has steps.csv: of each run its model, the words that describe it to pipesim, and what it took (titan.py). Nothing of
the times goes into what is computed.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path


def compute(program, folder, row):
    """Milliseconds of a step and the most bytes that a rank holds."""
    command = [program, *row["pipesim"].split(), "--model", str(folder / row["model"]), "--device", "h200", "-f", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{row['name']}: {' '.join(command)}\n{result.stderr}")
    schedule = json.loads(result.stdout)["schedules"][0]
    return schedule["training"]["step_ms"], max(schedule["memory_bytes"]["peak_per_rank"])


def share(computed, measured):
    return f"{100 * (computed / measured - 1):+.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pipesim", default="./pipesim", help="the program")
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    errors = {}
    print("| run | measured, ms | computed, ms | error, % | peak, GiB | computed, GiB | error, % |\n|" + "---|" * 7)
    with open(asked.folder / "steps.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            measured = statistics.median(map(float, row["times_ms"].split(";")))
            step, peak = compute(asked.pipesim, asked.folder, row)
            held = int(row["peak_bytes"])
            kind = "experts" if (asked.folder / row["model"]).read_text().count("[experts]") else "dense"
            errors.setdefault(kind, []).append((abs(step / measured - 1), abs(peak / held - 1)))
            print(
                f"| {row['name']} | {measured:.1f} | {step:.1f} | {share(step, measured)} "
                f"| {held / 2**30:.2f} | {peak / 2**30:.2f} | {share(peak, held)} |"
            )
    print("\n| | runs | mean error of the step, % | largest | mean error of the peak, % | largest |\n|" + "---|" * 6)
    for kind, pairs in errors.items():
        figures = [f"{100 * of([pair[i] for pair in pairs]):.1f}" for i in (0, 1) for of in (statistics.mean, max)]
        print(f"| {kind} | {len(pairs)} | " + " | ".join(figures) + " |")


if __name__ == "__main__":
    main()
