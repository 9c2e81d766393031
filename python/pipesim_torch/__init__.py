"""PyTorch beside pipesim: capture a model's stages, run schedule files, name ops in profiles."""

from .annotate import Recorder, annotate, annotate_all, step_times
from .capture import Plan, capture
from .model import Model
from .schedule import Pipeline, Stage, load

__all__ = [
    "Model", "Pipeline", "Plan", "Recorder", "Stage", "annotate", "annotate_all", "capture", "load",
    "step_times",
]  # fmt: skip
