"""Every name of PyTorch's that is not public, and nothing else uses one. They are those of the versions OLDEST to NEWEST, with
which make check-pytorch and tests/torch.sh were run; a newer one is warned about."""

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

OLDEST, NEWEST = (2, 11), (2, 15)


def tested(version: str) -> bool:
    """Whether @version, as torch.__version__ has it, is none newer than those that were tried."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) <= NEWEST


if not tested(torch.__version__):
    warnings.warn(
        f"pipesim.torch was tested with PyTorch {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}, this is {torch.__version__}: "
        "private names that it uses may have changed",
        stacklevel=2,
    )
try:
    from torch.distributed.pipelining import PipelineStage, schedules
    from torch.distributed.pipelining._backward import stage_backward as backward
    from torch.distributed.pipelining._backward import stage_backward_input as backward_input
    from torch.distributed.pipelining._backward import stage_backward_weight as backward_weight

    Runtime = schedules._PipelineScheduleRuntime
except (ImportError, AttributeError) as error:
    raise ImportError(f"PyTorch {torch.__version__} is not of {OLDEST} to {NEWEST}: {error}") from error

__all__ = [
    "Alone", "LOSS", "OPS", "Runtime", "Stage", "backward", "backward_input", "backward_weight", "default_store", "is_view",
    "load_order", "order_of", "scaled_product", "stages_of", "tested",
]  # fmt: skip

# What runs one op of a stage, and its kind by the options that it gets.
OPS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("forward_one_chunk", lambda options: "F"),
    ("backward_one_chunk", lambda options: "B" if options.get("full_backward", True) else "I"),
    ("backward_weight_one_chunk", lambda options: "W"),
)
LOSS = "_maybe_compute_loss"  # of a schedule, called with a stage first


class Stage(PipelineStage):
    """PyTorch's stage, on gloo too: PyTorch first opens a connection to each neighbour, in a V also
    to itself, which gloo refuses and does not need, nor does a rank without neighbours."""

    def _get_init_p2p_neighbors_ops(self) -> list[dist.P2POp]:
        if self.device.type == "cpu" or self.group_size == 1:
            return []
        inner: Any = super()  # 2.15 has none, and asks for none
        return list(inner._get_init_p2p_neighbors_ops())


class Alone(Stage):
    """A stage that has no neighbours."""

    def _get_init_p2p_neighbors_ops(self) -> list[dist.P2POp]:
        return []


def stages_of(schedule: Any) -> list[Any]:
    """The stages of this rank in any of PyTorch's schedules."""
    return [schedule._stage] if hasattr(schedule, "_stage") else list(schedule._stages)


def load_order(stages: Sequence[Any], count: int, loss: Any, path: str, with_comms: bool, **options: Any) -> Any:
    """PyTorch's runtime for schedule files, with the order of @path."""
    schedule: Any = Runtime(list(stages), n_microbatches=count, loss_fn=loss, **options)
    schedule._load_csv(path, format="compute_comms" if with_comms else "compute_only")
    return schedule


def is_view(tensor: torch.Tensor) -> bool:
    return tensor._is_view()


def scaled_product(left: torch.Tensor, right: torch.Tensor, one: torch.Tensor, fast: bool) -> torch.Tensor:
    """A product of FP8 operands, in BF16."""
    return torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)


def default_store() -> Any:
    """Where processes of a group leave words for each other, past the device."""
    return dist.distributed_c10d._get_default_store()


def order_of(name: str, ranks: int, microbatches: int, chunks: int = 2) -> dict[int, list[Any]]:
    """The order of ops that PyTorch's schedule class of that name makes, by rank, without processes or GPUs. @chunks: stages of a rank,
    where the class has several. ValueError where this process is of a group already."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise ValueError("this process is of a group; ask for the order before it is")
    make = schedules.get_schedule_class(name)
    single = issubclass(make, schedules.PipelineScheduleSingle)
    if make in (schedules.ScheduleZBVZeroBubble, schedules.ScheduleDualPipeV):
        mine = [0, 2 * ranks - 1]
    else:
        mine = [ranks * chunk for chunk in range(1 if single else chunks)]
    total = ranks * len(mine)
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        stages = [PipelineStage(torch.nn.Identity(), stage, total, torch.device("cpu")) for stage in mine]
        anyway: Any = make
        schedule = anyway(stages[0] if single else stages, n_microbatches=microbatches, loss_fn=lambda *_: None)
        return dict(schedule.pipeline_order)
    finally:
        dist.destroy_process_group()
