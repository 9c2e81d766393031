"""Messages between the first two ranks, and ops beside a receive."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from .clock import Clock, drain, gather, largest, rank, settle
from .part import Part
from .player import CYCLE, Player, Span
from .private import default_store

# Load mode of rows whose ops alone and beside something are of one loop without pause.
STEADY = "steady"
# The same of short bursts after pauses, in which a chip runs at full clock.
RESTED = "rested"
# Ops of such bursts: the first pays for launches and cold caches, and at the end of the second the chip may slow down.
BURSTS = ("FFB", slice(1, 3)), ("FIWB", slice(1, 3))


class Pair:
    """Ranks 0 and 1, one of which receives from the other; further ranks look on. What one has to
    know of the other goes past the device, whose stream the receive holds."""

    _made = 0

    def __init__(self, device: torch.device, example: torch.Tensor) -> None:
        self.device = device
        self.buffer = torch.randn(example.shape, device=device).to(example.dtype)
        self.bytes = self.buffer.numel() * self.buffer.element_size()
        self._inbox: torch.Tensor | None = None
        self._store = default_store()
        Pair._made += 1
        self._prefix, self._told, self._heard = f"pipesim.torch/{Pair._made}", 0, 0
        self._connect()

    def _connect(self) -> None:
        """The first message of each direction opens a connection, for which both hosts wait: a receive
        could not wait alone."""
        settle(self.device)
        if rank() < 2:
            for sender in (0, 1):
                self.end(self._post(dist.isend if rank() == sender else dist.irecv, 1))
        settle(self.device)

    def tell(self) -> None:
        """The other rank, that this one's receive may end."""
        self._store.set(f"{self._prefix}/{rank()}/{self._told}", b"1")
        self._told += 1

    def hear(self) -> None:
        self._store.wait([f"{self._prefix}/{1 - rank()}/{self._heard}"])
        self._heard += 1

    def _post(self, operation: Callable[..., Any], count: int) -> list[dist.Work]:
        other = 1 - rank()
        return [
            work
            for _ in range(count)
            for work in dist.batch_isend_irecv([dist.P2POp(operation, self.buffer, other)])
        ]

    def receive(self, count: int = 1) -> list[dist.Work]:
        return self._post(dist.irecv, count)

    def offer(self) -> list[dist.Work]:
        """Sends as soon as the other side receives."""
        return self._post(dist.isend, 1)

    def exchange(self) -> list[dist.Work]:
        """Sends and receives at once."""
        if self._inbox is None:
            self._inbox = torch.empty_like(self.buffer)
        other = 1 - rank()
        ends: Any = (dist.isend, self.buffer), (dist.irecv, self._inbox)
        return dist.batch_isend_irecv([dist.P2POp(end, tensor, other) for end, tensor in ends])

    def wait(self, works: Iterable[dist.Work]) -> None:
        """Nothing on the stream of ops begins before @works are done; on a CPU, nothing at all."""
        for work in works:
            work.wait()

    def send(self, count: int = 1) -> None:
        """Once the other side says so."""
        self.hear()
        self.end(self._post(dist.isend, count))

    def end(self, works: Iterable[dist.Work]) -> None:
        for work in works:
            work.wait()
        drain(self.device)

    def roles(self) -> Iterator[bool | None]:
        """Each of both ranks receives in turn: yields whether this one does, None for a rank that
        has no part in it."""
        for receiver in (0, 1):
            settle(self.device)
            yield None if rank() > 1 else rank() == receiver
        settle(self.device)


def measure_messages(example: torch.Tensor, device: torch.device, repetitions: int = 30, posted: list[int] | None = None) -> list[int]:
    """ns for a tensor like @example from rank 0 to rank 1, both waiting for it. @posted: a list that gets the ns
    that the process of this rank took to post its end."""
    clock, buffer, took = Clock(device), torch.zeros_like(example, device=device), []
    for repetition in range(-10, repetitions):
        settle(device)
        begin, host = clock.now(), time.perf_counter_ns()
        if rank() < 2:
            operation = dist.isend if rank() == 0 else dist.irecv
            works = dist.batch_isend_irecv([dist.P2POp(operation, buffer, 1 - rank())])
            host = time.perf_counter_ns() - host
            for work in works:
                work.wait()
        end = clock.now()
        settle(device)
        if repetition >= 0:
            took.append(int(largest(clock.between(begin, end) if rank() < 2 else 0, device)))
            if posted is not None and rank() < 2:
                posted.append(host)
    return took


def receive_sms(pair: Pair) -> int | None:
    """Blocks, so SMs, of the kernel of a receive; None where the profiler does not tell. The message is
    on its way already: a profiler may wait for the device."""
    if pair.device.type != "cuda":
        return None
    found = None
    for receives in pair.roles():
        if receives is False:
            pair.send()
        elif receives:
            activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            with torch.profiler.profile(activities=activities) as profiler:
                pair.tell()
                pair.end(pair.receive())
            found = _blocks(profiler)
    return next((blocks for blocks in gather(found) if blocks is not None), None)


def kernels(profiler: torch.profiler.profile) -> list[dict[str, Any]]:
    """The kernels of sends and receives that a profiler saw, as events of its trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return [e for e in events if e.get("cat") == "kernel" and "SendRecv" in e["name"]]


def _blocks(profiler: torch.profiler.profile) -> int | None:
    grids = [math.prod(e["args"]["grid"]) for e in kernels(profiler) if "grid" in e["args"]]
    return max(grids, default=None)


def keep_busy(player: Player, part: Part, seconds: float) -> None:
    """Ops that do not count: what follows finds the chip under load."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        player.cycle(part, series="resident", resident_sms=0, status="warmup")


def beside_receive(pair: Pair, player: Player, part: Part, turns: int, busy: float = 0.15) -> None:
    """Ranks 0 and 1 work without pause, in turns of two cycles: one of them beside a receive that waits
    until the other, which works alone, has done its two and sends. The first op of a turn may run
    beside the message of the turn before, and in the second cycle the message comes: they do not count.
    How many SMs the receive holds is not known yet. @busy: seconds of other ops before."""
    settle(pair.device)
    if rank() > 1:
        return
    keep_busy(player, part, busy)
    for turn in range(2 * turns):
        receives = turn % 2 == rank()
        works = pair.receive() if receives else []
        marks: dict[str, Any] = {"series": "resident", "load_mode": STEADY}
        marks |= {"impl": _library(pair)} if receives else {"resident_sms": 0}
        for cycle in range(2):
            for at, kind in enumerate(CYCLE):
                counts = at > 0 if cycle == 0 else not receives
                player.play(part, kind, **marks, status="ok" if counts else "warmup")
        if not receives:
            works = pair.offer()
        pair.wait(works)
    player.finish()


def beside_rested(pair: Pair, player: Player, part: Part, repetitions: int, pause: float) -> None:
    """Bursts of a few ops after pauses of @pause seconds, in turn alone and beside a receive that waits: at full
    clock both, which what a receive does to an op does not hide. Ranks 0 and 1 one after the other."""
    for receives in pair.roles():
        for burst in range(2 * repetitions):
            kinds, counted = BURSTS[burst % 2]
            for beside in (False, True):
                if receives is False and beside:
                    pair.send()
                if not receives:
                    continue
                time.sleep(pause)
                works = pair.receive() if beside else []
                marks: dict[str, Any] = {"impl": _library(pair)} if beside else {"resident_sms": 0}
                for at, kind in enumerate(kinds):
                    counts = at in range(len(kinds))[counted]
                    player.play(
                        part, kind, series="resident", load_mode=RESTED, **marks,
                        status="ok" if counts else "warmup",
                    )  # fmt: skip
                player.finish()
                if beside:
                    pair.tell()
                    pair.end(works)


def beside_exchange(pair: Pair, player: Player, part: Part, blocks: int, cycles: int, warm: int) -> None:
    """Blocks of so many cycles without pause on ranks 0 and 1, in turn without messages and with one to the other
    and one from it beside every F, so that B, I and W have none beside them. The first @warm cycles of
    each do not count."""
    settle(pair.device)
    if rank() > 1:
        return
    works = []
    for block in range(2 * blocks):
        bytes_moved = pair.bytes if block % 2 else 0
        for cycle in range(cycles):
            status = "ok" if cycle >= warm else "warmup"
            for kind in CYCLE:
                if bytes_moved and kind == "F":
                    works = pair.exchange()
                player.play(
                    part, kind, series="exchange", payload_bytes=bytes_moved, status=status
                )
                pair.wait(works)
                works = []
    player.finish()


def beside_messages(pair: Pair, player: Player, part: Part, repetitions: int, message: float, cycle: float, busy: float = 0.15) -> None:
    """Cycles alone and beside messages that come one after the other. A message takes @message ns
    alone, a cycle @cycle."""
    count = min(1 + math.ceil(1.3 * cycle / message), 400)
    for receives in pair.roles():
        for _ in range(repetitions):
            if receives is False:
                pair.send(count)
            elif receives:
                keep_busy(player, part, busy)
                player.cycle(part, series="moving", payload_bytes=0)
                player.finish()
                pair.tell()
                works = pair.receive(count)
                player.cycle(part, series="moving", payload_bytes=pair.bytes, impl=_library(pair))
                player.finish()
                pair.end(works)


def bursts_between_receives(pair: Pair, player: Player, part: Part, count: int, cycles: int, wait: float) -> list[Span]:
    """@count bursts of @cycles, and before each a receive that waits for @wait seconds: what the
    governor makes of a rank that waits instead of sleeping. The spans of this rank."""
    spans = []
    for receives in pair.roles():
        if receives:
            player.set_origin()
        for _ in range(count):
            if receives is False:
                pair.send()
            elif receives:
                works = pair.receive()
                time.sleep(wait)
                pair.tell()
                pair.end(works)
                for _ in range(cycles):
                    player.cycle(part, series="waiting")
                player.finish()
        if receives:
            spans = player.take()
    return spans


def _library(pair: Pair) -> str:
    return "nccl" if pair.device.type == "cuda" else "gloo"
