"""Measures every stage of a model for pipesim: times, bytes, what idle time and receives do to them."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.pipelining import schedules

from . import messages
from .clock import drain, gather, largest, rank, ranks, settle
from .nvml import Sampler, open_gpu
from .part import Part, bytes_of
from .model import Model
from .player import CYCLE, Player, Span
from .ranges import Recorder
from .private import Alone
from .trace import demand_writable, provenance_path, versions, write_provenance, write_trace

Rows = list[dict[str, Any]]
Bytes = dict[str, Any]
KINDS = ("F", "I", "W", "B")
# Of the step that shows what its begin takes.
BEGIN_MICROBATCHES = 8


@dataclass
class Plan:
    """How long what is measured; seconds unless the name says otherwise."""

    settle: float = 1.5  # of back to back ops before those that count
    sustained: float = 1.3  # of each stage
    host: int = 12  # cycles whose launches are timed
    pauses: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0)
    burst: float = 1.2  # after each pause
    pause_rounds: int = 2
    duty_cycles: tuple[int, ...] = (2, 16)  # cycles of ops in a burst
    duty_busy: tuple[float, ...] = (0.9, 0.8, 0.7, 0.5, 0.3)
    duty: float = 1.5  # of each period and share
    count_sms: bool = True  # that a receive holds, with PyTorch's profiler
    steps: int = 12  # first backwards of a stage of each kind, and steps of a pipeline of one rank
    turns: int = 24  # beside a receive that waits, of each of two ranks
    rested: int = 10  # bursts of either kind beside a receive that waits, and alone, after a pause
    rest: float = 0.1  # that pause
    beside: int = 12  # repetitions beside messages that move, on each of two ranks
    busy: float = 0.15  # of ops before each of these
    exchange_blocks: int = 3  # with messages, and as many without
    exchange: float = 1.1  # of each
    waiting_busy: tuple[float, ...] = (0.8, 0.5)
    waiting: float = 1.5
    messages: int = 30

    def brief(self) -> Plan:
        """The same in a fraction of the time, to try a model; too short to fit a governor."""
        return replace(
            self, settle=0.02, sustained=0.05, host=2, pauses=(0.002, 0.005), burst=0.03,
            pause_rounds=1, duty_cycles=(2,), duty_busy=(0.5,), duty=0.05, steps=2, turns=2,
            rested=2, rest=0.002, beside=2, busy=0.01, exchange_blocks=1, exchange=0.05, waiting_busy=(0.5,), waiting=0.05,
            messages=3,
        )  # fmt: skip


def allocated(device: torch.device) -> int:
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def measure_bytes(part: Part, device: torch.device, optimizer: Any) -> Bytes:
    """What a stage holds: of one micro-batch after F, I and W, at most within each op, and its
    parameters, gradients and optimizer's state. Zeros without a GPU, but for the last three. What
    the runtime keeps of a micro-batch until the end of the step is held after W and B too."""
    on_gpu = device.type == "cuda"
    for _ in range(2):  # gradients, handles and workspaces come into being
        for kind in CYCLE:
            part.run(kind)
    held: dict[str, int] = {}
    most: dict[str, int] = {}
    first: dict[str, int] = {}
    part.kept = []

    def run(kind: str) -> int:
        """Most bytes that the op has beyond those before it."""
        at = allocated(device)
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)
        part.run(kind)
        return torch.cuda.max_memory_allocated(device) - at if on_gpu else 0

    for kinds in ("FIW", "FB"):
        drain(device)
        before = allocated(device)
        for kind in kinds:
            most[kind] = run(kind)
            held[kind] = allocated(device) - before
    for kinds in ("FIW", "FB"):  # the same while gradients come into being
        part.module.zero_grad()
        for kind in kinds:
            first[kind] = run(kind)
    part.kept = None
    parameters = list(part.module.parameters())
    found = {
        "held": held,
        "most": most,
        "first": first,
        "parameters": bytes_of(parameters),
        "gradients": bytes_of([p.grad for p in parameters if p.grad is not None]),
        "optimizer": 0,
    }
    if optimizer is not None:
        made = optimizer(parameters)
        made.step()
        state = [t for s in made.state.values() for t in s.values() if isinstance(t, torch.Tensor)]
        found["optimizer"] = bytes_of(state)
    return found


def measure_host(part: Part, player: Player, count: int) -> list[tuple[str, int]]:
    """[(kind, ns)]: launches of a cycle, with nothing queued at its begin."""
    took = []
    for repetition in range(-1, count):
        drain(player.device)
        for kind in CYCLE:
            begin = time.perf_counter_ns()
            part.run(kind)
            if repetition >= 0:
                took.append((kind, time.perf_counter_ns() - begin))
    drain(player.device)
    return took


def chunk_rows(run_id: str, spans: Iterable[Span], **more: Any) -> Rows:
    return [
        {
            "run_id": run_id, "rep": rep, "rank": rank(), "component": "chunk", "phase": span.kind,
            "stage": span.stage, "dur_ns": span.took, "status": "ok", "load_mode": "sustained",
            "layer": "all", **more, **span.marks,
        }
        for rep, span in enumerate(spans)
    ]  # fmt: skip


def numbered(spans: list[Span], steps_of: int = 16) -> list[Span]:
    """Marks spans of one stage with a step and a micro-batch, as if they were of a pipeline."""
    seen: dict[str, int] = {}
    for span in spans:
        at = seen[span.kind] = seen.get(span.kind, -1) + 1
        span.marks |= {"step": at // steps_of, "microbatch": at % steps_of}
    return spans


def stage_rows(spans: Iterable[Span]) -> Rows:
    """Rows of ops back to back; @spans of any stages in one sequence."""
    of_stages: dict[int, list[Span]] = {}
    for span in spans:
        of_stages.setdefault(span.stage, []).append(span)
    rows = []
    for stage, taken in sorted(of_stages.items()):
        rows += chunk_rows(f"stage-{stage}", numbered(taken))
    return rows


def host_rows(part: Part, took: Iterable[tuple[str, int]]) -> Rows:
    return [
        {
            "run_id": f"host-{part.stage}", "rep": rep, "rank": rank(), "component": "host",
            "phase": kind, "stage": part.stage, "dur_ns": ns, "status": "ok",
            "load_mode": "synced", "layer": "all",
        }
        for rep, (kind, ns) in enumerate(took)
    ]  # fmt: skip


def sustained_rows(parts: Sequence[Part], player: Player, plan: Plan) -> Rows:
    """Ops of @parts back to back, a cycle of one after a cycle of the other, so that what the chip's
    governor does in the meantime is the same for all."""
    settle(player.device)
    if not parts:
        return []
    player.rotate(parts, plan.settle)
    player.take()
    player.rotate(parts, plan.sustained * len(parts))
    return stage_rows(player.take())


def step_rows(parts: Sequence[Part], player: Player, plan: Plan) -> Rows:
    """Rows of series step: what ops of a step take that are like no other. Of each stage backwards of micro-batch
    0, whose gradients are written, and of micro-batch 1, which are added to them; and what the runtime does
    to gradients at the end (component scale)."""
    rows = []
    for part in parts:
        player.burst(part, plan.busy)
        player.take()
        for _ in range(plan.steps):
            for order in ("FB", "FIW"), ("FIW", "FB"):
                part.module.zero_grad()
                for microbatch, kinds in enumerate(order):
                    for kind in kinds:
                        counts = kind in "BW"
                        player.play(
                            part, kind, series="step", microbatch=microbatch,
                            status="ok" if counts else "warmup",
                        )  # fmt: skip
                player.play(part, "scale", series="step")
        for row in chunk_rows(f"step-{part.stage}", player.take()):
            if row["phase"] == "scale":
                row |= {"component": "scale", "phase": "B"}
            rows.append(row)
    return rows


def begin_rows(part: Part, plan: Plan, model: str) -> Rows:
    """Rows of series step, of a real step of a pipeline of one rank: the time from its begin until its first op
    (component begin), and its forwards, the first of which waits for launches (micro-batch 0). No rows
    where PyTorch's runtime cannot run one or its micro-batches have no room."""
    rows, taken = [], []
    try:
        taken = first_ops(part, plan.steps, BEGIN_MICROBATCHES)
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"pipesim.torch: no step of {model} on one rank: {error}", file=sys.stderr)
    for step, spans in enumerate(taken):
        forwards = [(m, start, ns) for _, kind, m, start, ns in spans if kind == "F"]
        common = {
            "run_id": "begin", "rep": step, "rank": rank(), "stage": part.stage, "series": "step",
            "status": "ok", "load_mode": "sustained", "layer": "all", "phase": "F",
        }  # fmt: skip
        rows.append({**common, "component": "begin", "dur_ns": max(0, forwards[0][1])})
        rows += [
            {**common, "component": "chunk", "microbatch": m, "dur_ns": ns} for m, _, ns in forwards
        ]
    return rows


def first_ops(part: Part, steps: int, count: int) -> list[list[tuple[Any, ...]]]:
    """Spans of real steps of @part's module as the only stage of a pipeline of this rank alone."""
    device = part.inputs[0].device
    group: Any = [dist.new_group([r]) for r in range(ranks())][rank()]
    stage = Alone(part.module, 0, 1, device, group=group)
    schedule = schedules.ScheduleGPipe(
        stage, n_microbatches=count, loss_fn=lambda output, _: output.float().square().mean()
    )
    inputs = [torch.cat([x.detach()] * count) for x in part.inputs]
    taken = []
    for step in range(-2, steps):
        part.module.zero_grad()
        drain(device)
        with Recorder(schedule) as recorder:
            recorder.begin()
            schedule.step(*inputs, target=inputs[0], return_outputs=False)
            drain(device)
            taken += [recorder.take()] if step >= 0 else []
    return taken


def history_rows(run_id: str, player: Player, spans: Sequence[Span], sampler: Sampler) -> Rows:
    """Rows of one unbroken history with its starts, and clock and power where they were read."""
    rows = chunk_rows(run_id, spans)
    for row, span in zip(rows, spans):
        row.setdefault("series", "governor")
        row["t_start_ns"] = span.start
        read = sampler.at(player.origin_host + span.start)
        if read is not None:
            row["clk_sm_mhz"], row["power_w"] = read[0], f"{read[1]:.1f}"
    return rows


def capture_pauses(part: Part, player: Player, plan: Plan, sampler: Sampler) -> Rows:
    rows = []
    for turn in range(plan.pause_rounds):
        player.set_origin()
        player.burst(part, plan.burst)
        for pause in plan.pauses:
            player.finish()
            time.sleep(pause)
            player.burst(part, plan.burst)
        rows += history_rows(f"pauses-{turn}", player, player.take(), sampler)
    return rows


def capture_duty(part: Part, player: Player, plan: Plan, sampler: Sampler, cycle: float) -> Rows:
    """Bursts and pauses of several periods and shares of busy time. @cycle: seconds of one."""
    rows = []
    for cycles in plan.duty_cycles:
        for busy in plan.duty_busy:
            player.set_origin()
            for _ in range(max(2, round(plan.duty / (cycles * cycle / busy)))):
                for _ in range(cycles):
                    player.cycle(part)
                player.finish()
                time.sleep(cycles * cycle * (1 / busy - 1))
            name = f"duty-{cycles}-{round(busy * 100)}"
            rows += history_rows(name, player, player.take(), sampler)
    return rows


def capture_waiting(part: Part, player: Player, plan: Plan, sampler: Sampler, cycle: float, pair: messages.Pair) -> Rows:
    rows, cycles = [], plan.duty_cycles[0]
    for busy in plan.waiting_busy:
        count = max(2, round(plan.waiting / (cycles * cycle / busy)))
        wait = cycles * cycle * (1 / busy - 1)
        spans = messages.bursts_between_receives(pair, player, part, count, cycles, wait)
        rows += history_rows(f"waiting-{round(busy * 100)}", player, spans, sampler)
    return rows


def capture_pair(part: Part, player: Player, plan: Plan, sampler: Sampler, cycle: float) -> Rows:
    """Rows of messages and of ops beside receives, of ranks 0 and 1."""
    rows = []
    example = part.inputs[0]
    size = example.numel() * example.element_size()
    posted: list[int] = []
    took = messages.measure_messages(example, player.device, plan.messages, posted)
    rows += [
        {
            "run_id": "host-message", "rep": rep, "rank": rank(), "component": "host",
            "phase": "F", "dur_ns": ns, "status": "ok", "load_mode": "synced", "layer": "all",
            "payload_bytes": size,
        }
        for rep, ns in enumerate(posted)
    ]  # fmt: skip
    if rank() == 0:
        rows += [
            {
                "run_id": "message", "rep": rep, "rank": 0, "component": "p2p", "phase": "F",
                "dur_ns": ns, "status": "ok", "load_mode": "synced", "layer": "all",
                "payload_bytes": size,
            }
            for rep, ns in enumerate(took)
        ]  # fmt: skip
    pair = messages.Pair(player.device, example)
    messages.beside_receive(pair, player, part, plan.turns, plan.busy)
    rows += chunk_rows("resident", player.take())
    messages.beside_rested(pair, player, part, plan.rested, plan.rest)
    rows += chunk_rows("rested", player.take())
    cycles = max(2, round(plan.exchange / cycle))
    messages.beside_exchange(pair, player, part, plan.exchange_blocks, cycles, cycles // 8)
    rows += chunk_rows("exchange", player.take())
    messages.beside_messages(
        pair, player, part, plan.beside, statistics.median(took), cycle * 1e9, plan.busy
    )
    rows += chunk_rows("moving", player.take())
    rows += capture_waiting(part, player, plan, sampler, cycle, pair)
    sms = messages.receive_sms(pair) if plan.count_sms else None
    for row in rows:
        if sms is not None and row.get("series") == "resident":
            row.setdefault("resident_sms", sms)
    return rows


def typical(stages: int) -> int:
    """The stage whose ops are taken for histories: neither the first nor, where there is a choice,
    the last."""
    return min(1, stages - 1)


def steady_mean(times: Sequence[int]) -> float:
    """Without those a quarter off the median, which something else went on in."""
    median = statistics.median(times)
    return statistics.mean([t for t in times if abs(t - median) <= median / 4] or [median])


def relative_ppm(rows_of_ranks: Sequence[Rows]) -> list[int]:
    """Time of each rank for the same ops against the mean of all, in millionths."""
    means = []
    for rows in rows_of_ranks:
        taken: dict[tuple[int, str], list[int]] = {}
        for row in rows:
            if row["component"] == "chunk" and not row.get("series"):
                taken.setdefault((row["stage"], row["phase"]), []).append(row["dur_ns"])
        means.append({key: steady_mean(times) for key, times in taken.items()})
    ratios: list[list[tuple[float, float]]] = [[] for _ in means]
    for key in means[0]:
        mean = statistics.mean(m[key] for m in means)
        weight = mean * len(means)
        for ratio, of_rank in zip(ratios, means):
            ratio.append((of_rank[key] / mean, weight))
    total = sum(weight for _, weight in ratios[0])
    return [round(1e6 * sum(r * w for r, w in ratio) / total) for ratio in ratios]


def stage_metadata(bytes_of_stages: Sequence[Bytes]) -> dict[str, str]:
    """The lists of bytes by stage for a trace's metadata."""

    def joined(values: Iterable[float]) -> str:
        return ";".join(str(max(0, round(value))) for value in values)

    def column(what: str, kind: str) -> str:
        return joined(b[what][kind] for b in bytes_of_stages)

    return {
        # As pipesim counts them; more may come into being with I, for W alone.
        "stage_until_input_bytes": joined(
            b["held"]["F"] - b["held"]["I"] for b in bytes_of_stages
        ),
        "stage_until_weight_bytes": joined(
            min(b["held"]["F"], b["held"]["I"]) for b in bytes_of_stages
        ),
        "stage_parameter_bytes": joined(
            b["parameters"] + b["gradients"] + b["optimizer"] for b in bytes_of_stages
        ),
        **{f"stage_after_{kind.lower()}_bytes": column("held", kind) for kind in KINDS},
        **{f"stage_working_{kind.lower()}_bytes": column("most", kind) for kind in KINDS},
        **{f"stage_first_{kind.lower()}_bytes": column("first", kind) for kind in "WB"},
        **{
            f"stage_{what}_only_bytes": joined(b[what] for b in bytes_of_stages)
            for what in ("parameters", "gradients", "optimizer")
        },
    }


def fit_together(held: Bytes, stages: int, device: torch.device) -> bool:
    """Whether all stages have room on the device, if they are like the one that @held is of."""
    if device.type != "cuda":
        return True
    one = held["parameters"] + held["gradients"] + 2 * max(held["most"].values())
    return bool(stages * one < 0.6 * torch.cuda.get_device_properties(device).total_memory)


def capture_stages(model: Model, device: torch.device, player: Player, plan: Plan) -> tuple[Rows, list[Bytes], int, Part, list[Part]]:
    """(rows of this rank, bytes by stage, bytes of a message, the stage that histories are of, stages
    whose sustained times are not measured yet)"""
    inputs = [x.to(device) for x in model.inputs]
    target = model.target.to(device) if isinstance(model.target, torch.Tensor) else model.target
    stages, rows, held, parts, chosen, message = len(model.parts), [], [], [], None, 0
    for stage in range(stages):
        module = model.build(stage, device)
        part = Part(module, stage, stages, inputs, model.loss, target)
        inputs = [] if part.is_last else part.sample_outputs()
        message = max(message, sum(x.numel() * x.element_size() for x in inputs))
        held.append(measure_bytes(part, device, model.optimizer))
        rows += host_rows(part, measure_host(part, player, plan.host))
        if fit_together(held[0], stages, device):
            parts.append(part)
        else:
            rows += sustained_rows([part], player, plan)
        if stage == typical(stages):
            chosen = part
        del module, part
    assert chosen is not None  # a model has stages
    return rows, held, message, chosen, parts


def cycle_seconds(part: Part, player: Player) -> float:
    """The same on all ranks."""
    for _ in range(3):
        player.cycle(part)
    return largest(sum(span.took for span in player.take()) / 3, player.device) / 1e9


def write(path: str, metadata: dict[str, Any], rows: Rows) -> None:
    gathered = gather(rows)
    metadata["rank_relative_ppm"] = ";".join(map(str, relative_ppm(gathered)))
    if rank() == 0:
        write_trace(path, metadata, [row for rows in gathered for row in rows])
        write_provenance(provenance_path(path), metadata)


def capture(model: Model, path: str, device: torch.device, plan: Plan | None = None, series: bool = True) -> dict[str, Any]:
    """Measures @model on @device, with torchrun on all of its ranks' devices at a time, and writes
    a trace to @path and its provenance beside it. Without @series only the stages themselves.
    Returns the metadata of the trace. What was measured is written before what needs two ranks is."""
    if rank() == 0:
        demand_writable(path)
    plan, player = plan or Plan(), Player(device)
    rows, held, message, part, parts = capture_stages(model, device, player, plan)
    metadata = {
        **versions(device),
        "model": model.name,
        "gpus": ranks(),
        "layers_per_chunk": 1,
        # A chip at its power limit swings: what a step takes is the sum of slow ops and fast ones.
        "stage_figure": "mean",
        **({"pp_message_bytes": message} if message else {}),
        **stage_metadata(held),
    }
    if not series:
        rows += sustained_rows(parts, player, plan)
        write(path, metadata, rows)
        return metadata
    cycle = cycle_seconds(part, player)
    with Sampler(open_gpu(device)) as sampler:
        settle(device)
        rows += capture_pauses(part, player, plan, sampler)
        rows += capture_duty(part, player, plan, sampler, cycle)
        rows += sustained_rows(parts, player, plan)  # when the chip has become warm
        rows += step_rows(parts or [part], player, plan)
        write(path, metadata, rows)
        if ranks() > 1 and message:
            rows += capture_pair(part, player, plan, sampler, cycle)
            write(path, metadata, rows)
    if dist.is_initialized():
        rows += begin_rows(part, plan, model.name)
        write(path, metadata, rows)
    return metadata
