"""One stage of a pipeline on one device, and its ops as PyTorch's runtime runs them."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.pipelining._backward import (
    stage_backward,
    stage_backward_input,
    stage_backward_weight,
)


@dataclass
class Held:
    """What a stage keeps of one micro-batch between its ops."""

    inputs: list
    outputs: tuple
    loss: Any = None
    groups: Any = None


class Part:
    """Runs F, then B or I and W, of one micro-batch after the other. The first stage computes no
    gradient of its input: its I is nothing and its W a whole backward, as in PyTorch's runtime. The
    loss belongs to the forward of the last stage."""

    def __init__(self, module, stage, stages, inputs, loss, target):
        self.module, self.stage, self.stages = module, stage, stages
        self.inputs, self.loss, self.target = inputs, loss, target
        self.gradients = None
        self.kept = None  # a list: what PyTorch's runtime keeps until the end of a step
        self.forwarded, self.between = deque(), deque()

    @property
    def is_first(self):
        return self.stage == 0

    @property
    def is_last(self):
        return self.stage == self.stages - 1

    def F(self):
        inputs = self.inputs
        if not self.is_first:  # a received activation is a leaf of its own
            inputs = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        outputs = self.module(*inputs)
        outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        held = Held([x for x in inputs if isinstance(x, torch.Tensor)], outputs)
        if self.is_last:
            held.loss = self.loss(outputs[0] if len(outputs) == 1 else outputs, self.target)
        elif self.gradients is None:
            # As large as gradients of a mean over many tokens are; zeros would cost less power.
            self.gradients = tuple(1e-3 * torch.randn_like(x) for x in outputs)
        self.forwarded.append(held)
        if self.kept is not None:
            self.kept.append((held.inputs, held.loss))

    def B(self):
        self._whole(self.forwarded.popleft())

    def I(self):
        held = self.forwarded.popleft()
        if not self.is_first:
            outputs = (held.loss,) if self.is_last else held.outputs
            gradients = None if self.is_last else self.gradients
            parameters = self.module.parameters()
            _, held.groups = stage_backward_input(outputs, gradients, held.inputs, parameters)
            self._release(held)
        self.between.append(held)

    def W(self):
        held = self.between.popleft()
        if self.is_first:
            self._whole(held)
        else:
            stage_backward_weight(self.module.parameters(), held.groups)

    def _whole(self, held):
        outputs = held.loss if self.is_last else held.outputs
        stage_backward(outputs, None if self.is_last else self.gradients, held.inputs)
        self._release(held)

    def _release(self, held):
        if self.is_last and not self.is_first:
            for output in held.outputs:
                if not output._is_view():
                    output.detach_()
            held.outputs = ()

    def scale(self):
        """What the runtime does to a stage's gradients once a step: divides them by the number of micro-batches."""
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(1)

    def run(self, kind):
        getattr(self, kind)()

    def sample_outputs(self):
        """What the next stage gets for one micro-batch."""
        with torch.no_grad():
            outputs = self.module(*self.inputs)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [x.detach() for x in outputs]


def bytes_of(tensors):
    """Bytes of @tensors, each storage once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())
