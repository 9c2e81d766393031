"""Products of a layer's experts by the rows of each, in BF16 on one GPU: one after the other, over four streams in turn as
TransformerEngine's grouped linear runs them, and in one kernel (torch._grouped_mm, forward alone). Beside them single
large products.

    python experts.py OUT.csv [SECONDS]     one H200 takes 45 seconds

A line for each: time of all products of a phase (F, for input I, for weights W) of both matrices, launched back to back for a
third of a second after as long a warm-up; what the host took to launch them; FLOP/s. docs/accuracy.md has what came out.
"""

import csv
import sys
import time

import torch

COLUMNS = "what name experts rows hidden ffn phase streams ms host_ms tflops".split()
SHAPES = (  # name, experts of a rank, rows of each, hidden, ffn
    ("deepseek-v2", 40, 616, 5120, 1536),
    ("deepseek-v3", 64, 512, 7168, 2048),
    ("qwen3-30b", 16, 2048, 2048, 768),
    ("mixtral", 2, 4096, 4096, 14336),
    *(("sweep", 16, rows, 7168, 2048) for rows in (128, 256, 1024, 2048, 4096)),
)
DENSE = ((4096, 5120, 24576), (4096, 7168, 36864), (4096, 16384, 7168), (4096, 8192, 57344), (4096, 8192, 14336))


def timed(run, seconds):
    """ms of run() and of its launch."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start = time.time()
    run()
    torch.cuda.synchronize()
    n = min(max(3, int(seconds / max(time.time() - start, 1e-6))), 2000)
    for _ in range(n):
        run()
    torch.cuda.synchronize()
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    start = time.time()
    for _ in range(n):
        run()
    host = (time.time() - start) / n * 1e3
    after.record()
    torch.cuda.synchronize()
    return before.elapsed_time(after) / n, host


def some(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02


def multiply(pairs, outs, streams):
    if len(streams) < 2:
        for (a, b), out in zip(pairs, outs):
            torch.mm(a, b, out=out)
        return
    main = torch.cuda.current_stream()
    event = torch.cuda.Event()
    event.record(main)
    for stream in streams:
        stream.wait_event(event)
    for i, ((a, b), out) in enumerate(zip(pairs, outs)):
        with torch.cuda.stream(streams[i % len(streams)]):
            torch.mm(a, b, out=out)
    for stream in streams:
        event = torch.cuda.Event()
        event.record(stream)
        main.wait_event(event)


def experts(shape, seconds, put):
    name, n, rows, h, fe = shape
    x, w1 = [some(rows, h) for _ in range(n)], [some(2 * fe, h) for _ in range(n)]
    y, w2 = [some(rows, fe) for _ in range(n)], [some(h, fe) for _ in range(n)]
    g1, g2 = [some(rows, 2 * fe) for _ in range(n)], [some(rows, h) for _ in range(n)]
    phases = {
        "F": [[(a, b.t()) for a, b in zip(x, w1)], [(a, b.t()) for a, b in zip(y, w2)]],
        "I": [list(zip(g2, w2)), list(zip(g1, w1))],
        "W": [[(a.t(), b) for a, b in zip(g2, y)], [(a.t(), b) for a, b in zip(g1, x)]],
    }
    four = [torch.cuda.Stream() for _ in range(4)]
    flops = 6 * n * rows * h * fe
    for phase, sets in phases.items():
        outs = [[a.new_empty(a.shape[0], b.shape[1]) for a, b in pairs] for pairs in sets]
        for streams in (four[:1], four):
            ms, host = timed(lambda: [multiply(p, o, streams) for p, o in zip(sets, outs)], seconds)
            put("experts", name, n, rows, h, fe, phase, len(streams), ms, host, flops)
    x, y, w1, w2 = torch.cat(x), torch.cat(y), torch.stack(w1), torch.stack(w2)
    ends = torch.arange(1, n + 1, device="cuda", dtype=torch.int32) * rows
    run = lambda: [torch._grouped_mm(a, w.transpose(-2, -1), offs=ends) for a, w in ((x, w1), (y, w2))]
    ms, host = timed(run, seconds)
    put("experts", name, n, rows, h, fe, "F", 0, ms, host, flops)


def dense(m, k, n, seconds, put):
    a, b, g = some(m, k), some(n, k), some(m, n)
    o, i, w = some(m, n), some(m, k), some(n, k)
    products = {"F": (a, b.t(), o), "I": (g, b, i), "W": (g.t(), a, w)}
    for phase, (left, right, out) in products.items():
        ms, host = timed(lambda: torch.mm(left, right, out=out), seconds)
        put("dense", "", 1, m, k, n, phase, 1, ms, host, 2 * m * k * n)


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.35
    with open(sys.argv[1], "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)

        def put(*fields):
            *fields, ms, host, flops = fields
            writer.writerow([*fields, f"{ms:.4f}", f"{host:.4f}", f"{flops / ms / 1e9:.1f}"])
            file.flush()

        for shape in DENSE:
            dense(*shape, seconds, put)
        for shape in SHAPES:
            experts(shape, seconds, put)


main()
