"""For the tests of those who write schedules: does an order run in a runtime, with the right tensors, and how well?

    from pipesim.testing import assert_runs

    def test_mine():
        assert_runs("mine.csv", runtime="pytorch-2.15", max_bubble=0.1, times=dict(F=1, B=2))
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ._commands import validate
from ._options import options, text_of
from ._runs import Run, run_ops
from .errors import Error, UsageError

__all__ = ["assert_runs", "rows_of"]

# What files without messages do not have: PyTorch's runtime adds these itself.
_LOWERED = ("REDUCE_GRAD", "UNSHARD", "RESHARD")


def rows_of(order: Any) -> list[list[str]]:
    """The cells of an order by rank: of a list of ranks, of a dictionary by rank, or of one of PyTorch's schedules, which has one in
    `pipeline_order`. Ops are PyTorch's, or texts as 3F2; None is idle."""
    order = getattr(order, "pipeline_order", order)
    if isinstance(order, Mapping):
        order = [order[rank] for rank in sorted(order)]
    if not isinstance(order, Iterable):
        raise TypeError(f"{type(order).__name__} is no order: a file, a list of ranks, or a schedule of PyTorch's")
    rows = [[str(op) for op in rank if op is not None and str(op)] for rank in order]
    if any("SEND_" in cell for row in rows for cell in row):
        return rows
    return [[cell for cell in row if not cell.endswith(_LOWERED)] for row in rows]


@contextlib.contextmanager
def _file(order: Any) -> Iterator[str]:
    """A schedule file of @order, which may be one."""
    if isinstance(order, os.PathLike) or (isinstance(order, str) and "\n" not in order):
        yield text_of(order)
        return
    text = order if isinstance(order, str) else "".join(f"{','.join(row)}\n" for row in rows_of(order))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "order.csv"
        path.write_text(text, encoding="ascii")
        yield str(path)


def _bytes(size: Any) -> float:
    """80e9, "80GB" or "80GiB"."""
    if not isinstance(size, str):
        return float(size)
    units = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "GB": 1e9, "MB": 1e6, "KB": 1e3, "kB": 1e3, "B": 1.0}
    for unit, number in units.items():
        if size.endswith(unit):
            return float(size.removesuffix(unit)) * number
    return float(size)


def _check(what: str, limit: float | None, found: list[float], unit: str, scale: float) -> None:
    worst = max(range(len(found)), key=found.__getitem__)
    if limit is not None and found[worst] > limit:
        raise AssertionError(f"{what} of rank {worst} is {found[worst] * scale:.4g}{unit}, above {limit * scale:.4g}{unit}")


def assert_runs(
    order: Any,
    runtime: str = "pytorch-2.15",
    *,
    max_bubble: float | None = None,
    max_memory: str | float | None = None,
    max_activations: float | None = None,
    max_makespan_ms: float | None = None,
    **given: Any,
) -> Run:
    """AssertionError unless every op of @order is there once, no rank waits for ever under the rules of @runtime, every receive gets the
    tensor that it is for, and the step simulated by those rules stays within the limits. Returns that step.

    order            a schedule file, its text, ops by rank, or a schedule of PyTorch's: rows_of()
    runtime          as --runtime: pytorch-2.15, pytorch-2.11, single, megatron, deepseek, async
    max_bubble       most idle share of the step on any rank: 0.1
    max_memory       most bytes on any rank: "80GB"; needs the bytes that ops hold, as activation_bytes="1GB"
    max_activations  most activations on any rank, in whole stages
    max_makespan_ms  longest step
    given            options of simulate(), as times=dict(F=1, B=2, P2P=0.1), communicators="edge"
    """
    of_rules = options("validate")
    with _file(order) as path:
        rules = {name: value for name, value in given.items() if name in of_rules}
        found = validate(path, runtime=runtime, **rules)
        if not found.ok:
            raise AssertionError("\n".join(found.faults))
        try:
            run = run_ops(path, {"runtime": runtime, **given})
        except UsageError:
            raise  # of an option, not of the order
        except Error as error:
            raise AssertionError(str(error)) from error
        peaks = run.peak_bytes
    if max_memory is not None and peaks is None:
        raise UsageError("max_memory needs the bytes that ops hold: activation_bytes, stage_bytes, or a model")
    _check("the bubble", max_bubble, [idle / max(run.makespan_ns, 1) for idle in run.bubble_ns], " %", 100)
    _check("memory", None if max_memory is None else _bytes(max_memory), [float(peak) for peak in peaks or [0]], " GB", 1e-9)
    _check("the number of activations", max_activations, run.peak_activations, "", 1)
    if max_makespan_ms is not None and run.makespan_ms > max_makespan_ms:
        raise AssertionError(f"the step takes {run.makespan_ms:g} ms, above {max_makespan_ms:g}")
    return run
