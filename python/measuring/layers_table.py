"""Single layers of plain PyTorch, measured on an H200 (traces/described-h200/layers.csv, by layers.py), beside what pipesim
says of their descriptions. Prints the table of docs/accuracy.md.

    python layers_table.py [PIPESIM [DEVICE...]]     a name or the path of a device file
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TRACES = Path(__file__).resolve().parents[2] / "traces" / "described-h200"


def described(row):
    """The model of a row: one layer, as one rank has it."""
    lines = ["[pipesim-model]", "version = 1", f"name = {row['name']}", "layers = 1", "vocab = 0", "norm = rmsnorm"]
    lines += [f"{key} = {row[key]}" for key in ("hidden", "heads", "kv_heads", "head_dim")]
    lines.append(f"activation = {'swiglu' if row['gated'] == '1' else 'gelu'}")
    if row["experts"] == "0":
        return [*lines, f"ffn = {row['ffn']}"]
    return [*lines, "[experts]", f"number = {row['experts']}", f"per_token = {row['per_token']}", f"ffn = {row['expert_ffn']}"]


def computed(pipesim, device, path, row):
    """ms of one micro-batch more."""
    command = [pipesim, "--model", path, "--seq", row["seq"], "--microbatch-size", row["sequences"], "--device", device]
    command += ["--modules", "pytorch", "--optimizer", "sgd", "--pp", "1", "-s", "1f1b", "--runtime", "single", "-f", "json"]
    took = []
    for count in ("1", "2"):
        result = subprocess.run([*command, "-m", count], check=True, capture_output=True, text=True)
        took.append(json.loads(result.stdout)["schedules"][0]["makespan_ms"])
    return took[1] - took[0]


def main():
    pipesim = sys.argv[1] if len(sys.argv) > 1 else "pipesim"
    found = sys.argv[2:] or ["h200", str(TRACES / "h200-measured.ini")]
    names = [Path(device).stem for device in found]
    errors = {}
    print(f"| layer | tokens | measured, ms |{''.join(f' {name}, ms | error, % |' for name in names)}")
    print(f"|---|---|---|{'---|---|' * len(names)}")
    with open(os.environ.get("LAYERS", TRACES / "layers.csv"), newline="") as file, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layer.ini")
        for row in csv.DictReader(file):
            with open(path, "w") as out:
                out.write("\n".join([*described(row), ""]))
            measured = float(row["f_ms"]) + float(row["b_ms"])
            cells = []
            for device, name in zip(found, names):
                said = computed(pipesim, device, path, row)
                error = 100 * (said / measured - 1)
                kind = "as Llama" if row["written"] != "plain" else "experts" if row["experts"] != "0" else "dense"
                errors.setdefault((kind, name), []).append(abs(error))
                cells.append(f" {said:.2f} | {error:+.1f} |")
            label = row["name"] + ("" if row["written"] == "plain" else ", as Llama's code")
            print(f"| {label} | {row['sequences']} x {row['seq']} | {measured:.2f} |{''.join(cells)}")
    print()
    for (kind, name), of in errors.items():
        print(f"{name}: {len(of)} {kind}: {statistics.mean(of):.1f} % in the mean, {max(of):.1f} % at most.")


main()
