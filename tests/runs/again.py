"""A run as if it had been recorded for several steps of the same length: again.py STEPS MARKS OUT-FOLDER FILE.json.gz...

Each file's events follow themselves, as much later as all files together last; MARKS is "marked" where torch.profiler says
where steps begin (ProfilerStep#N), else "plain".
"""

import gzip
import json
import os
import sys

LATER = 10**8  # of correlations


def later(event, step, length):
    out = {**event, "ts": event["ts"] + step * length}
    if "correlation" in event.get("args", {}):
        out["args"] = {**event["args"], "correlation": event["args"]["correlation"] + step * LATER}
    return out


def main():
    steps, marks, folder, *files = int(sys.argv[1]), *sys.argv[2:]
    traces = []
    for name in files:
        with gzip.open(name) as file:
            traces.append(json.load(file))
    bounds = [(event["ts"], event["ts"] + event["dur"]) for trace in traces for event in trace["traceEvents"]]
    begin, length = min(bounds)[0], max(end for _, end in bounds) - min(bounds)[0]
    for name, trace in zip(files, traces):
        once = [event for event in trace["traceEvents"] if not event["name"].startswith("ProfilerStep#")]
        host = next(event for event in once if event.get("cat") in ("cpu_op", "cuda_runtime"))
        trace["traceEvents"] = [later(event, step, length) for step in range(steps) for event in once]
        for step in range(steps if marks == "marked" else 0):
            trace["traceEvents"].append(
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": host["pid"],
                 "tid": host["tid"], "ts": begin + step * length, "dur": length})
        with open(os.path.join(folder, os.path.basename(name).removesuffix(".gz")), "w", encoding="utf-8") as file:
            file.write(json.dumps(trace))  # dump() would go by Python, not by C


if __name__ == "__main__":
    main()
