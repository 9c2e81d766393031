#!/usr/bin/env python3
"""Profiles of torch.profiler without what pipesim does not read: python3 trim.py FILE.json[.gz] OUT.json.gz [STEPS]

Where a GPU did something operators of the host go, else only the outermost stay. No stacks, shapes, flows and
counters; of arguments those of collectives, streams and correlations; of the file's head what tells rank and device.
STEPS: so many of its first steps, by the ranges that the profiler sets around them.
"""
import gzip
import json
import sys

ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver")
ARGUMENTS = ("stream", "correlation", "Collective name", "Process Group Description", "Process Group Name",
             "Process Group Ranks", "In msg nelems")
HEAD = {"schemaVersion": None, "baseTimeNanoseconds": None, "distributedInfo": ("backend", "rank", "world_size"),
        "deviceProperties": ("id", "name", "numSms")}


def outermost(events):
    """Operators that lie in no other of their thread."""
    end = {}
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        thread = (event["pid"], event["tid"])
        if event["ts"] >= end.get(thread, float("-inf")):
            end[thread] = event["ts"] + event["dur"]
            yield event


def short(event):
    args = {key: value for key, value in event.get("args", {}).items() if key in ARGUMENTS}
    out = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur") if key in event}
    return {**out, "args": args} if args else out


def trim(text, steps):
    profile = json.loads(text)
    events = [event for event in profile["traceEvents"] if event.get("ph") == "X"]
    if steps is not None:
        begins = sorted(event["ts"] for event in events
                        if event["name"].startswith("ProfilerStep#") and event.get("cat") == "user_annotation")
        late = {event["args"]["correlation"] for event in events
                if event.get("cat") in LAUNCHES and event["ts"] >= begins[steps]}
        events = [event for event in events if event["ts"] < begins[steps]
                  and not (event.get("cat") in ACTIVITIES and event["args"].get("correlation") in late)]
    ran = [event for event in events if event.get("cat") in ACTIVITIES]
    used = {event["args"]["correlation"] for event in ran if "correlation" in event.get("args", {})}
    kept = ran + [event for event in events if event.get("cat") in LAUNCHES
                  and event.get("args", {}).get("correlation") in used]
    kept += [event for event in events if event.get("cat") in ("user_annotation", "gpu_user_annotation")]
    if not ran:
        kept += outermost([event for event in events if event.get("cat") == "cpu_op"])
    out = {}
    for key, members in HEAD.items():
        value = profile.get(key)
        if isinstance(value, dict):
            value = {member: value[member] for member in members if member in value}
        elif isinstance(value, list):
            value = [{member: one[member] for member in members if member in one} for one in value[:1]]
        if value is not None:
            out[key] = value
    out["traceEvents"] = [short(event) for event in sorted(kept, key=lambda e: e["ts"])]
    return json.dumps(out, separators=(",", ":"))


def main():
    source, target = sys.argv[1:3]
    opened = gzip.open if source.endswith(".gz") else open
    with opened(source, "rt", encoding="utf-8") as file:
        text = trim(file.read(), int(sys.argv[3]) if len(sys.argv) > 3 else None)
    with open(target, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as out:
        out.write(text.encode())


if __name__ == "__main__":
    main()
