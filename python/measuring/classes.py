"""PyTorch's own schedule classes by name, with the stages that each has on a rank; and files of schedules."""

import torch.distributed as dist
from pipesim.torch import load
from pipesim.torch.private import Stage
from pipesim.torch.schedule import Pipeline
from torch.distributed.pipelining import schedules

VEES = (schedules.ScheduleZBVZeroBubble, schedules.ScheduleDualPipeV)


def load_any(what, build, loss, device, count, group=None, chunks=2, **options):
    """A Pipeline: @what is a file, or a class such as GPipe or Interleaved1F1B, with @count micro-batches. Classes
    of several stages have @chunks of them on a rank, those of a V two."""
    if what.endswith(".csv"):
        return load(what, build, loss, device, count, group, **options)
    make = schedules.get_schedule_class(what)
    if issubclass(make, schedules.PipelineScheduleSingle):
        return load(what, build, loss, device, count, group, **options)
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    total = ranks * (2 if make in VEES else chunks)
    if make in VEES:
        rank_of = {s: min(s, total - 1 - s) for s in range(total)}
    else:
        rank_of = {s: s % ranks for s in range(total)}
    mine = [stage for stage, where in rank_of.items() if where == rank]
    stages = [Stage(build(s, total), s, total, device, group=group) for s in mine]
    schedule = make(stages, n_microbatches=count, loss_fn=loss, **options)
    return Pipeline(f"class-{what.lower()}", schedule, stages, count, rank_of)
