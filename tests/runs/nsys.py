"""Those of several ranks as one node's export of Nsight Systems to SQLite: nsys.py new|old OUT.sqlite FILE.json.gz...

new     names of ranges in StringIds, as PyTorch sets them for NVTX (emit_nvtx); what is not told is NULL
old     names in place; what is not told is 0 or "", as fields were NOT NULL

Tables and columns are those of NVIDIA's schema reference that pipesim reads, and what stands beside these. It has no ranges
around steps, no groups of ranks, no size of the run. Where those name Megatron-LM's a range of its --nvtx-ranges stands for them.
"""

import gzip
import json
import sqlite3
import sys

TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, smCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    text TEXT, globalTid INTEGER, textId INTEGER);
"""
ON_GPU = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET"}
LAUNCHES = ("cuda_runtime", "cuda_driver")
MEGATRON = "megatron.core.transformer.transformer_layer._forward_attention.self_attention"
COPIES = ("", "HtoD", "DtoH", "", "", "", "", "", "DtoD")  # by copyKind


class Export:
    def __init__(self, path, old):
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)
        self.old, self.texts = old, {}

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts) + 1)

    def add(self, table, values):
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} VALUES ({marks})", values)

    def add_range(self, start, end, name, thread, kind=59):
        missing = 0 if self.old else None
        end = missing if end is None else end
        text = (name, missing) if self.old else (None, self.text(name))
        self.add("NVTX_EVENTS", (None, start, end, kind, text[0], thread, text[1]))

    def add_event(self, event, times, device, process):
        kind, arguments = event["cat"], event.get("args", {})
        thread = process | event["tid"] if isinstance(event["tid"], int) else process
        if kind in ON_GPU:
            what = {"kernel": lambda: self.text(event["name"]), "gpu_memset": lambda: 0,
                    "gpu_memcpy": lambda: COPIES.index(event["name"].split()[1])}[kind]()
            self.add("CUPTI_ACTIVITY_KIND_" + ON_GPU[kind],
                     (*times, device, arguments["stream"], arguments.get("correlation", 0), process, what))
        elif kind in LAUNCHES:
            self.add("CUPTI_ACTIVITY_KIND_RUNTIME",
                     (*times, thread, arguments.get("correlation", 0), self.text(event["name"])))
        elif kind == "user_annotation" and not event["name"].startswith("ProfilerStep#"):
            self.add_range(*times, event["name"] + ("" if self.old else ", op_id = 7"), thread)

    def finish(self):
        self.db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, text) for text, i in self.texts.items()])
        self.db.commit()


def main():
    way, out, *files = sys.argv[1:]
    ranks = []
    for name in files:
        with gzip.open(name) as file:
            ranks.append(json.load(file))
    begin = min(event["ts"] for rank in ranks for event in rank["traceEvents"] if event["ph"] == "X")
    export = Export(out, way == "old")
    export.add("TARGET_INFO_SESSION_START_TIME",
               (ranks[0].get("baseTimeNanoseconds", 0) + round(begin * 1000), "", ""))
    for device, rank in enumerate(ranks):
        process = 1 << 56 | 4711 + device << 24
        export.add("TARGET_INFO_GPU", (0, device, rank["deviceProperties"][0]["name"], 132))
        export.add_range(1, None, "a mark", process | 1, 34)
        export.add_range(2, None, "open to the end", process | 1, 60)
        if "_PARALLEL_GROUP" in json.dumps(rank):
            export.add_range(3, 4, MEGATRON, process | 1)
        for event in rank["traceEvents"]:
            if event["ph"] == "X" and "cat" in event:
                start = round((event["ts"] - begin) * 1000)
                export.add_event(event, (start, start + round(event["dur"] * 1000)), device, process)
    export.finish()


if __name__ == "__main__":
    main()
