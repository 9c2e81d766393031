"""What a step holds at most on each rank in PyTorch's runtime (2.11), from a capture and the order of ops.

A rank runs one op after the other, so its order alone decides. Besides what a stage holds of a micro-batch,
the runtime keeps a buffer for every message of a step that a rank receives, from the first step on; gradients
come into being with the first W or B of a stage; and until the step ends it keeps the gradient of its input of each
micro-batch whose backward was split, and what the graph of the loss holds."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Iterable, Mapping
from typing import IO, Any

from . import cells

# Names of models and of files may be in any script, or be no text at all.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}

KINDS = "FIWB"


def open_trace(path: str) -> IO[str]:
    file: IO[str] = gzip.open(path, "rt", **TEXT) if path.endswith(".gz") else open(path, **TEXT)
    return file


def metadata_of(path: str) -> dict[str, str]:
    """The metadata of a trace: a dictionary of texts."""
    with open_trace(path) as file:
        rows = itertools.takewhile(lambda row: row and row[0].startswith("#"), csv.reader(file))
        return {row[0][1:]: ",".join(row[1:]) for row in rows}


class Stages:
    """Bytes by stage, as a capture's metadata has them; ValueError where it has not."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        def read(name: str) -> list[int]:
            if name not in metadata:
                raise ValueError(f"the capture has no {name}; capture it again")
            return [int(cell) for cell in metadata[name].split(";")]

        self.parameters = read("stage_parameters_only_bytes")
        self.gradients = read("stage_gradients_only_bytes")
        self.optimizer = read("stage_optimizer_only_bytes")
        self.after = {kind: read(f"stage_after_{kind.lower()}_bytes") for kind in KINDS}
        self.working = {kind: read(f"stage_working_{kind.lower()}_bytes") for kind in KINDS}
        self.first = {kind: read(f"stage_first_{kind.lower()}_bytes") for kind in "WB"}
        self.message = int(metadata.get("pp_message_bytes", 0))
        self.count = len(self.parameters)


class Rank:
    """One rank, op by op."""

    def __init__(self, stages: Stages, mine: Iterable[int], count: int) -> None:
        self.stages, self.mine = stages, mine
        self.touched: set[int] = set()
        # Between two stages of one rank the buffers are the tensors themselves, of this step or the last.
        self.local = {stage for stage in mine if stage + 1 in mine}
        ends = sum((stage > 0) + (stage < stages.count - 1) for stage in mine)
        self.held = self.peak = ends * count * stages.message

    def run(self, stage: int, kind: str) -> None:
        held, message, after = self.held, self.stages.message, self.stages.after
        working = self.stages.working[kind][stage]
        if kind == "F":
            held += after["F"][stage] - message * (stage in self.local)
        elif kind == "I":
            held += after["I"][stage] - after["F"][stage] - message * (stage - 1 in self.local)
        else:
            if stage not in self.touched:
                self.touched.add(stage)
                working = self.stages.first[kind][stage]
                held += self.stages.gradients[stage]
            held += after[kind][stage] - after["I" if kind == "W" else "F"][stage]
            held += message * (stage in self.local)
        self.peak = max(self.peak, self.held + working, held)
        self.held = held

    def standing(self) -> int:
        """What is there whatever runs."""
        stages = self.stages
        return sum(stages.parameters[stage] + stages.optimizer[stage] for stage in self.mine)


def peak_bytes(metadata: Mapping[str, Any], rows: cells.Rows) -> list[int]:
    """Most bytes that a step holds on each rank, parameters and optimizer's state included, inputs of the first
    and targets of the last stage not. @metadata of a capture, @rows of cells.read(). ValueError where both
    have other numbers of stages, or the capture was made without a GPU."""
    stages, rank_of = Stages(metadata), cells.placement(rows)
    if len(rank_of) != stages.count:
        raise ValueError(f"{stages.count} stages were captured, the schedule has {len(rank_of)}")
    if not any(stages.after["F"]):
        raise ValueError("the capture knows no bytes of activations: it was made without a GPU")
    peaks, count = [], cells.microbatches(rows)
    for number, row in enumerate(rows):
        mine = sorted(stage for stage, where in rank_of.items() if where == number)
        rank = Rank(stages, mine, count)
        for stage, kind, _ in cells.flat(row):
            if kind in KINDS:
                rank.run(stage, kind)
        peaks.append(rank.peak + rank.standing())
    return peaks
