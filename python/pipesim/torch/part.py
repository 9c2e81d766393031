"""One stage of a pipeline on one device, and its ops as PyTorch's runtime runs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from . import private

# The method of each kind of op.
METHODS = {"F": "forward", "B": "backward", "I": "backward_input", "W": "backward_weight", "scale": "scale"}


@dataclass
class Held:
    """What a stage keeps of one micro-batch between its ops."""

    inputs: list[torch.Tensor]
    outputs: tuple[torch.Tensor, ...]
    loss: Any = None
    groups: Any = None


class Part:
    """Runs F, then B or I and W, of one micro-batch after the other. The first stage computes no
    gradient of its input: its I is nothing and its W a whole backward, as in PyTorch's runtime. The
    loss belongs to the forward of the last stage."""

    def __init__(self, module: torch.nn.Module, stage: int, stages: int, inputs: Sequence[Any], loss: Any, target: Any) -> None:
        self.module, self.stage, self.stages = module, stage, stages
        self.inputs, self.loss, self.target = inputs, loss, target
        self.gradients: tuple[torch.Tensor, ...] | None = None
        self.kept: list[Any] | None = None  # a list: what PyTorch's runtime keeps until the end of a step
        self.forwarded: deque[Held] = deque()
        self.between: deque[Held] = deque()

    @property
    def is_first(self) -> bool:
        return self.stage == 0

    @property
    def is_last(self) -> bool:
        return self.stage == self.stages - 1

    def forward(self) -> None:
        inputs: Sequence[Any] = self.inputs
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

    def backward(self) -> None:
        self._whole(self.forwarded.popleft())

    def backward_input(self) -> None:
        held = self.forwarded.popleft()
        if not self.is_first:
            outputs: Any = [held.loss] if self.is_last else list(held.outputs)
            gradients: Any = None if self.is_last else self.gradients
            parameters = self.module.parameters()
            _, held.groups = private.backward_input(outputs, gradients, held.inputs, parameters)
            self._release(held)
        self.between.append(held)

    def backward_weight(self) -> None:
        held = self.between.popleft()
        if self.is_first:
            self._whole(held)
        else:
            private.backward_weight(self.module.parameters(), held.groups)

    def _whole(self, held: Held) -> None:
        outputs = held.loss if self.is_last else held.outputs
        private.backward(outputs, None if self.is_last else self.gradients, held.inputs)
        self._release(held)

    def _release(self, held: Held) -> None:
        if self.is_last and not self.is_first:
            for output in held.outputs:
                if not private.is_view(output):
                    output.detach_()
            held.outputs = ()

    def scale(self) -> None:
        """What the runtime does to a stage's gradients once a step: divides them by the number of micro-batches."""
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(1)

    def run(self, kind: str) -> None:
        getattr(self, METHODS[kind])()

    def sample_outputs(self) -> list[torch.Tensor]:
        """What the next stage gets for one micro-batch."""
        with torch.no_grad():
            outputs = self.module(*self.inputs)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [x.detach() for x in outputs]


def bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of @tensors, each storage once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())
