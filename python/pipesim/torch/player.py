"""Plays ops of a stage on the device, each between two instants."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .clock import Clock, drain
from .part import Part

CYCLE = "FBFIW"
AHEAD = 24  # ops that the host may be ahead of the device, so that bursts end when they should


@dataclass
class Span:
    """One op that was played."""

    stage: int
    kind: str
    start: int  # ns since the origin
    took: int  # ns
    marks: dict[str, Any] = field(default_factory=dict)


class Player:
    def __init__(self, device: torch.device) -> None:
        self.device, self.clock = device, Clock(device)
        self._spans: list[tuple[int, str, Any, Any, dict[str, Any]]] = []
        self.set_origin()

    def set_origin(self) -> None:
        """Starts are counted from here; the instant of time.perf_counter_ns() is kept beside it."""
        drain(self.device)
        self.origin_host = time.perf_counter_ns()
        self._origin = self.clock.now()

    def play(self, part: Part, kind: str, **marks: Any) -> None:
        begin = self.clock.now()
        part.run(kind)
        self._spans.append((part.stage, kind, begin, self.clock.now(), marks))
        if len(self._spans) > AHEAD:
            self.clock.wait_for(self._spans[-AHEAD][3])

    def cycle(self, part: Part, **marks: Any) -> None:
        for kind in CYCLE:
            self.play(part, kind, **marks)

    def burst(self, part: Part, seconds: float, **marks: Any) -> None:
        """Cycles back to back for at least @seconds."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.cycle(part, **marks)

    def rotate(self, parts: Sequence[Part], seconds: float) -> None:
        """A cycle of each, in turn, for at least @seconds."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for part in parts:
                self.cycle(part)

    def finish(self) -> None:
        """Until the last op is done, whatever else the device does."""
        if self._spans:
            self.clock.wait_for(self._spans[-1][3])

    def take(self) -> list[Span]:
        """Spans since the last call, in order."""
        self.finish()
        taken = [
            Span(stage, kind, self.clock.between(self._origin, b), self.clock.between(b, e), marks)
            for stage, kind, b, e, marks in self._spans
        ]
        self._spans.clear()
        return taken
