#!/usr/bin/env python3
"""What kernels of profiles took, ms, by sort: sorts.py FILE.json.gz ...

The first column is from the first kernel to the last; the second what no kernel on the stream of the products ran of it.
"""
import gzip
import json
import sys
from pathlib import Path

ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
SORTS = {"attention forward": ("fprop", "flash_fwd"), "attention backward": ("bprop", "flash_bwd"), "products": ("nvjet", "gemm"),
         "exchange": ("nccl",)}


def sort_of(name):
    return next((sort for sort, words in SORTS.items() if any(word in name for word in words)), "others")


def idle(events):
    """ms between the first and the last of @events in which none ran."""
    end, waited = None, 0
    for event in sorted(events, key=lambda e: e["ts"]):
        waited += max(0, event["ts"] - end) if end is not None else 0
        end = max(end or 0, event["ts"] + event["dur"])
    return waited / 1e3


def main():
    print("| profile | step | idle |", " | ".join([*SORTS, "others"]), "|")
    print("|---" * (len(SORTS) + 4) + "|")
    for name in sys.argv[1:]:
        with gzip.open(name) as file:
            ran = [event for event in json.load(file)["traceEvents"] if event.get("cat") in ACTIVITIES]
        took = dict.fromkeys([*SORTS, "others"], 0)
        for event in ran:
            took[sort_of(event["name"])] += event["dur"] / 1e3
        span = (max(event["ts"] + event["dur"] for event in ran) - min(event["ts"] for event in ran)) / 1e3
        stream = next(event["args"]["stream"] for event in ran if sort_of(event["name"]) == "products")
        here = [event for event in ran if event["args"].get("stream") == stream]
        figures = [span, idle(here), *took.values()]
        print(f"| {Path(name).name.split('-rank')[0]} |", " | ".join(f"{value:.1f}" for value in figures), "|")


if __name__ == "__main__":
    main()
