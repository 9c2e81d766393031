"""Time and agreement between processes: on GPUs with events, on a CPU with its clock."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
import torch.distributed as dist

from .place import gpu_of


class Clock:
    """Instants on the device's stream, or on the CPU."""

    def __init__(self, device: torch.device) -> None:
        self.on_gpu = device.type == "cuda"

    def now(self) -> Any:
        if not self.on_gpu:
            return time.perf_counter_ns()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin: Any, end: Any) -> int:
        """ns; only after the device has got there."""
        if not self.on_gpu:
            return int(end - begin)
        return round(float(begin.elapsed_time(end)) * 1e6)

    def wait_for(self, instant: Any) -> None:
        """Until the device has got there."""
        if self.on_gpu:
            instant.synchronize()


def start() -> torch.device:
    """The process group, if torchrun started several processes, and this process's device: a GPU
    where there is one, over NCCL; else the CPU, over gloo."""
    several = "RANK" in os.environ
    index = gpu_of(int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count())
    if index is not None:
        device = torch.device("cuda", index)
        torch.cuda.set_device(device)
        if several:
            dist.init_process_group("nccl", device_id=device)
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)
        if several:
            dist.init_process_group("gloo")
    return device


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def ranks() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def drain(device: torch.device) -> None:
    """Until the device has nothing left to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def settle(device: torch.device) -> None:
    """Until no device of any rank has anything left to do."""
    drain(device)
    if dist.is_initialized():
        dist.barrier()
        drain(device)


def gather(value: Any) -> list[Any]:
    """@value of each rank, on all of them."""
    if not dist.is_initialized():
        return [value]
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, value)
    return gathered


def largest(value: float, device: torch.device) -> float:
    """The largest @value of any rank."""
    if not dist.is_initialized():
        return float(value)
    tensor = torch.tensor(float(value), dtype=torch.float64, device=device)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    return tensor.item()


def say(text: str) -> None:
    if rank() == 0:
        print(text, flush=True)
