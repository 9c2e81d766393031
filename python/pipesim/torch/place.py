"""Where a process runs, and what it may import; without PyTorch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def gpu_of(local: int, count: int) -> int | None:
    """Which of @count visible GPUs the process with local rank @local takes; None where there is none.

    Launchers that show a process its own GPU alone (SLURM) number processes on, so that the rank may be above
    the count: all processes of a job must decide alike, or they wait for each other over different backends."""
    return local % count if count else None


def as_script(path: str, arguments: Sequence[str]) -> None:
    """What Python does for `python path arguments`: modules beside the script are found first."""
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
