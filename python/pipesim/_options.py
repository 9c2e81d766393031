"""From Python's values to what the program takes: `pp=8` is --pp=8, `overlap_fb=True` is --overlap-fb."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ._library import call

__all__ = ["Option", "commands", "options"]


class Option(NamedTuple):
    """An option of a command, as the library lists it."""

    name: str  # the keyword: microbatches
    argument: str  # what its value is called; empty: True asks for it
    repeated: bool  # a list gives it several times
    values: tuple[str, ...]  # the words that it may be, where they are few
    help: str


@functools.cache
def _rows() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(line)) for line in call(["--completion"]).output.splitlines())


def commands() -> dict[str, str]:
    """What each command answers, by its name."""
    return {row[1]: row[2] for row in _rows() if row[0] == "_pipesim_command"}


@functools.cache
def _options() -> dict[str, dict[str, Option]]:
    found: dict[str, dict[str, Option]] = {name: {} for name in commands()}
    for row in _rows():
        if row[0] != "_pipesim_option":
            continue
        of, name, _, argument, values, words = row[1:7]
        name = name[2:].replace("-", "_")
        choices = () if values.startswith("@") else tuple(values.split())
        repeated = argument.endswith("...") and not argument.endswith(",...")
        option = Option(name, argument.removesuffix("...") if repeated else argument, repeated, choices, words)
        for command in of.split():
            if name not in ("help", "format"):
                found[command][name] = option
    return found


def options(command: str = "compare") -> dict[str, Option]:
    """The keywords of a command: the long options of the program with underscores, from its own list."""
    return dict(_options()[command])


def text_of(value: Any) -> str:
    """A number, word or path as the program reads it."""
    if type(value) is int or isinstance(value, str):
        return f"{value}"
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if hasattr(value, "item"):  # a number of numpy's or PyTorch's
        value = value.item()
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return str(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike, Mapping)) and getattr(value, "ndim", 1) > 0


def joined(value: Any, between: str = ",") -> str:
    """The text of any value: dict(F=1, B=2) is F=1,B=2; lists have @between between their items."""
    if type(value) is int or type(value) is str:
        return f"{value}"
    if type(value) is dict or isinstance(value, Mapping):
        return ",".join([f"{key}={joined(item, between)}" for key, item in value.items()])
    if _is_list(value):
        return between.join(text_of(item) for item in value)
    return text_of(value)


def stage_rows(value: Any) -> list[tuple[Any, ...]] | None:
    """Times or bytes of stages that stand in memory: a row a stage, of F, I and W (or F and B, where each half takes half of B);
    None where @value names a file. A dict has a list for each; of one list F is the number, and I and W too."""
    if isinstance(value, Mapping):
        value = {key: list(column) for key, column in value.items()}
        if "I" not in value:
            value = {"F": value["F"], "I": [b / 2 for b in value["B"]], "W": [b / 2 for b in value["B"]]}
        return list(zip(value["F"], value["I"], value["W"], strict=True))
    if not _is_list(value):
        return None
    rows = []
    for row in value:
        cells = tuple(row) if _is_list(row) else (row, row, row)
        if len(cells) == 2:
            cells = (cells[0], cells[1] / 2, cells[1] / 2)
        if len(cells) != 3:
            raise ValueError(f"stage_times: {len(cells)} numbers of a stage; F, I and W, or F and B, or one for all three")
        rows.append(cells)
    return rows


@contextlib.contextmanager
def arguments(command: str, operands: Sequence[Any], given: Mapping[str, Any], between: str = ",") -> Iterator[list[str]]:
    """What the program would be called with. Stage times in memory stand in a file until the block ends."""
    known = _options()[command]
    words = [command]
    with contextlib.ExitStack() as stack:
        for name, value in given.items():
            option = f"--{name.replace('_', '-')}"
            if value is None or value is False:
                continue
            if value is True:
                words.append(option)
                continue
            rows = stage_rows(value) if name == "stage_times" else None
            if rows is not None:
                file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="ascii"))
                file.write("stage,F,I,W\n")
                file.writelines(f"{stage},{joined(cells)}\n" for stage, cells in enumerate(rows))
                file.flush()
                value = file.name
            repeated = name in known and known[name].repeated and _is_list(value)
            separator = between if name != "schedule" else ","
            words += [f"{option}={joined(item, separator)}" for item in (value if repeated else [value])]
        paths = [text_of(operand) for operand in operands]
        yield [*words, *(["--", *paths] if any(path.startswith("-") for path in paths) else paths)]
