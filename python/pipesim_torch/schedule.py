"""Schedule files, read without PyTorch's lax reader, and given to its pipeline runtime."""

import os
import re
from dataclasses import dataclass, field
from typing import Any

import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

_CELL = re.compile(
    r"(\d+)(F|I|W|B|SEND_F|RECV_F|SEND_B|RECV_B|WAIT_SEND_F|WAIT_SEND_B)(\d+)"
    r"|(\d+)(UNSHARD|RESHARD|REDUCE_GRAD|WAIT_REDUCE_GRAD)"
)
_PAIR = re.compile(r"\(([^;]*);([^;]*)\)OVERLAP_F_B")


def parse_cell(text):
    """"3F2" -> (3, "F", 2); "1UNSHARD" -> (1, "UNSHARD", None); a pair -> both halves."""
    pair = _PAIR.fullmatch(text)
    if pair:
        return parse_cell(pair[1]), parse_cell(pair[2])
    cell = _CELL.fullmatch(text)
    if cell is None:
        raise ValueError(f"cell '{text}' is no action")
    if cell[2]:
        return int(cell[1]), cell[2], int(cell[3])
    return int(cell[4]), cell[5], None


def read(path):
    """The cells of a file: a list a rank, empty cells left out."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    return [[parse_cell(cell) for cell in line.split(",") if cell] for line in lines]


def flat(row):
    """The actions of a rank, a pair as its two halves, one after the other."""
    for action in row:
        if isinstance(action[0], tuple):
            yield from action
        else:
            yield action


def placement(rows):
    """Which rank runs each stage; ValueError where two do."""
    rank_of = {}
    for rank, row in enumerate(rows):
        for stage, kind, _ in flat(row):
            if kind in "FIWB" and rank_of.setdefault(stage, rank) != rank:
                raise ValueError(f"stage {stage} on ranks {rank_of[stage]} and {rank}")
    return rank_of


def microbatches(rows):
    return 1 + max(m for row in rows for _, kind, m in flat(row) if kind == "F")


class Stage(PipelineStage):
    """PyTorch's stage, on gloo too: PyTorch first opens a connection to each neighbour, in a V also
    to itself, which gloo refuses and does not need."""

    def _get_init_p2p_neighbors_ops(self):
        return [] if self.device.type == "cpu" else super()._get_init_p2p_neighbors_ops()


@dataclass
class Pipeline:
    """A schedule of PyTorch with the stages of this rank: schedule.step() runs a step."""

    name: str
    schedule: Any
    stages: list
    microbatches: int
    rank_of: dict = field(default_factory=dict)

    @property
    def stage_count(self):
        return self.stages[0].num_stages


def load(what, build, loss, device, count=None, group=None, **options):
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


def _load_file(path, build, loss, device, group, options):
    rows = read(path)
    rank_of = placement(rows)
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    if len(rows) != ranks:
        raise ValueError(f"{path}: of {len(rows)} ranks, there are {ranks}")
    count, total = microbatches(rows), len(rank_of)
    mine = sorted(stage for stage, where in rank_of.items() if where == rank)
    stages = [Stage(build(stage, total), stage, total, device, group=group) for stage in mine]
    schedule = schedules._PipelineScheduleRuntime(
        stages, n_microbatches=count, loss_fn=loss, **options
    )
    with_comms = path.endswith(".comms.csv")
    schedule._load_csv(path, format="compute_comms" if with_comms else "compute_only")
    name = os.path.basename(path).removesuffix(".csv")
    return Pipeline(name, schedule, stages, count, rank_of)
