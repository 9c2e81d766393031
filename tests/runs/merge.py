"""One file of those of several ranks, as those who look at them in a viewer merge them:

    merge.py WAY OUT FILE.json.gz...

label   a word before each process ("[PP01] 4711"), as SGLang's ProfileMerger has it
behind  the rank behind each ("4711_1"), events alone without what stands beside them, as Triton-distributed has it
tag     the rank in args, and numbers of processes and correlations of each rank beyond those of the last: TraceLens
number  one process a rank for host and GPU, whose name has the rank
join    as they are, one file behind the other: jq -s '{traceEvents: map(.traceEvents) | add}'
alone   the same where each process sees its GPU alone, which is then number 0
sort    the first, by time

What is said of the run as a whole is that of the first file; its rank is not kept.
"""

import gzip
import json
import sys

ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")


def change(way, rank, event):
    pid = event.get("pid")
    if way == "label":
        event["pid"] = f"[PP{rank:02}] {pid}"
    elif way == "behind":
        event["pid"] = f"{pid}_{rank}"
    elif way == "number":
        event["pid"] = rank + 1
    elif way == "tag":
        arguments = event.setdefault("args", {})
        arguments["rank"] = rank
        if isinstance(pid, int):
            event["pid"] = pid + rank * 100000
        if "correlation" in arguments:
            arguments["correlation"] += rank * 10**8
    elif way == "alone" and event.get("cat") in ON_GPU:
        event["pid"] = 0
    return event


def main():
    way, out, *files = sys.argv[1:]
    events, whole = [], {}
    for name in files:
        with gzip.open(name) as file:
            trace = json.load(file)
        rank = trace["distributedInfo"].pop("rank")
        whole = whole or trace
        events += [change(way, rank, event) for event in trace["traceEvents"]]
        if way == "number":
            names = {"ph": "M", "name": "process_name", "pid": rank + 1, "args": {"name": f"Rank {rank}"}}
            events.append(names)
    if way == "sort":
        events.sort(key=lambda event: event.get("ts", 0))
    with open(out, "w", encoding="utf-8") as file:
        file.write(json.dumps(events if way == "behind" else {**whole, "traceEvents": events}))


if __name__ == "__main__":
    main()
