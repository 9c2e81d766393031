"""PyTorch beside pipesim: capture a model's stages, run schedule files, name ops in profiles."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "Model": "model",
    "Pipeline": "schedule",
    "Plan": "measure",
    "Recorder": "ranges",
    "Stage": "schedule",
    "annotate": "ranges",
    "annotate_all": "ranges",
    "capture": "measure",
    "load": "schedule",
    "order_of": "private",
    "peak_bytes": ".memory",
    "step_times": "ranges",
}
__all__ = list(_WHERE)  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Each when it is asked for: what reads files alone needs no PyTorch."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no {name}")
    found = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = found
    return found
