"""Names for the ops of any of PyTorch's schedules, and times of ops and steps."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.distributed.pipelining import schedules
from torch.profiler import record_function

from .clock import Clock, drain, rank, ranks
from .private import LOSS, OPS, Runtime, stages_of

# Of a stage, the kind of an op and its micro-batch.
Around = Callable[[Any, str, int], AbstractContextManager[Any]]


@contextlib.contextmanager
def wrapped(schedule: Any, around: Around) -> Iterator[None]:
    """While the block runs, around(stage, kind, microbatch), a context manager, surrounds each op of
    @schedule's stages on this rank."""
    stages = stages_of(schedule)

    def wrap(stage: Any, method: str, kind: Callable[[dict[str, Any]], str]) -> None:
        inner = getattr(stage, method)

        def outer(microbatch: int, *arguments: Any, **options: Any) -> Any:
            with around(stage, kind(options), microbatch):
                return inner(microbatch, *arguments, **options)

        setattr(stage, method, outer)

    for stage in stages:
        for method, kind in OPS:
            wrap(stage, method, kind)
    try:
        yield
    finally:
        for stage in stages:
            for method, _ in OPS:
                delattr(stage, method)


@contextlib.contextmanager
def annotate(schedule: Any, steps: str | None = None) -> Iterator[Any]:
    """While the block runs, each op of @schedule lies in a range as PyTorch's runtime for schedule files
    names them (PP:3F2), in profiles of PyTorch and, on a GPU, of Nsight; that runtime itself is left
    as it is. @steps: a path to which the times of schedule.step() are written when the block ends."""
    with contextlib.ExitStack() as stack:
        if not isinstance(schedule, Runtime):
            stack.enter_context(wrapped(schedule, _named))
        if steps is not None:
            stack.enter_context(step_times(schedule, steps))
        yield schedule


@contextlib.contextmanager
def annotate_all(steps: str | None = None) -> Iterator[None]:
    """The same for every schedule that takes a step while the block runs. @steps: a path; that of a
    further schedule of this process gets a number, that of one of several ranks its rank."""
    classes = schedules.PipelineScheduleSingle, schedules.PipelineScheduleMulti
    inner: dict[Any, Any] = {kind: kind.step for kind in classes}
    seen: list[Any] = []

    def path() -> str | None:
        if steps is None:
            return None
        stem, extension = os.path.splitext(steps)
        number = f"-{len(seen)}" if len(seen) > 1 else ""
        return f"{stem}{number}{f'-rank{rank()}' if ranks() > 1 else ''}{extension}"

    def wrap(kind: Any, stack: contextlib.ExitStack) -> None:
        def outer(self: Any, *arguments: Any, **options: Any) -> Any:
            if any(self is one for one in seen):
                return inner[kind](self, *arguments, **options)
            seen.append(self)
            stack.enter_context(annotate(self, path()))
            return self.step(*arguments, **options)

        kind.step = outer

    with contextlib.ExitStack() as stack:
        for kind in classes:
            wrap(kind, stack)
        try:
            yield
        finally:
            for kind, step in inner.items():
                kind.step = step


def _named(stage: Any, kind: str, microbatch: int) -> record_function:
    return record_function(f"PP:{stage.stage_index}{kind}{microbatch}")


@contextlib.contextmanager
def step_times(schedule: Any, path: str) -> Iterator[list[tuple[int, int]]]:
    """Writes how long each step of @schedule took on this rank, in ns from the first to the last op on
    its stream, and on the process's clock until they were done."""
    device = stages_of(schedule)[0].device
    clock, wall, inner, taken = Clock(device), Clock(torch.device("cpu")), schedule.step, []

    def outer(*arguments: Any, **options: Any) -> Any:
        begin = clock.now(), wall.now()
        result = inner(*arguments, **options)
        end = clock.now()
        drain(device)
        taken.append((clock.between(begin[0], end), wall.between(begin[1], wall.now())))
        return result

    schedule.step = outer
    try:
        yield taken
    finally:
        del schedule.step
        with open(path, "w", encoding="ascii", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["step", "dur_ns", "wall_ns"])
            writer.writerows([step, *took] for step, took in enumerate(taken))


class Recorder:
    """Times the ops of a pipeline's stages on this rank while a `with` block runs. The loss belongs to
    the forward of the last stage. With @memory also bytes after each op and most within it."""

    def __init__(self, schedule: Any, memory: bool = False) -> None:
        self._schedule = schedule
        self._device = stages_of(schedule)[0].device
        self._memory = memory and self._device.type == "cuda"
        self._clock, self._origin = Clock(self._device), None
        self._spans: list[tuple[Any, ...]] = []

    def __enter__(self) -> Recorder:
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(wrapped(self._schedule, self._around))
        inner = getattr(self._schedule, LOSS)

        def outer(stage: Any, *arguments: Any) -> Any:
            result = inner(stage, *arguments)
            if stage.is_last and self._spans:
                self._spans[-1] = (*self._spans[-1][:4], self._clock.now(), *self._spans[-1][5:])
            return result

        setattr(self._schedule, LOSS, outer)
        self._stack.callback(delattr, self._schedule, LOSS)
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def begin(self) -> None:
        """Starts are counted from here."""
        self._origin = self._clock.now()

    @contextlib.contextmanager
    def _around(self, stage: Any, kind: str, microbatch: int) -> Iterator[None]:
        if self._memory:
            torch.cuda.reset_peak_memory_stats(self._device)
        begin = self._clock.now()
        yield
        end = self._clock.now()
        held: tuple[int, ...] = ()
        if self._memory:
            held = (
                torch.cuda.memory_allocated(self._device),
                torch.cuda.max_memory_allocated(self._device),
            )
        self._spans.append((stage.stage_index, kind, microbatch, begin, end, *held))

    def take(self) -> list[tuple[Any, ...]]:
        """[(stage, kind, micro-batch, start, ns)] since the last call, start from begin(); with memory
        also bytes after it and most within it."""
        origin = self._origin or (self._spans[0][3] if self._spans else None)
        taken = [
            (stage, kind, m, self._clock.between(origin, b), self._clock.between(b, e), *held)
            for stage, kind, m, b, e, *held in self._spans
        ]
        self._spans.clear()
        return taken
