"""Steps that were measured on two H200s (traces/accuracy-h200x2-c) beside those of described models: nothing but their
descriptions (traces/accuracy-h200x2/NAME-model.ini) goes in. Prints the table of docs/accuracy.md.

    python described.py [PIPESIM]
"""

import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TRACES = Path(__file__).resolve().parents[2] / "traces"
MODELS = {  # tokens of a sequence, sequences of a micro-batch, more
    "even-4096": (4096, 1, []),
    "uneven-8192": (8192, 1, []),
    "short-1024": (1024, 2, []),
    "recompute-2048": (2048, 2, ["--recompute", "full"]),
}
CLASSES = {"1F1B": "1f1b", "GPipe": "gpipe", "DualPipeV": "dualpipev"}  # PyTorch's own
SPLIT = ("zb-", "v-", "dualpipe", "DualPipe")  # they split backwards


def computed(pipesim, folder, model, schedule, microbatches):
    """ms of a step."""
    seq, sequences, more = MODELS[model]
    # Layers of models.py rotate nothing: learned positions say so.
    text = (TRACES / "accuracy-h200x2" / f"{model}-model.ini").read_text().rstrip("\n")
    path = Path(folder) / "model.ini"
    path.write_text(f"{text}\npositions = 8192\n")
    command = [pipesim, "--model", str(path), "--seq", str(seq)]
    command += ["--microbatch-size", str(sequences), "--modules", "pytorch", "--optimizer", "sgd", *more]
    command += ["--pp", "2", "-m", str(microbatches), "-s", CLASSES.get(schedule, schedule), "--device", "h200"]
    command += ["--runtime", "single" if schedule in ("1F1B", "GPipe") else "pytorch-2.11"]
    command += ["--link-bandwidth", "370GB/s", "--link-latency", "10us", "-f", "json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["schedules"][0]["makespan_ms"]


def main():
    pipesim = sys.argv[1] if len(sys.argv) > 1 else "pipesim"
    errors = {False: [], True: []}
    print("| model | schedule | measured, ms | computed, ms | error, % |\n|---|---|---|---|---|")
    with open(TRACES / "accuracy-h200x2-c" / "steps.csv", newline="") as file, tempfile.TemporaryDirectory() as folder:
        for row in csv.DictReader(file):
            if row["case"] not in MODELS or not row["step_ns"]:
                continue
            measured = statistics.median(map(int, row["step_ns"].split(";"))) / 1e6
            said = computed(pipesim, folder, row["case"], row["schedule"], int(row["microbatches"]))
            error = 100 * (said / measured - 1)
            errors[row["schedule"].startswith(SPLIT)].append(abs(error))
            print(f"| {row['case']} | {row['schedule']} | {measured:.1f} | {said:.1f} | {error:+.1f} |")
    for split, text in ((False, "backwards in one"), (True, "split backwards")):
        print(f"\n{len(errors[split])} steps with {text}: {statistics.mean(errors[split]):.1f} % in the mean, {max(errors[split]):.1f} % at most.")


main()
