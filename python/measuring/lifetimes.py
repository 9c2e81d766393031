"""How long PyTorch's runtime keeps what it sends and receives: outputs and gradients, action by action.

    torchrun --nproc-per-node PP lifetimes.py FILE...      schedule files, or 1F1B and GPipe

A tensor is gone when its storage is: whoever held it, the stage, autograd, the send or its work. Looked at before each
action of the runtime (each op, with PyTorch's own classes) and behind the step. Prints for outputs (F) and
gradients (B) that were sent, and for those received (RF, RB), after what they went: for pipesim's account of messages,
docs/memory.md.
"""

import contextlib
import re
import sys
from collections import Counter

import models
import torch
from pipesim.torch import load
from pipesim.torch.clock import gather, say, start
from pipesim.torch.ranges import wrapped
from torch.distributed.pipelining import schedules
from torch.multiprocessing.reductions import StorageWeakRef

OPS = re.compile(r"\d+(?:WAIT_SEND_[FB]|[FIBW])\d+")  # in the name of an action that is one, or a pair of them
METHODS = {
    "F": "get_fwd_send_ops",
    "B": "get_bwd_send_ops",
    "RF": "get_fwd_recv_ops",
    "RB": "get_bwd_recv_ops",
}
NEWER = "WAIT_SEND_F" in schedules._ComputationType.__members__
# What pipesim counts by (src/analysis/besides.c). With 2.11 gloo's works hold what they send until the step ends.
WAIT = {"its wait", "its wait, after all ops", "the step's end"}
RULES = {
    "pytorch-2.15": {"F": WAIT | {"its W"}, "B": WAIT | {"its W"}, "RB": {"its B", "its W"}},
    "pytorch-2.11": {"B": {"the step's end", "the next step"}, "RB": {"the next step"}, "RF": {"the next step"}},
}
SIZE = models.Size(8, 64, 2, 32, 128, torch.float32)


class Lives:
    """What was sent, and after which action each tensor was gone."""

    def __init__(self):
        self.names, self._live, self._gone = [], [], []

    def watch(self, kind, stage, microbatch, ops):
        for op in ops:
            storage = StorageWeakRef(op.tensor.untyped_storage())
            self._live.append((storage, kind, stage, microbatch, len(self.names) - 1))

    def before(self, name):
        self.look()
        self.names.append(name.removeprefix("PP:"))

    def look(self, end=None):
        """@end: what has ended if it is no action."""
        live, after = self._live, end or len(self.names) - 1
        self._gone += [(*rest, after) for storage, *rest in live if storage.expired()]
        self._live = [one for one in live if not one[0].expired()]

    def _cause(self, kind, stage, microbatch, at, after):
        if isinstance(after, str):
            return after
        halves = OPS.findall(self.names[after])
        for name in "FIBW":
            if f"{stage}{name}{microbatch}" in halves:
                return f"its {name}"
        if f"{stage}WAIT_SEND_{kind}{microbatch}" in halves:
            later = any("WAIT" not in op for name in self.names[after:] for op in OPS.findall(name))
            return "its wait" if later else "its wait, after all ops"
        return f"{after - at} actions later"

    def found(self):
        """[kind: after what it went], of all that was sent."""
        return [f"{kind}: {self._cause(kind, *rest)}" for kind, *rest in self._gone] + [
            f"{kind}: the next step" for _, kind, *_ in self._live
        ]


@contextlib.contextmanager
def watched(pipeline):
    """Lives of what @pipeline's stages send in the step that the block takes."""
    lives, schedule = Lives(), pipeline.schedule
    with contextlib.ExitStack() as stack:

        def patch(thing, name, value):
            inner = getattr(thing, name)
            stack.callback(setattr, thing, name, inner)
            setattr(thing, name, value(inner))

        for stage in pipeline.stages:
            for kind, method in METHODS.items():

                def watching(inner, kind=kind, stage=stage):
                    def outer(microbatch):
                        ops = inner(microbatch)
                        lives.watch(kind, stage.stage_index, microbatch, ops)
                        return ops

                    return outer

                patch(stage, method, watching)
        if isinstance(schedule, schedules._PipelineScheduleRuntime):

            def told(inner):
                def outer(name):
                    lives.before(name)
                    return inner(name)

                return outer

            patch(schedules, "record_function", told)
        else:

            @contextlib.contextmanager
            def around(stage, kind, microbatch):
                lives.before(f"PP:{stage.stage_index}{kind}{microbatch}")
                yield

            stack.enter_context(wrapped(schedule, around))

        def ended(inner):
            def outer(*arguments):
                lives.look("the step's end")
                return inner(*arguments)

            return outer

        patch(schedule, "_update_losses", ended)
        yield lives
        lives.look("the step")


def allowed(rules, kind, cause):
    return kind not in rules or cause in rules[kind]


def main():
    device, failed = start(), 0
    for what in sys.argv[1:]:

        def build(stage, stages):
            return models.make_part(SIZE, stage, stages, device)

        pipeline = load(what, build, models.loss_function, device, count=8)
        inputs, targets = models.make_batch(SIZE, pipeline.microbatches, device)
        for watching in (False, True):
            arguments, options = (), {}
            for stage in pipeline.stages:
                stage.submod.zero_grad()
                if stage.is_first:
                    arguments = (inputs,)
                if stage.is_last:
                    options = {"target": targets, "losses": []}
            if watching:
                with watched(pipeline) as lives:
                    pipeline.schedule.step(*arguments, return_outputs=False, **options)
            else:
                pipeline.schedule.step(*arguments, return_outputs=False, **options)
        of_file = isinstance(pipeline.schedule, schedules._PipelineScheduleRuntime)
        known = of_file and (NEWER or device.type == "cpu")
        rules = RULES["pytorch-2.15" if NEWER else "pytorch-2.11"] if known else {}
        for rank, found in enumerate(gather(Counter(lives.found()))):
            counts = ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
            against = [what for what in found if not allowed(rules, *what.split(": "))]
            failed += len(against)
            say(f"{pipeline.name:24} rank {rank}: {counts}{'  FAIL: ' * bool(against)}{', '.join(against)}")
    torch.distributed.destroy_process_group()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
