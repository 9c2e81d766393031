"""What `pipesim diagnose` says of the profiles that record.py made of every schedule class of PyTorch: tables of docs/diagnose.md.

    python3 profiles_table.py [--pipesim PATH] FOLDER      such as traces/profiles-h100x2

Of each profile the cause that is named first beside the one that was injected, and what the step takes without it beside the steps
that were timed without it; then, from the clean profiles, what other schedules take beside steps of them, and from those of a
slow rank and of a late host what the other classes take with it. Needs no PyTorch.
"""

import argparse
import configparser
import json
import os
import statistics
import subprocess

# Causes of diagnose by what was injected; a schedule's own bubble is none.
NAMED = {"slow-rank": "slow-rank", "imbalance": "imbalance", "host": "host", "pause": "ops", "messages": "messages"}
RANK = 1  # where all were injected


def diagnose(program, folder, name):
    """Its JSON, or what it says where it refuses."""
    files = [os.path.join(folder, f"{name}-rank{rank}.json.gz") for rank in (0, 1)]
    said = subprocess.run([program, "diagnose", *files, "-f", "json"], capture_output=True, text=True)
    if said.returncode != 0:
        return None
    return json.loads(said.stdout)


def read(folder):
    config = configparser.ConfigParser(interpolation=None)
    config.optionxform = str
    config.read(os.path.join(folder, "capture.ini"))
    pairs = {name: tuple(map(float, both.split())) for name, both in config["step_ms injected"].items()}
    timed = {name: float(of.split()[0]) for name, of in config["step_ms"].items()}
    return pairs, timed


def print_causes(diagnosed, pairs):
    print("| injected | class | step without and with it, ms | profiled step | named first | ms | step without, ms | |")
    print("|---|---|---|---|---|---|---|---|")
    right, errors = 0, []
    names = [name for case in NAMED for name in pairs if name.endswith(f"-{case}")]
    for name in names:
        kind = next(case for case in NAMED if name.endswith(f"-{case}"))
        what, (off, on), made = name.removesuffix(f"-{kind}"), pairs[name], diagnosed[name]
        if kind == "imbalance":
            off = 5 / 4 * pairs[f"{what}-clean"][0]  # five layers on both ranks alike; with it on or off the stage has the layer
        begin = f"| {kind} | {what} | {off:.1f}, {on:.1f} |"
        if made is None:
            print(f"{begin} | refused | | | |")
            continue
        first = next(cause for cause in made["causes"] if cause["cause"] != "schedule")
        found = first["cause"] == NAMED[kind] and first["rank"] == RANK
        right += found
        without, off_by = "", ""
        if found:
            without, error = f"{first['without_ms']:.1f}", 100 * (first["without_ms"] / off - 1)
            errors.append(abs(error))
            off_by = f"{error:+.1f} %"
        said = f"{first['cause']}, rank {first['rank']}"
        print(f"{begin} {made['measured_ms']:.1f} | {said if found else f'**{said}**'} | {first['ms']:.1f} | {without} | {off_by} |")
    print(f"\nNamed first: {right} of {len(names)}. Steps without the cause: off by {statistics.mean(errors):.1f} % in the "
          f"mean, {max(errors):.1f} % at most.")  # fmt: skip


def print_others(diagnosed, pairs, timed):
    clean = [name for name in pairs if name.endswith("-clean") and diagnosed[name] is not None]
    print("\n| schedule | measured, ms | " + " | ".join(name.removesuffix("-clean") for name in clean) + " |")
    print("|---|---|" + "---|" * len(clean))
    errors = {name: [] for name in clean}
    for schedule, measured in timed.items():
        cells = []
        for name in clean:
            made = {one["name"]: one["makespan_ms"] for one in diagnosed[name]["schedules"]}
            # Whoever runs PyTorch's classes of one stage a rank runs its own 1F1B, not the file.
            one_stage = diagnosed[name]["rules"] == "single" and schedule == "1f1b"
            own = schedule == diagnosed[name]["schedule"]
            error = 100 * (made[schedule] / (pairs["1f1b-clean"][0] if one_stage else measured) - 1)
            if not own:
                errors[name].append(abs(error))
            cells.append(f"({error:+.1f} %)" if own else f"{error:+.1f} %")
        print(f"| {schedule} | {measured:.1f} | {' | '.join(cells)} |")
    cells = [f"{statistics.mean(e):.1f} %, {max(e):.1f} %" for e in errors.values()]
    print(f"| mean, largest of the others | | {' | '.join(cells)} |")
    print(f"\nOff by {statistics.mean(e for of in errors.values() for e in of):.1f} % in the mean of all others.")


def print_kept(diagnosed, pairs, cause, words):
    """From each profile with @cause, which stays in every schedule, what the other classes take with it."""
    kept = {name: made for name, made in diagnosed.items() if name.endswith(f"-{cause}") and made is not None}
    errors = []
    if not kept:
        return
    for name, made in kept.items():
        found = {one["name"]: one["makespan_ms"] for one in made["schedules"]}
        for other, of in kept.items():
            # PyTorch's class 1F1B is not what its runtime for files makes of 1f1b.
            if other != name and (made["rules"] == "single" or of["schedule"] != "1f1b"):
                errors.append(abs(100 * (found[of["schedule"]] / pairs[other][1] - 1)))
    print(f"\nFrom the profiles of {words}, the other classes with it: off by {statistics.mean(errors):.1f} % in the mean of "
          f"{len(errors)}, {max(errors):.1f} % at most.")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipesim", default=os.environ.get("PIPESIM", "pipesim"))
    parser.add_argument("folder")
    arguments = parser.parse_args()
    pairs, timed = read(arguments.folder)
    diagnosed = {name: diagnose(arguments.pipesim, arguments.folder, name) for name in pairs}
    print_causes(diagnosed, pairs)
    print_others(diagnosed, pairs, timed)
    print_kept(diagnosed, pairs, "slow-rank", "a slow rank")
    print_kept(diagnosed, pairs, "host", "a late host")


if __name__ == "__main__":
    main()
