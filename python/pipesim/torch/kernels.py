"""Times the kernels of described models on one GPU: python -m pipesim.torch measure. docs/pytorch.md says how."""

from __future__ import annotations

import csv
import datetime
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import device as devices
from . import shapes
from .device import Groups
from .nvml import Gpu, Sampler, open_gpu
from .private import scaled_product

COLUMNS = "what type m n k phase us flops bytes share".split()
# Bytes of an element that kernels of PyTorch's own modules read and write, forward and backward, as
# src/transformer/kernels.c of pipesim counts them; and the term of the device file. A sum hands its gradient on.
ELEMENTS = {
    "norm": ("norms", 4, 10),
    "residual": ("elements", 6, 0),
    "activation": ("elements", 10, 18),
    "rope": ("turns", 20, 20),
    "rows": ("indexed", 18, 24),
}
CACHE = 256 << 20  # bytes of operands that are gone through before any is used again
Terms = dict[str, list[tuple[float, float]]]
REPLAY = 0.008  # seconds of one graph of kernels


@dataclass
class Plan:
    """What is measured and how long."""

    models: list[shapes.Model]
    tps: list[int]
    microbatches: list[int]
    seq: int
    eps: list[int] = field(default_factory=lambda: [1])
    precision: str = "bf16"
    seconds: float = 0.5  # of each shape
    beside: float = 0.25  # share of the time that element-wise kernels take between those that are timed
    seqs: tuple[int, ...] = (1024, 4096, 16384)  # of attention, and --seq


class Bench:
    """Times kernels on a GPU that never rests: what is timed is recorded as a graph, and between two replays long
    additions run, as products of a layer have element-wise kernels between them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.stream = torch.cuda.Stream()
        self.a, self.b, self.c = (self.some(1 << 26) for _ in range(3))
        self.add = self._replay_time(lambda: torch.add(self.a, self.b, out=self.c), 20)

    def some(self, *shape: int, grad: bool = False) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).mul_(0.5).requires_grad_(grad)

    def _replay_time(self, run: Callable[[], object], n: int) -> float:
        """Seconds of run(), n times, host included."""
        for _ in range(3):
            run()
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        before.record()
        for _ in range(n):
            run()
        after.record()
        torch.cuda.synchronize()
        return float(before.elapsed_time(after)) / 1e3 / n

    def capture(self, run: Callable[[int], object], n: int) -> torch.cuda.CUDAGraph:
        """A graph of run(0) to run(n - 1)."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for i in range(3):
                run(i)
        torch.cuda.current_stream().wait_stream(self.stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(n):
                run(i)
        return graph

    def seconds(self, run: Callable[[int], object], most: int = 400, beside: float | None = None) -> float:
        """Seconds of run(i) by the GPU alone."""
        share = self.plan.beside if beside is None else beside
        n = max(1, min(most, math.ceil(REPLAY / max(self._replay_time(lambda: run(0), 3), 1e-6))))
        graph = self.capture(run, n)
        took = self._replay_time(graph.replay, 2)
        adds = round(took * share / (1 - share) / self.add)
        count = max(6, math.ceil(self.plan.seconds / (took + adds * self.add)))
        spans = []
        for _ in range(count):
            span = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            span[0].record()
            graph.replay()
            span[1].record()
            spans.append(span)
            for _ in range(adds):
                torch.add(self.a, self.b, out=self.c)
        torch.cuda.synchronize()
        # The first third shows the speed of a chip that did something else before.
        times = [a.elapsed_time(b) / 1e3 for a, b in spans[count // 3 :]]
        del graph
        return float(statistics.median(times)) / n


def operands(bench: Bench, product: shapes.Product, precision: str) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]:
    """Sets of (left, right, out) of a product, in the layout that its phase has; more than the cache holds."""
    m, n, k = product.m, product.n, product.k
    size = 2 if precision == "bf16" else 1
    count = max(1, min(16, math.ceil(CACHE / (size * (m * k + k * n) + 2 * m * n))))
    sets: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]] = []
    for _ in range(count):
        if precision == "fp8":  # both with K inside: as the tensor cores take it
            left, right = (bench.some(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
            sets.append((left, right.t(), None))
            continue
        left = bench.some(k, m).t() if product.phase == "W" else bench.some(m, k)
        right = bench.some(n, k).t() if product.phase == "F" else bench.some(k, n)
        sets.append((left, right, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)))
    return sets


def time_product(bench: Bench, product: shapes.Product, precision: str, beside: float | None = None) -> float:
    sets = operands(bench, product, precision)
    one = torch.ones((), device="cuda")

    def run(i: int) -> None:
        left, right, out = sets[i % len(sets)]
        if out is None:
            scaled_product(left, right, one, product.phase == "F")
        else:
            torch.mm(left, right, out=out)

    return bench.seconds(run, beside=beside)


def forward_and_backward(bench: Bench, inputs: Sequence[torch.Tensor], call: Callable[..., torch.Tensor]) -> tuple[float, float]:
    """Seconds of call(*inputs) and of its gradients, by graphs of the first and of both."""
    gradient = torch.randn_like(call(*inputs))

    def both(_: int) -> None:
        torch.autograd.grad(call(*inputs), [x for x in inputs if x.requires_grad], gradient)

    forward = bench.seconds(lambda _: call(*inputs), most=50)
    return forward, bench.seconds(both, most=50) - forward


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """RoPE as Llama's own code has it: halves of a head turned."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Run:
    """One run of everything: rows for the CSV, and what goes into the device file."""

    def __init__(self, plan: Plan, groups: Groups) -> None:
        self.plan, self.groups = plan, groups
        self.bench = Bench(plan)
        self.rows: list[list[object]] = []
        self.measured = devices.Measured()
        self.memory = devices.bandwidth(groups)
        self.seqs = sorted({plan.seq, *plan.seqs})
        self.tokens = [plan.seq * size for size in plan.microbatches]
        self.failed = 0
        self.units = torch.cuda.get_device_properties(self.bench.device).multi_processor_count

    def put(
        self, what: str, kind: str, sizes: Sequence[int | str], phase: str, seconds: float, flops: float = 0, moved: float = 0, share: float | None = None
    ) -> None:
        self.rows.append(
            [what, kind, *sizes, phase, f"{seconds * 1e6:.3f}", int(flops), int(moved), "" if share is None else f"{share:.4f}"]
        )

    def gap(self) -> None:
        small = torch.zeros(32, device="cuda")
        seconds = self.bench.seconds(lambda _: small.add_(1), most=1000)
        self.put("gap", "", ("", "", ""), "", seconds)
        self.measured.terms["gap"] = seconds

    def products(self) -> None:
        gap = self.measured.terms["gap"]
        for kind in ("bf16", "fp8") if self.plan.precision == "fp8" else ("bf16",):
            peak = devices.peak(self.groups, kind)
            if peak is None:
                raise ValueError(f"this device has no products of {kind}; leave out --precision {kind}")
            multiple = 16 if kind == "fp8" else 1
            found: dict[tuple[str, int, int, int], list[float]] = {}
            todo = shapes.products(self.plan.models, self.plan.tps, self.tokens, self.plan.eps, multiple)
            for product in todo:
                try:
                    seconds = time_product(self.bench, product, kind)
                except (torch.OutOfMemoryError, RuntimeError) as error:
                    self.skip("product", product, error)
                    continue
                flops = 2 * product.m * product.n * product.k
                share = flops / peak / max(seconds - gap, seconds / 2)
                sizes = (product.m, product.n, product.k)
                self.put("product", kind, sizes, product.phase, seconds, flops, 0, share)
                found.setdefault((kind, *sizes), []).append(share)
            # F and I of a square layer are one shape here.
            shares = {key: statistics.geometric_mean(of) for key, of in found.items()}
            self.measured.products.update(shares)
            reached = devices.large(shares, kind)
            if reached is not None:
                self.measured.terms["products" if kind == "bf16" else f"products_{kind}"] = reached

    def skip(self, what: str, which: object, error: BaseException) -> None:
        self.failed += 1
        torch.cuda.empty_cache()
        print(f"{what} {which}: {str(error).splitlines()[0][:120]}; left out", file=sys.stderr)

    def attention(self) -> None:
        """Causal: of PyTorch's choice (sdpa), cuDNN's, as TransformerEngine takes it on Hopper (attention), and its
        FlashAttention-2, as torchtitan does (flash)."""
        peak = devices.peak(self.groups, "bf16") or math.nan  # devices.read() refuses a file without
        ways = {"sdpa": None, "attention": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
        shares: Terms = {}
        for heads, kv, head in shapes.attentions(self.plan.models, self.plan.tps):
            for seq in self.seqs:
                batch = max(1, max(self.tokens) // seq)
                q, k, v = (self.bench.some(batch, n, seq, head, grad=True) for n in (heads, kv, kv))

                def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
                    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv)

                for what, backend in ways.items():
                    try:
                        if backend is None:
                            took = forward_and_backward(self.bench, (q, k, v), call)
                        else:
                            with sdpa_kernel(backend):
                                took = forward_and_backward(self.bench, (q, k, v), call)
                    except (torch.OutOfMemoryError, RuntimeError) as error:
                        self.skip(what, (heads, kv, head, seq), error)
                        continue
                    tiles = batch * heads * seq / 128
                    for phase, seconds in zip("FB", took):
                        flops = (2 if phase == "F" else 5) * batch * heads * seq * seq * head
                        share = flops / peak / seconds * shapes.attention_slower(what, phase, seq, head, tiles, self.units)
                        self.put(what, "bf16", (heads, seq, head), phase, seconds, flops, 0, share)
                        # Megatron-LM's is fitted at the length of a step; PyTorch's at all.
                        if what != "attention" or seq == self.plan.seq:
                            key = what if phase == "F" else f"{what}_backward"
                            shares.setdefault(key, []).append((flops, share))
        for key, found in shares.items():
            self.measured.terms[key] = statistics.median(share for _, share in found)

    def elements(self) -> None:
        """Of each width that models have, as PyTorch's own modules go through memory."""
        rows = max(self.tokens)
        terms: Terms = {}
        for model in self.plan.models:
            width = model.hidden
            x, y = (self.bench.some(rows, width, grad=True) for _ in range(2))
            weight = self.bench.some(width, grad=True)
            heads = self.bench.some(1, rows, max(width // 128, 1), 128, grad=True)
            turn = [self.bench.some(rows, 1, 128) for _ in range(2)]
            calls: dict[str, tuple[tuple[torch.Tensor, ...], torch.Tensor, Callable[..., torch.Tensor]]] = {
                "norm": ((x, weight), x, lambda x, w: F.rms_norm(x, (x.shape[-1],), w)),
                "residual": ((x, y), x, lambda x, y: x + y),
                "activation": ((x, y), x, lambda x, y: F.silu(x) * y),
                "rope": ((heads,), heads, lambda x: rotate(x, *turn)),
            }
            for what, (inputs, through, call) in calls.items():
                self.through_memory(terms, what, (rows, width, ""), inputs, through.numel(), call)
        for term, of in terms.items():
            self.measured.terms[term] = weighted(of)

    def through_memory(
        self, terms: Terms, what: str, sizes: Sequence[int | str], inputs: Sequence[torch.Tensor], number: int, call: Callable[..., torch.Tensor]
    ) -> None:
        term, *each = ELEMENTS[what]
        try:
            took = forward_and_backward(self.bench, inputs, call)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            self.skip(what, sizes, error)
            return
        for phase, seconds, of in zip("FB", took, each):
            if of:
                share = of * number / seconds / self.memory
                self.put(what, "bf16", sizes, phase, seconds, 0, of * number, share)
                terms.setdefault(term, []).append((of * number, share))

    def rows_of_experts(self) -> None:
        """Rows into the order of experts, put together again, weighted and added where they came from."""
        terms: Terms = {}
        tokens = max(self.tokens)
        for model in (model for model in self.plan.models if model.experts):
            count = tokens * model.per_token
            x = self.bench.some(tokens, model.hidden, grad=True)
            weights = self.bench.some(count, grad=True)
            source = torch.arange(count, device="cuda").view(-1, model.experts).t().flatten() // model.per_token

            def there_and_back(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
                done = torch.cat(x[source].chunk(8))
                return torch.zeros_like(x).index_add(0, source, done * weights[:, None])

            self.through_memory(terms, "rows", (count, model.hidden, ""), (x, weights), count * model.hidden, there_and_back)
        for term, of in terms.items():
            self.measured.terms[term] = weighted(of)

    def memory_bound(self) -> None:
        """Long copies, and gradients that are added up."""
        long = self.bench.some(1 << 28)
        other = torch.empty_like(long)
        took = []
        for what, each, run in (("copy", 4, lambda _: torch.neg(long, out=other)), ("gradients", 6, lambda _: other.add_(long))):
            seconds = self.bench.seconds(run)
            moved = each * long.numel()
            self.put(what, "bf16", ("", "", ""), "", seconds, 0, moved, moved / seconds / self.memory)
            took.append((moved, moved / seconds / self.memory))
        self.measured.terms["copies"] = weighted(took)

    def launch(self) -> None:
        """CPU time of a kernel of PyTorch's own modules, forward and backward, where the GPU is never behind."""
        def block(size: int) -> torch.nn.ModuleDict:
            return torch.nn.ModuleDict({"norm": torch.nn.RMSNorm(size), **{k: torch.nn.Linear(size, size, bias=False) for k in ("q", "up", "gate", "down")}})

        blocks: Any = torch.nn.ModuleList(block(64) for _ in range(4)).to("cuda", torch.bfloat16)
        x = self.bench.some(1, 16, 64, grad=True)
        turn = [self.bench.some(16, 1, 32) for _ in range(2)]
        gradient = torch.randn_like(x)

        def forward() -> torch.Tensor:
            y = x
            for one in blocks:
                z = rotate(one["q"](one["norm"](y)).view(1, 16, 2, 32), *turn)
                y = y + z.transpose(1, 2).transpose(1, 2).reshape(1, 16, 64)
                y = y + one["down"](F.silu(one["gate"](y)) * one["up"](y))
            return y

        for _ in range(20):
            forward().backward(gradient)
        counts, times = [], []
        y = x
        for phase in "FB":
            torch.cuda.synchronize()
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
                if phase == "F":
                    y = forward()
                else:
                    y.backward(gradient)
                torch.cuda.synchronize()
            counts.append(sum(e.device_type.name == "CUDA" and not e.name.startswith("Mem") for e in profiler.events()))
        for _ in range(200):
            start = time.perf_counter()
            y = forward()
            middle = time.perf_counter()
            y.backward(gradient)
            times.append((middle - start, time.perf_counter() - middle))
        torch.cuda.synchronize()
        for phase, term, count, took in zip("FB", ("kernel", "kernel_backward"), counts, zip(*times)):
            if count:
                seconds = statistics.median(took) / count
                self.put("launch", "", (count, "", ""), phase, seconds)
                self.measured.terms[term] = seconds


def weighted(found: Sequence[tuple[float, float]]) -> float:
    """The share that all (work, share) take together."""
    return sum(work for work, _ in found) / sum(work / share for work, share in found)


def provenance(gpu: Gpu | None, began: datetime.datetime, samples: Sequence[tuple[int, float]], source: str | Path) -> list[str]:
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    clocks = [clock for clock, _ in samples]
    lines = [
        f"{properties.name}, measured on one by: python -m pipesim.torch {' '.join(sys.argv[1:])}",
        f"{began:%Y-%m-%d %H:%M} UTC, {(datetime.datetime.now(datetime.timezone.utc) - began).seconds} s.",
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuBLAS {_cublas()}, cuDNN {torch.backends.cudnn.version()}.",
    ]
    if gpu is not None:
        lines.append(f"Driver {gpu.driver()}, power limit {gpu.power_limit_w():.0f} W.")
    if clocks:
        clocks.sort()
        watts = sorted(watt for _, watt in samples)
        low, middle, high = (clocks[len(clocks) * i // 10] for i in (1, 5, 9))
        lines.append(f"SM clock under this load {middle} MHz in the median, {low} to {high} for four fifths of the time; {watts[len(watts) // 2]:.0f} W.")
    return [*lines, f"What was not measured is that of {os.path.basename(source)}, which follows."]


def _cublas() -> str:
    try:
        from importlib.metadata import distributions

        for one in distributions():
            if (one.metadata["Name"] or "").startswith("nvidia-cublas"):
                return one.version
    except Exception:  # a figure for the file's head alone
        pass
    return "unknown"


def measure(plan: Plan, like: str | None, output: str) -> str:
    """Measures and writes @output and, beside it, a CSV with every time. Returns a sentence."""
    if not torch.cuda.is_available():
        raise ValueError("measure needs a GPU, and PyTorch finds none")
    source = like or devices.find(torch.cuda.get_device_name())
    groups = devices.read(source)
    began = datetime.datetime.now(datetime.timezone.utc)
    torch.manual_seed(1)
    run = Run(plan, groups)
    gpu = open_gpu(run.bench.device)
    sampler = Sampler(gpu, 0.05)
    with sampler:
        for part in (run.gap, run.products, run.attention, run.elements, run.memory_bound, run.launch, run.rows_of_experts):
            part()
    with open(source, encoding="utf-8") as file:
        shipped = file.read()
    with open(output, "w", encoding="utf-8") as file:
        file.write(devices.render(shipped, run.measured, provenance(gpu, began, sampler._values, source)))
    with open(os.path.splitext(output)[0] + ".csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *run.rows])
    left = f", {run.failed} left out" if run.failed else ""
    return f"{output}: {len(run.measured.products)} products and {len(run.measured.terms)} other terms measured{left}"
