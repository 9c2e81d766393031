"""What the function that a user names returns: the stages of a model and what one micro-batch is."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import torch


@dataclass
class Model:
    """A model cut into the stages of a pipeline.

    parts       a module a stage, in order; or functions without arguments that build one, so that
                only the stage that is measured has to exist
    inputs      arguments of the first stage for one micro-batch
    loss        loss(output of the last stage, target), a scalar
    target      of one micro-batch
    optimizer   optimizer(parameters), if its state is to be measured too
    name        for the files that are written
    """

    parts: Sequence[Any]
    inputs: tuple[Any, ...]
    loss: Callable[[torch.Tensor, Any], torch.Tensor]
    target: Any = None
    optimizer: Callable[..., Any] | None = None
    name: str = "model"

    def build(self, stage: int, device: torch.device) -> torch.nn.Module:
        """The module of @stage on @device."""
        part = self.parts[stage]
        if not isinstance(part, torch.nn.Module):
            with device:
                part = part()
        if not isinstance(part, torch.nn.Module):
            raise TypeError(f"stage {stage} of {self.name}: {type(part).__name__} is no torch.nn.Module")
        return part.to(device)


def find(name: str, stages: int | None = None) -> Model:
    """The Model that MODULE:FUNCTION returns; FUNCTION is called with @stages unless that is None.
    MODULE may lie in the working directory. SystemExit where there is no such function."""
    module, colon, function = name.partition(":")
    if not colon or not function:
        raise SystemExit(f"{name}: give MODULE:FUNCTION, as in mymodel:stages")
    sys.path.insert(0, os.getcwd())
    try:
        made = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise
        raise SystemExit(f"{name}: no module {error.name} here or where Python looks") from None
    finally:
        sys.path.pop(0)
    if made is None:
        raise SystemExit(f"{name}: {module} has no {function}")
    model = made() if stages is None else made(stages)
    if not isinstance(model, Model):
        raise SystemExit(f"{name}: returned {type(model).__name__}, must return a pipesim.torch.Model")
    if not model.parts:
        raise SystemExit(f"{name}: a model without stages")
    return model
