"""Names for the ops of any of PyTorch's schedules, and times of ops and steps."""

import contextlib
import csv
import os

import torch
from torch.distributed.pipelining import schedules
from torch.profiler import record_function

from .clock import Clock, drain, rank, ranks

_OPS = (
    ("forward_one_chunk", lambda options: "F"),
    ("backward_one_chunk", lambda options: "B" if options.get("full_backward", True) else "I"),
    ("backward_weight_one_chunk", lambda options: "W"),
)


def stages_of(schedule):
    """The stages of this rank in any of PyTorch's schedules."""
    return [schedule._stage] if hasattr(schedule, "_stage") else list(schedule._stages)


@contextlib.contextmanager
def wrapped(schedule, around):
    """While the block runs, around(stage, kind, microbatch), a context manager, surrounds each op of
    @schedule's stages on this rank."""
    stages = stages_of(schedule)

    def wrap(stage, method, kind):
        inner = getattr(stage, method)

        def outer(microbatch, *arguments, **options):
            with around(stage, kind(options), microbatch):
                return inner(microbatch, *arguments, **options)

        setattr(stage, method, outer)

    for stage in stages:
        for method, kind in _OPS:
            wrap(stage, method, kind)
    try:
        yield
    finally:
        for stage in stages:
            for method, _ in _OPS:
                delattr(stage, method)


@contextlib.contextmanager
def annotate(schedule, steps=None):
    """While the block runs, each op of @schedule lies in a range as PyTorch's runtime for schedule files
    names them (PP:3F2), in profiles of PyTorch and, on a GPU, of Nsight; that runtime itself is left
    as it is. @steps: a path to which the times of schedule.step() are written when the block ends."""
    with contextlib.ExitStack() as stack:
        if not isinstance(schedule, schedules._PipelineScheduleRuntime):
            stack.enter_context(wrapped(schedule, _named))
        if steps is not None:
            stack.enter_context(step_times(schedule, steps))
        yield schedule


@contextlib.contextmanager
def annotate_all(steps=None):
    """The same for every schedule that takes a step while the block runs. @steps: a path; that of a
    further schedule of this process gets a number, that of one of several ranks its rank."""
    classes = schedules.PipelineScheduleSingle, schedules.PipelineScheduleMulti
    inner, seen = {kind: kind.step for kind in classes}, []

    def path():
        if steps is None:
            return None
        stem, extension = os.path.splitext(steps)
        number = f"-{len(seen)}" if len(seen) > 1 else ""
        return f"{stem}{number}{f'-rank{rank()}' if ranks() > 1 else ''}{extension}"

    def wrap(kind, stack):
        def outer(self, *arguments, **options):
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
            for kind in classes:
                kind.step = inner[kind]


def _named(stage, kind, microbatch):
    return record_function(f"PP:{stage.stage_index}{kind}{microbatch}")


@contextlib.contextmanager
def step_times(schedule, path):
    """Writes how long each step of @schedule took on this rank, in ns from the first to the last op on
    its stream, and on the process's clock until they were done."""
    device = stages_of(schedule)[0].device
    clock, wall, inner, taken = Clock(device), Clock(torch.device("cpu")), schedule.step, []

    def outer(*arguments, **options):
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

    def __init__(self, schedule, memory=False):
        self._schedule = schedule
        self._device = stages_of(schedule)[0].device
        self._memory = memory and self._device.type == "cuda"
        self._clock, self._spans, self._origin = Clock(self._device), [], None

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(wrapped(self._schedule, self._around))
        inner = self._schedule._maybe_compute_loss

        def outer(stage, *arguments):
            result = inner(stage, *arguments)
            if stage.is_last and self._spans:
                self._spans[-1] = (*self._spans[-1][:4], self._clock.now(), *self._spans[-1][5:])
            return result

        self._schedule._maybe_compute_loss = outer
        self._stack.callback(delattr, self._schedule, "_maybe_compute_loss")
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def begin(self):
        """Starts are counted from here."""
        self._origin = self._clock.now()

    @contextlib.contextmanager
    def _around(self, stage, kind, microbatch):
        if self._memory:
            torch.cuda.reset_peak_memory_stats(self._device)
        begin = self._clock.now()
        yield
        end, held = self._clock.now(), ()
        if self._memory:
            held = (
                torch.cuda.memory_allocated(self._device),
                torch.cuda.max_memory_allocated(self._device),
            )
        self._spans.append((stage.stage_index, kind, microbatch, begin, end, *held))

    def take(self):
        """[(stage, kind, micro-batch, start, ns)] since the last call, start from begin(); with memory
        also bytes after it and most within it."""
        origin = self._origin or (self._spans[0][3] if self._spans else None)
        taken = [
            (stage, kind, m, self._clock.between(origin, b), self._clock.between(b, e), *held)
            for stage, kind, m, b, e, *held in self._spans
        ]
        self._spans.clear()
        return taken
