"""Schedule files, read without PyTorch, whose reader is lax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Union

# Stage, action, micro-batch: (3, "F", 2); (1, "UNSHARD", None)
Cell = tuple[int, str, Union[int, None]]
Rows = list[list[Union[Cell, tuple[Cell, Cell]]]]

_CELL = re.compile(
    r"(\d+)(F|I|W|B|SEND_F|RECV_F|SEND_B|RECV_B|WAIT_SEND_F|WAIT_SEND_B)(\d+)"
    r"|(\d+)(UNSHARD|RESHARD|REDUCE_GRAD|WAIT_REDUCE_GRAD)"
)
_PAIR = re.compile(r"\(([^;]*);([^;]*)\)OVERLAP_F_B")


def parse_cell(text: str) -> Cell | tuple[Cell, Cell]:
    """"3F2" -> (3, "F", 2); "1UNSHARD" -> (1, "UNSHARD", None); a pair -> both halves."""
    pair = _PAIR.fullmatch(text)
    if pair:
        return _parse_one(pair[1]), _parse_one(pair[2])
    return _parse_one(text)


def _parse_one(text: str) -> Cell:
    cell = _CELL.fullmatch(text)
    if cell is None:
        raise ValueError(f"cell '{text}' is no action")
    if cell[2]:
        return int(cell[1]), cell[2], int(cell[3])
    return int(cell[4]), cell[5], None


def read(path: str) -> Rows:
    """The cells of a file: a list a rank, empty cells left out."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    return [[parse_cell(cell) for cell in line.split(",") if cell] for line in lines]


def flat(row: Iterable[Cell | tuple[Cell, Cell]]) -> Iterator[Cell]:
    """The actions of a rank, a pair as its two halves, one after the other."""
    for action in row:
        if isinstance(action[0], tuple):
            yield from action
        else:
            yield action


def placement(rows: Rows) -> dict[int, int]:
    """Which rank runs each stage; ValueError where two do."""
    rank_of: dict[int, int] = {}
    for rank, row in enumerate(rows):
        for stage, kind, _ in flat(row):
            if kind in "FIWB" and rank_of.setdefault(stage, rank) != rank:
                raise ValueError(f"stage {stage} on ranks {rank_of[stage]} and {rank}")
    return rank_of


def microbatches(rows: Rows) -> int:
    return 1 + max(m for row in rows for _, kind, m in flat(row) if kind == "F" and m is not None)
