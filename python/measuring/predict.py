"""What pipesim says of steps that train.py measured: measured and simulated side by side.

    python3 predict.py FOLDER      as `train.py measure -o FOLDER` wrote it

Simulated from the medians of each stage's ops in that very run and one message between idle GPUs,
nothing fitted; once with messages that wait for nobody, once by the rules of PyTorch's runtime.
"""

import argparse
import configparser
import csv
import os
import statistics
import subprocess


def simulate(program, order, ranks, count, stage_times, message, mode):
    """ms"""
    shape = [] if order.endswith(".csv") else ["--pp", str(ranks), "--microbatches", count]
    said = subprocess.run(
        [program, *shape, "--schedule", order, "--stage-times", stage_times]
        + ["--times", f"P2P={int(message) / 1e6}", "--runtime", mode, "--format", "csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(next(csv.DictReader(said.stdout.splitlines()))["makespan_ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    arguments = parser.parse_args()
    capture = configparser.ConfigParser()
    capture.read(os.path.join(arguments.folder, "capture.ini"))
    here = os.path.dirname(os.path.abspath(__file__))
    errors = {"async": [], "rules": []}
    print(f"{'':20}measured, ms    smallest, largest   async           rules    GiB")
    for section in capture.sections():
        name = section.removeprefix("run ")
        stage_times = os.path.join(arguments.folder, f"{name}.stage-times.csv")
        if name == section or not os.path.exists(stage_times):
            continue
        run = capture[section]
        steps = [int(step) / 1e6 for step in run["step_ns"].split(";")]
        order, mode = name.removeprefix("class-"), "pytorch-2.11"
        if order != name:
            mode = "single"  # the runtime of PyTorch's GPipe and 1F1B
        elif os.path.exists(os.path.join(here, f"{name}.csv")):
            order = os.path.join(here, f"{name}.csv")
        measured = statistics.median(steps)
        line = f"{name:20}{measured:12.1f}    {min(steps):8.1f} {max(steps):8.1f} "
        for key, rules in ("async", "async"), ("rules", mode):
            made = simulate(
                arguments.pipesim, order, capture["capture"]["gpus"], run["microbatches"],
                stage_times, capture["message_ns"]["median"], rules,
            )
            error = 100 * (made / measured - 1)
            errors[key].append(abs(error))
            line += f" {made:7.1f} {error:+5.1f} %"
        most = max(map(int, run["peak_bytes"].split(";"))) / 2**30
        print(f"{line} {most:6.1f}")
    for key, values in errors.items():
        print(f"{key}: off by {statistics.mean(values):.1f} % in the mean, {max(values):.1f} % at most")


if __name__ == "__main__":
    main()
