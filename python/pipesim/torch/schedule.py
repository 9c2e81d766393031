"""Schedule files, given to PyTorch's pipeline runtime."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.pipelining import schedules

from ..cells import microbatches, placement, read
from .private import Stage, load_order


@dataclass
class Pipeline:
    """A schedule of PyTorch with the stages of this rank: schedule.step() runs a step."""

    name: str
    schedule: Any
    stages: list[Any]
    microbatches: int
    rank_of: dict[int, int] = field(default_factory=dict)

    @property
    def stage_count(self) -> int:
        return int(self.stages[0].num_stages)


def load(what: str, build: Any, loss: Any, device: torch.device, count: int | None = None, group: Any = None, **options: Any) -> Pipeline:
    """A Pipeline that runs the schedule file @what, or PyTorch's class of that name of one stage a
    rank (1F1B, GPipe) with @count micro-batches. @build(stage, stages) makes the module of a stage
    of this rank. NAME.comms.csv holds sends and receives too. @options go to PyTorch's schedule.
    ValueError where the file is none or does not fit the number of ranks."""
    if what.endswith(".csv"):
        return _load_file(what, build, loss, device, group, options)
    make = schedules.get_schedule_class(what)
    if not issubclass(make, schedules.PipelineScheduleSingle):
        raise ValueError(f"{what}: a schedule of several stages a rank is given as a file")
    if count is None:
        raise ValueError(f"{what}: how many micro-batches?")
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    stage = Stage(build(rank, ranks), rank, ranks, device, group=group)
    schedule = make(stage, n_microbatches=count, loss_fn=loss, **options)
    place = {stage: stage for stage in range(ranks)}
    return Pipeline(f"class-{what.lower()}", schedule, [stage], count, place)


def _load_file(path: str, build: Any, loss: Any, device: torch.device, group: Any, options: dict[str, Any]) -> Pipeline:
    rows = read(path)
    rank_of = placement(rows)
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    if len(rows) != ranks:
        raise ValueError(f"{path}: of {len(rows)} ranks, there are {ranks}")
    count, total = microbatches(rows), len(rank_of)
    mine = sorted(stage for stage, where in rank_of.items() if where == rank)
    stages = [Stage(build(stage, total), stage, total, device, group=group) for stage in mine]
    schedule = load_order(stages, count, loss, path, path.endswith(".comms.csv"), **options)
    name = os.path.basename(path).removesuffix(".csv")
    return Pipeline(name, schedule, stages, count, rank_of)
