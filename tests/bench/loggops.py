#!/usr/bin/env python3
"""Process times of pipesim beside LogGOPSim's: 1F1B as the rules of runtimes run it, from a built-in order and from a file.

    loggops.py PIPESIM LOGGOPSIM [PP [M]]

LOGGOPSIM is the path of https://github.com/spcl/LogGOPSim, built as its README says. It is run without times of
messages and prints when the last rank ends, in ns.
Prints, never asserts, but for the step, which has to be the same.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

RUNTIMES = ("async", "pytorch-2.11", "pytorch-2.15", "megatron", "deepseek", "single")
F, B = 1, 2  # ms
RUNS = 60
SEND, RECEIVE, COMPUTE = 1, 2, 3


def order(pp, m, rank):
    """1F1B on @rank: (backward, micro-batch)."""
    warm_up = min(pp - 1 - rank, m)
    ops = [(0, i) for i in range(warm_up)]
    for i in range(m - warm_up):
        ops += [(0, warm_up + i), (1, i)]
    return ops + [(1, i) for i in range(m - warm_up, m)]


def rank_bytes(pp, m, rank):
    """The list of @rank as LogGOPSim keeps it: nodes, then who waits for each."""
    nodes, followers = [], []

    def add(kind, peer, size, tag, *needs):
        for need in needs:
            followers[need].append(len(nodes))
        nodes.append((len(needs), kind, peer, size, tag, 0, 0))
        followers.append([])
        return len(nodes) - 1

    last = []
    for backward, i in order(pp, m, rank):
        source, target = (rank + 1, rank - 1) if backward else (rank - 1, rank + 1)
        tag = 2 * i + backward
        needs = last + ([add(RECEIVE, source, 1, tag)] if 0 <= source < pp else [])
        last = [add(COMPUTE, 0, (B if backward else F) * 10**6, 0, *needs)]
        if 0 <= target < pp:
            add(SEND, target, 1, tag, *last)
    roots = [i for i, node in enumerate(nodes) if node[0] == 0]
    rows, behind = [], []
    for node, who in zip(nodes, followers):
        rows.append(struct.pack("<IbIQIBBIIII", *node, len(who), len(behind), 0, len(behind) + len(who)))
        behind += who
    return (struct.pack(f"<II{len(roots)}I", len(nodes), len(roots), *roots) + b"".join(rows)
            + struct.pack(f"<{len(behind)}I", *behind))


def write_schedule(path, pp, m):
    parts = [rank_bytes(pp, m, rank) for rank in range(pp)]
    at, places = 6 + 16 * pp, b""
    for part in parts:
        places += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    with open(path, "wb") as file:
        file.write(struct.pack("<QIBB", 4223, pp, 0, 0) + places + b"".join(parts))


def least(command):
    """Process time, ms."""
    times = []
    for _ in range(RUNS):
        quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(command)}: status {status}")
        times.append(usage.ru_utime + usage.ru_stime)
    return 1e3 * min(times)


def step_of(command, pattern):
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(pattern, text)
    return float(found.group(1)) if found else sys.exit(f"{' '.join(command)}: no step in its output")


def main(pipesim, loggopsim, pp="64", m="1024"):
    with tempfile.TemporaryDirectory() as folder:
        schedule, csv = os.path.join(folder, "1f1b.bin"), os.path.join(folder, "1f1b.csv")
        write_schedule(schedule, int(pp), int(m))
        subprocess.run([pipesim, "export", "--pp", pp, "-m", m, "1f1b", "-o", csv], check=True)
        times = ["--times", f"F={F},B={B},W=0"]
        other = [loggopsim, "-b", "-f", schedule, *(part for letter in "LogGO" for part in (f"-{letter}", "0"))]
        own = step_of([pipesim, "-s", csv, *times, "-f", "json"], r'"makespan_ms": ([0-9.]+)')
        if step_of(other, r"(?i)maximum finishing time.*?([0-9]{6,})") != own * 1e6:
            sys.exit("the two steps differ")
        base = least(other)
        print(f"1F1B, PP {pp}, {m} micro-batches: {own:g} ms by both; process time, least of {RUNS}")
        print(f"LogGOPSim               {base:7.1f} ms")
        for runtime in RUNTIMES:
            built_in = least([pipesim, "--pp", pp, "-m", m, "-s", "1f1b", *times, "--runtime", runtime])
            file = least([pipesim, "-s", csv, *times, "--runtime", runtime])
            print(f"pipesim, {runtime:14} {built_in:7.1f} ms built in ({base / built_in:3.0f} times),"
                  f" {file:5.1f} from a file ({base / file:3.0f} times)")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
