"""The old name of pipesim.torch; what it held without PyTorch, cells and memory, stands in pipesim."""

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pipesim.torch

__all__ = list(pipesim.torch.__all__)
_MOVED = {"cells": "pipesim.cells", "memory": "pipesim.memory"}


class _Old:
    """pipesim_torch.NAME is the module pipesim.torch.NAME itself, so that each is there once."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.partition(".")
        return ModuleSpec(name, _Old) if package == __name__ and module not in ("", "__main__") else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        name = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(_MOVED.get(name, f"pipesim.torch.{name}"))


sys.meta_path.insert(0, _Old)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        return importlib.import_module(_MOVED[name])
    try:
        return getattr(pipesim.torch, name)
    except AttributeError:
        raise AttributeError(f"module {__name__} has no {name}") from None
