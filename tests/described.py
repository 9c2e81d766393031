"""Steps of described models beside published ones.

    python3 described.py FOLDER [--program PIPESIM] [--table] [--cross-validate] [--fit FOLDER] [--errors FILE] [--ratios]

FOLDER has rows.csv, one row a published step (columns: model sizes, parallel sizes, precision ..., step_s, family). Every
row whose GPU has a file in devices/ and whose figures do not contradict themselves is simulated from its description
alone. Printed are errors by kind; --table: every row; --cross-validate: the shares that devices/*.ini have were fitted
to such rows, so each family of rows is predicted once more from shares fitted without it, in the linear
approximation around the shipped ones; those with experts also from their columns alone, without what the recipe says that
ran. --errors writes these means, and what nine of ten are within, into src/transformer/errors.h.
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
# The H100s of torchtitan's tables: 96 GB of HBM2e, and how far from the limit that devices/h100.ini was measured at.
VARIANTS = {"h100-500w": ("h100", "2400GB/s", 500 / 700)}
# What was fitted: in which files, which keys, how far (standard deviation of the logarithm) they may go; and from where, if not
# from what is shipped: few families see these, so a fit without one of them may not start at what that family taught.
FITTED = {
    "products": ([("a100",), ("b200",), ("gb200",), ("b300", "gb300")], ["products"], 0.1),
    "products in FP8": ([("h100", "h200", "h800"), ("b200",), ("gb200",), ("b300", "gb300")], ["products_fp8"], 0.12),
    "products in FP4": ([("gb200",), ("gb300",)], ["products_fp4"], 0.12),
    "attention": (
        [("h100", "h200", "h800"), ("a100",), ("b200", "gb200"), ("b300", "gb300")],
        ["attention", "attention_backward"],
        0.06,
    ),
    "rows in order": ([()], ["rows"], 0.1),
    "network": ([("a100", "h100", "h200", "h800", "b200", "gb200", "gb300", "b300")], ["far"], 0.3),
    # Beside that: one of the two NICs that a ConnectX-8 is for its GPU (deepseek-ai/DeepEP, issues 566 and 608).
    "network of B300s": ([("b300",)], ["far"], 0.5, 0.455),
    "collectives": ([()], ["ring"], 0.1),
    "launches": ([("a100", "h100", "h200", "h800", "b200", "b300")], ["launch"], 0.3),
    "launches of Grace": ([("gb200", "gb300")], ["launch", "kernel"], 0.5, 90),
    "waits of the host": ([()], ["wait"], 0.5),
}
SPREAD = {"dense": 0.04, "experts": 0.08}  # of the logarithm of a step, as it weighs in a fit


def whole(row, column):
    return int(float(row[column])) if row[column] not in ("", "?") else 0


def describe(row):
    """The INI file of a row's model."""
    lines = ["[pipesim-model]", "version = 1", f"name = {row['model']}"]
    experts, latent = whole(row, "experts"), whole(row, "kv_lora")

    def put(key, value):
        if value:
            lines.append(f"{key} = {value}")

    for key in ("layers", "hidden", "heads", "vocab"):
        put(key, whole(row, key))
    if not experts or whole(row, "dense_layers"):
        put("ffn", whole(row, "ffn"))
    if not latent:
        put("kv_heads", whole(row, "kv_heads"))
        put("head_dim", whole(row, "head_dim"))
    put("mtp_layers", whole(row, "mtp"))
    put("activation", "swiglu" if row["act"] == "swiglu" else "gelu")
    put("norm", "layernorm" if row["norm"] in ("ln", "layernorm") else "rmsnorm")
    put("qk_norm", "yes" if row["model"].startswith(("qwen3", "deepseek")) else "")
    if row["model"].startswith("gpt-oss"):
        put("window", 128)
        put("windowed_layers", whole(row, "layers") // 2)
        for key in ("yarn", "qkv_bias", "output_bias", "ffn_bias"):
            put(key, "yes")
    if latent:
        lines.append("[latent]")
        for key, column in (("q_rank", "q_lora"), ("kv_rank", "kv_lora"), ("nope", "qk_nope"), ("rope", "qk_rope"), ("v", "v_dim")):
            put(key, whole(row, column))
    if experts:
        lines.append("[experts]")
        for key, column in (("number", "experts"), ("per_token", "topk"), ("ffn", "moe_ffn"), ("shared_ffn", "shared_ffn")):
            put(key, whole(row, column))
        put("first_layer", whole(row, "dense_layers"))
        put("node_limit", 4 if row["model"].startswith("deepseek-v3") else "")
    return "\n".join(lines) + "\n"


def recipe(row):
    """What no column says, but the recipe that ran does (Megatron-Bridge, perf_recipes and performance/configs): who brings
    rows to experts, and which graphs hold the step. Recipes of 26.08 in MXFP8 enable the latter in a function of their own."""
    model, gpu, scale_up = row["model"], row["gpu"], row["gpu"].startswith("GB")
    if row["kind"] != "moe" or whole(row, "ep") <= 1:
        return []
    step = row["cuda_graph"] == "full_iteration" or (row["version"].endswith("26.08") and row["precision"] == "fp8-mx")
    if row["source_group"].startswith("simumax") or (model.startswith("qwen3-235b") and not scale_up):
        dispatcher = "alltoall"
    elif model.startswith("gpt-oss") and (row["precision"] == "bf16" or gpu in ("B200", "H100")):
        dispatcher = "alltoall"
    else:
        dispatcher = "hybridep"
    graphs = "step" if step else "router" if "moe_router" in row["cuda_graph"] and "attn" not in row["cuda_graph"] else ""
    words = ["--dispatcher", dispatcher, *(["--graphs", graphs] if graphs else [])]
    return words + (["--ep-overlap"] if step else [])


def options(row, columns_only=False):
    """What a row says of its training, but for model and device."""
    known = [] if columns_only else recipe(row)
    chunks = whole(row, "vp") or 1
    parallel = whole(row, "tp") > 1
    recompute = row["recompute"]
    schedule = row["schedule"] if row["schedule"] not in ("", "none") else "interleaved-1f1b" if chunks > 1 else "1f1b"
    words = ["--pp", row["pp"], "-m", row["microbatches"], "-s", schedule]
    for option, column in (("--seq", "seq"), ("--microbatch-size", "mbs"), ("--tp", "tp"), ("--cp", "cp"), ("--ep", "ep"), ("--dp", "dp")):
        words += [option, row[column]]
    words += ["--expert-tp", row["etp"] or "1", "--precision", row["precision"]]
    if recompute.startswith("full:"):
        words += ["--recompute", f"first={int(recompute[5:].split()[0])}"]
    elif recompute not in ("", "none", "none?", "?"):
        words += ["--recompute", recompute]
    if recompute == "selective" or row["id"].startswith("kor"):
        words += ["--attention", "unfused"]  # before FlashAttention
    for given, more in (
        (schedule == "interleaved-1f1b", ["--chunks", row["vp"]]),
        (parallel and (row["sp"] == "1" or whole(row, "experts")), ["--sequence-parallel"]),
        (row["cp_comm"] == "a2a", ["--cp-comm", "a2a"]),
        (parallel and row["tp_overlap"] == "1", ["--tp-overlap"]),
        (whole(row, "ep") > 1 and row["ep_overlap"] == "1" and "--ep-overlap" not in known, ["--ep-overlap"]),
        (row["dp_overlap"] == "1", ["--overlap-grad-reduce"]),
        (row["cuda_graph"], ["--cuda-graph"]),
        (row["layout"] and (whole(row, "pp") > 1 or "m" in row["layout"]), ["--layout", row["layout"]]),
        (row["opt_shard"] == "none", ["--zero", "0"]),
        # torchtitan reduces in FP32, and shares parameters again behind each forward where there is no pipeline.
        (row["opt_shard"] == "fsdp2", ["--zero", "fsdp-fp32" if whole(row, "pp") > 1 else "3"]),
        (row["framework"] == "torchtitan", ["--modules", "torchtitan", "--attention", "flash-2"]),
        # NVIDIA's recipes add gradients up and reduce them in BF16.
        (row["source_group"].startswith("megatron-bridge"), ["--optimizer", "adam-bf16"]),
    ):
        words += more if given else []
    return words + known


def device_of(row):
    return row["gpu"].lower()


def exists(device):
    return device in VARIANTS or (TOP / "devices" / f"{device}.ini").exists()


def kind_of(row):
    return "experts" if row["kind"] == "moe" else "dense"


def group_of(row):
    """Who is left out together: all rows of a model and a framework."""
    return row["framework"] == "torchtitan", row["source_group"].startswith("simumax"), row["model"].split("-l")[0]


def correct(row):
    """Sizes that the recipe of a row's release has, where its table says another: 512 sequences of GPT-OSS on B200s ran with
    EP 64 in every version of the recipe (Megatron-Bridge, workload_base_configs.py), and as many on GB200s. Micro-batches of
    torchtitan's pipelines are assumed in the table: where nobody says otherwise a step has as many as there are stages
    (build_pipeline_schedule(), until they were told by size in 2025)."""
    if (row["version"], row["model"], row["gpu"]) == ("NeMo 25.11", "gpt-oss-120b", "B200"):
        row["ep"] = "64"
    if row["framework"] == "torchtitan" and whole(row, "pp") > 1 and row["date"].startswith("2024"):
        stages = whole(row, "pp") * whole(row, "vp")
        row["mbs"], row["microbatches"] = str(whole(row, "mbs") * whole(row, "microbatches") // stages), str(stages)


def read_rows(folder, columns_only):
    """Rows that can be compared; those of one description once, with their steps."""
    known = {}
    with open(folder / "rows.csv", newline="") as file:
        for row in csv.DictReader(file):
            use = row["suggested_use"].split(":")[0]
            if not columns_only:
                correct(row)
            if not row["layers"] or not row["step_s"] or row["confidence"].split(":")[0] not in ("high", "medium"):
                continue
            if use not in ("calibration", "when the device exists", "when it can be described") or not exists(device_of(row)):
                continue
            if "offloads" in row["note"]:  # in an order of Megatron-Core's own
                continue
            key = (row["model"], row["framework"], device_of(row), *options(row, columns_only))
            known.setdefault(key, row).setdefault("steps", []).append(float(row["step_s"]))
    return list(known.values())


def is_fitted(row):
    """Golden runs of deterministic kernels, and modules that are PyTorch's own, were not fitted to."""
    return row["framework"] != "torchtitan" and row["model"] != "gpt-7b-gqa"


def limit_power(text, limit):
    """A device's description at @limit of the power that it was measured at: its tensor cores are slower by the exponent of
    its own [power], as --power-limit takes it (src/model/power.c): what has threshold_ppm of the load runs in full_speed_ppm
    of the time."""
    threshold = float(re.search(r"threshold_ppm = (\d+)", text)[1]) / 1e6
    full = statistics.mean(int(ppm) / 1e6 for ppm in re.search(r"full_speed_ppm = (.*)", text)[1].split(";"))
    slower = limit ** (math.log(full) / math.log(threshold))
    keys = r"^((?:products|attention|sdpa|flash)\w*) = ([\d.]+)$"
    return re.sub(keys, lambda match: f"{match[1]} = {float(match[2]) * slower:.4f}", text, flags=re.M)


class Runner:
    def __init__(self, program, folder, columns_only=False):
        self.program, self.folder, self.columns_only = program, Path(folder), columns_only

    def write_models(self, rows):
        for row in rows:
            (self.folder / f"{row['model']}.ini").write_text(describe(row))

    def write_devices(self, changes):
        """Copies of devices/, where @changes of (device, key) are multiplied, and VARIANTS."""
        devices = self.folder / "devices"
        devices.mkdir(exist_ok=True)
        for path in (TOP / "devices").glob("*.ini"):
            lines = path.read_text().splitlines()
            for i, line in enumerate(lines):
                match = re.match(r"(\w+) = ([\d.]+)(.*)$", line)
                factor = changes.get((path.stem, match[1]), 1) if match else 1
                value = float(match[2]) * factor if match else 0
                if factor != 1:  # shares stay below what is possible; times have a unit
                    lines[i] = f"{match[1]} = {value if match[3] else min(value, 0.95):.4f}{match[3]}"
            (devices / path.name).write_text("\n".join(lines) + "\n")
        for name, (base, bandwidth, limit) in VARIANTS.items():
            text = (devices / f"{base}.ini").read_text()
            (devices / f"{name}.ini").write_text(limit_power(text.replace("3350GB/s", bandwidth), limit))
        return devices

    def step(self, row, devices, more=()):
        command = [self.program, *options(row, self.columns_only), *more, "--model", str(self.folder / f"{row['model']}.ini")]
        command += ["--device", str(devices / f"{device_of(row)}.ini"), "-f", "json"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{row['id']}: {' '.join(command)}\n{result.stderr}")
        return json.loads(result.stdout)["schedules"][0]["training"]["step_ms"] / 1e3

    def errors(self, rows, changes):
        """Logarithms of computed over measured steps."""
        devices = self.write_devices(changes)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            steps = pool.map(lambda row: self.step(row, devices), rows)
            return [math.log(step) - statistics.mean(map(math.log, row["steps"])) for row, step in zip(rows, steps)]


def solve(matrix, right):
    """Gauss and Jordan."""
    n = len(right)
    rows = [line[:] + [right[i]] for i, line in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def shipped(device, key):
    """A share, or the number ahead of a unit."""
    text = (TOP / "devices" / f"{device}.ini").read_text()
    return float(re.search(rf"^{key} = ([\d.]+)", text, re.M)[1])


def knows(device, key):
    return re.search(rf"^{key} = ", (TOP / "devices" / f"{device}.ini").read_text(), re.M)


def parameters():
    """(places, spread, how far what is shipped is from where a fit starts) of all that was fitted."""
    every = tuple(path.stem for path in (TOP / "devices").glob("*.ini"))
    for groups, keys, spread, *start in FITTED.values():
        for group in groups:
            places = [(device, key) for device in group or every for key in keys]
            yield places, spread, math.log(shipped(*places[0]) / start[0]) if start else 0


class Fit:
    """The shares that fit rows best, in the linear approximation around those in devices/."""

    def __init__(self, runner, rows, errors):
        self.rows, self.errors = rows, errors
        self.fitted = [i for i, row in enumerate(rows) if is_fitted(row)]
        self.parameters = list(parameters())
        self.slopes = []
        for places, _, _ in self.parameters:
            moved = runner.errors([rows[i] for i in self.fitted], {place: math.exp(-0.05) for place in places})
            self.slopes.append({i: (error - errors[i]) / -0.05 for i, error in zip(self.fitted, moved)})

    def change(self, without=None):
        """By how much the logarithm of each parameter changes in a fit, which leaves a group out."""
        n = len(self.parameters)
        matrix = [[1 / self.parameters[a][1] ** 2 if a == b else 0 for b in range(n)] for a in range(n)]
        right = [-moved / spread**2 for _, spread, moved in self.parameters]
        for i in self.fitted:
            spread = SPREAD[kind_of(self.rows[i])]
            weight = min(1, 1.5 * spread / max(abs(self.errors[i]), 1e-9)) / spread**2  # Huber's
            if group_of(self.rows[i]) == without:
                continue
            for a in range(n):
                right[a] -= weight * self.slopes[a][i] * self.errors[i]
                for b in range(n):
                    matrix[a][b] += weight * self.slopes[a][i] * self.slopes[b][i]
        return solve(matrix, right)

    def cross_validate(self):
        """Errors of each group of rows, from a fit without it."""
        predicted = {}
        for left in {group_of(self.rows[i]) for i in self.fitted}:
            change = self.change(left)
            for i in self.fitted:
                if group_of(self.rows[i]) == left:
                    predicted[i] = self.errors[i] + sum(c * slope[i] for c, slope in zip(change, self.slopes))
        return predicted

    def changes(self):
        """Factors for Runner.write_devices()."""
        factors = {}
        for change, (places, _, _) in zip(self.change(), self.parameters):
            for place in places:  # which may be in several
                factors[place] = factors.get(place, 1) * math.exp(change)
        return factors


# Shares that hang on the GPU: of one nobody trained on they are what others reach in the mean.
GENERATIONS = [("h100", "h200", "h800"), ("a100",), ("b200",), ("gb200",), ("b300", "gb300")]
OF_A_GPU = ("products", "products_fp8", "attention", "attention_backward")


def errors_of_unknown(runner, rows):
    """Errors of each generation's rows, by index, with shares of the others, as if no step of it were known."""
    errors = {}
    for own in GENERATIONS:
        here = [i for i, row in enumerate(rows) if is_fitted(row) and device_of(row) in own]
        changes = {}
        for key in OF_A_GPU:
            others = [math.log(shipped(group[0], key)) for group in GENERATIONS if group != own and knows(group[0], key)]
            for device in own if knows(own[0], key) else ():
                changes[device, key] = math.exp(statistics.mean(others)) / shipped(device, key)
        errors.update(zip(here, runner.errors([rows[i] for i in here], changes)))
    return errors


def percent(error):
    return 100 * (math.exp(error) - 1)


def kinds(rows, errors):
    """Errors in percent by kind; errors: by index."""
    groups = {}
    for i, error in errors.items():
        row = rows[i]
        width = {"bf16": "BF16", "fp16": "BF16", "nvfp4": "FP4"}.get(row["precision"], "FP8")
        kind = f"{kind_of(row)}, {width}"
        apart = "" if is_fitted(row) else "torchtitan, not fitted to: " if row["framework"] == "torchtitan" else "not fitted to: "
        groups.setdefault(apart + kind, []).append(percent(error))
    return groups


def summarize(title, rows, errors):
    print(f"| {title} | descriptions | mean error, % | 9 of 10 within, % | largest, % |\n|---|---|---|---|---|")
    for kind, values in sorted(kinds(rows, errors).items()):
        print(f"| {kind} | {len(values)} | {statistics.mean(map(abs, values)):.1f} | {most(values):.1f} | {max(map(abs, values)):.1f} |")
    print()


# How Megatron-LM runs them: 1F1B sends in batches that the host waits for, and then takes as long to launch again as the first
# row of the zero-bubble paper says (docs/accuracy.md). Zero-bubble schedules have a runtime of their own, which waits for
# messages too: what they are for is launched as much later.
RUN_BY = {
    "1f1b": ["--runtime", "megatron", "--no-overlap-p2p", "--host-time", "1ms"],
    "interleaved-1f1b": ["--runtime", "megatron"],
}
RUN_BY_PRIMUS = ["--link-latency", "1ms"]


def print_ratios(arguments):
    """Primus's steps over those of its 1F1B, beside simulated ones."""
    with open(arguments.folder / "rows.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source_group"] == "primus" and row["step_s"]]
    rows = [row for row in rows if row["suggested_use"].startswith("ratios") and row["schedule"] != "none"]
    first = {}
    print("| model | schedule | measured, s | of 1F1B | computed, s | of 1F1B | off, % |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.program, folder)
        runner.write_models(rows)
        for row in rows:
            devices = runner.write_devices({})
            step = runner.step({**row, "recompute": "none"}, devices, RUN_BY.get(row["schedule"], RUN_BY_PRIMUS)), float(row["step_s"])
            if row["schedule"] == "1f1b":
                first[row["model"]] = step
            if row["model"] not in first:
                continue
            computed, measured = (own / base for own, base in zip(step, first[row["model"]]))
            chunks = f", {row['vp']} chunks" if row["schedule"].startswith("interleaved") else ""
            print(
                f"| {row['model']} | {row['schedule']}{chunks} | {step[1]:.3f} | {measured:.3f} | {step[0]:.3f} "
                f"| {computed:.3f} | {100 * (computed / measured - 1):+.1f} |"
            )


def most(values):
    """What nine of ten are within."""
    return sorted(map(abs, values))[math.ceil(0.9 * len(values)) - 1]


def write_errors(path, shipped, left, unsaid, unknown):
    """The figures of errors.h: mean, and what nine of ten are within, by kind."""

    def error(values):
        return f"{{{statistics.mean(map(abs, values)) / 100:.3f}, {most(values) / 100:.3f}}}"

    def pair(groups, kind):
        return "{" + ", ".join(error(groups[f"{kind}, {p}"]) for p in ("BF16", "FP8")) + "}"

    described = ", ".join(pair(groups, kind) for groups, kind in ((left, "dense"), (left, "experts"), (unsaid, "experts")))
    worst = max(unknown.values(), key=lambda values: statistics.mean(map(abs, values)))
    text = path.read_text()
    for name, values in (
        (r"described_error\[3\]\[2\]", "{" + described + "}"),
        (r"eager_error\[2\]", pair(shipped, "torchtitan, not fitted to: dense")),
        ("unknown_error", error(worst)),
    ):
        text = re.sub(rf"(pipesim_{name} =)\s*\{{.*?\}};", rf"\1 {values};", text, flags=re.S)
    path.write_text(text)


class Evaluation:
    """Rows, described with or without what their recipes say, and their errors; left: from fits without their model."""

    def __init__(self, arguments, columns_only, fits):
        self.rows = read_rows(arguments.folder, columns_only)
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(arguments.program, folder, columns_only)
            runner.write_models(self.rows)
            self.errors = runner.errors(self.rows, {})
            self.fit = Fit(runner, self.rows, self.errors) if fits else None
            self.unknown = errors_of_unknown(runner, self.rows) if fits and not columns_only else {}
        self.left = self.fit.cross_validate() if fits else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="pipesim")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--fit", metavar="FOLDER", help="write files with shares fitted anew into FOLDER/devices")
    parser.add_argument("--errors", metavar="FILE", type=Path, help="write these into FILE, src/transformer/errors.h")
    parser.add_argument("--ratios", action="store_true", help="steps of schedules over those of 1F1B, and nothing else")
    arguments = parser.parse_args()
    if arguments.ratios:
        return print_ratios(arguments)
    fits = bool(arguments.cross_validate or arguments.fit or arguments.errors)
    told = Evaluation(arguments, False, fits)
    if arguments.fit:
        Runner(arguments.program, arguments.fit).write_devices(told.fit.changes())
    summarize("as shipped", told.rows, dict(enumerate(told.errors)))
    if fits:
        untold = Evaluation(arguments, True, True)
        summarize("from a fit without the model", told.rows, told.left)
        sparse = {i: error for i, error in untold.left.items() if kind_of(untold.rows[i]) == "experts"}
        summarize("the same, without dispatcher and 26.08's graphs", untold.rows, sparse)
        summarize("with shares of other GPUs", told.rows, told.unknown)
    if arguments.errors:
        shipped = kinds(told.rows, dict(enumerate(told.errors)))
        left, unknown = kinds(told.rows, told.left), kinds(told.rows, told.unknown)
        write_errors(arguments.errors, shipped, left, kinds(untold.rows, sparse), unknown)
    if arguments.table:
        print("| model | GPU | sizes | precision | measured, s | computed, s | error, % | without it, % |\n|---|---|---|---|---|---|---|---|")
    rows, errors, left = told.rows, told.errors, told.left
    for i in sorted(range(len(rows)), key=lambda i: (kind_of(rows[i]), rows[i]["model"], rows[i]["gpu"])) if arguments.table else ():
        row, step = rows[i], statistics.geometric_mean(rows[i]["steps"])
        sizes = " ".join(f"{name.upper()}{row[name]}" for name in ("tp", "cp", "pp", "vp", "ep", "dp") if whole(row, name) > 1)
        print(
            f"| {row['model']} | {row['gpu']} | {sizes} | {row['precision']} | {step:.3f} | {step * math.exp(errors[i]):.3f} "
            f"| {percent(errors[i]):+.1f} | {format(percent(left[i]), '+.1f') if i in left else ''} |"
        )


main()
