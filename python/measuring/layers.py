"""Times single layers of plain PyTorch, forward and backward, in BF16 on one GPU, and counts their kernels.

    python layers.py OUT.csv [SECONDS [NAMES.csv]]     one H200 takes three minutes

A row a layer: medians of F and B where gradients are added to others (f_ms, b_ms) and B where there are none yet (fresh_ms);
smallest and largest step; kernels and their time by sort, from a profile. What one rank of several has stands for itself: its
share of heads and MLP, no message. layers_table.py has what pipesim says of them.
"""

import csv
import statistics
import sys

import torch
import torch.nn.functional as F

COLUMNS = (
    "name hidden heads kv_heads head_dim ffn gated experts per_token expert_ffn seq sequences written "
    "f_ms b_ms fresh_ms least_ms most_ms kernels_f kernels_b products_ms attention_ms others_ms"
).split()
SHAPES = (  # name, hidden, heads, kv heads, size of a head, ffn, gated, experts, of a token, ffn of those, tokens, sequences
    ("1024", 1024, 16, 16, 64, 4096, 0, 0, 0, 0, 2048, 1),
    ("1024-gqa", 1024, 16, 8, 64, 3072, 1, 0, 0, 0, 1024, 4),
    ("1536", 1536, 12, 2, 128, 8960, 1, 0, 0, 0, 4096, 1),
    ("2048", 2048, 32, 8, 64, 8192, 1, 0, 0, 0, 4096, 1),
    ("2048-mha", 2048, 16, 16, 128, 6144, 1, 0, 0, 0, 2048, 4),
    ("2560", 2560, 32, 8, 128, 9728, 1, 0, 0, 0, 4096, 2),
    ("3072", 3072, 24, 8, 128, 8192, 1, 0, 0, 0, 8192, 1),
    ("3584", 3584, 28, 4, 128, 18944, 1, 0, 0, 0, 4096, 1),
    ("4096-mha", 4096, 32, 32, 128, 11008, 1, 0, 0, 0, 3072, 1),
    ("4096-gelu", 4096, 32, 32, 128, 16384, 0, 0, 0, 0, 2048, 3),
    ("4096/2", 4096, 16, 4, 128, 6144, 1, 0, 0, 0, 6144, 1),
    ("5120", 5120, 40, 40, 128, 13824, 1, 0, 0, 0, 4096, 1),
    ("5120/2", 5120, 20, 4, 128, 8704, 1, 0, 0, 0, 4096, 2),
    ("5120/4", 5120, 16, 2, 128, 6400, 1, 0, 0, 0, 8192, 1),
    ("6144", 6144, 48, 8, 128, 16384, 1, 0, 0, 0, 4096, 1),
    ("6656/2", 6656, 26, 26, 128, 8960, 1, 0, 0, 0, 2048, 2),
    ("7168/4", 7168, 14, 2, 128, 5120, 1, 0, 0, 0, 4096, 1),
    ("8192-qwen", 8192, 64, 8, 128, 29568, 1, 0, 0, 0, 6144, 1),
    ("8192/4", 8192, 16, 2, 128, 7392, 1, 0, 0, 0, 6144, 1),
    ("8192/8", 8192, 10, 2, 128, 3696, 1, 0, 0, 0, 8192, 1),
    ("12288", 12288, 96, 8, 128, 28672, 1, 0, 0, 0, 4096, 1),
    ("12288/8", 12288, 12, 1, 128, 3584, 1, 0, 0, 0, 4096, 1),
    ("16384/8", 16384, 12, 2, 128, 6144, 1, 0, 0, 0, 4096, 1),
    ("16384-gelu", 16384, 128, 16, 128, 40960, 0, 0, 0, 0, 2048, 1),
    ("1024-experts", 1024, 16, 16, 64, 0, 1, 8, 2, 2048, 4096, 1),
    ("2048-experts", 2048, 32, 4, 128, 0, 1, 16, 8, 768, 4096, 1),
    ("2048-64-experts", 2048, 16, 16, 128, 0, 1, 64, 6, 1408, 4096, 1),
    ("4096-experts", 4096, 32, 8, 128, 0, 1, 16, 2, 6400, 3072, 2),
    ("5120-experts", 5120, 32, 32, 128, 0, 1, 16, 6, 1536, 4096, 1),
    ("6144-experts", 6144, 48, 8, 128, 0, 1, 8, 2, 16384, 4096, 1),
    ("7168-experts", 7168, 32, 32, 128, 0, 1, 8, 8, 2048, 4096, 1),
)
AS_LLAMA = ("1536", "2048", "4096-mha", "6144", "8192/4", "2048-experts")  # once more, as Llama's code is written


def rotate(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class ByHand(torch.nn.Module):
    """A norm of single operations, in FP32."""

    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def linear(inner, outer):
    return torch.nn.Linear(inner, outer, bias=False)


class Mlp(torch.nn.Module):
    def __init__(self, width, ffn, gated):
        super().__init__()
        self.gate = linear(width, ffn) if gated else None
        self.up, self.down = linear(width, ffn), linear(ffn, width)

    def forward(self, x):
        if self.gate is None:
            return self.down(F.gelu(self.up(x)))
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(torch.nn.Module):
    """One after the other over rows in their order; each has as many."""

    def __init__(self, shape, tokens):
        super().__init__()
        _, width, *_, experts, self.of_token, ffn, _, _ = shape
        self.router = linear(width, experts)
        self.experts = torch.nn.ModuleList(Mlp(width, ffn, True) for _ in range(experts))
        rows = torch.arange(tokens * self.of_token) % experts
        self.register_buffer("chosen", rows.view(tokens, self.of_token))
        self.register_buffer("order", torch.argsort(rows, stable=True))

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights = self.router(flat).float().softmax(-1)
        weights, _ = weights.topk(self.of_token)
        weights = weights.flatten()[self.order].to(x.dtype)
        source = self.order // self.of_token
        rows = flat[source].chunk(len(self.experts))
        done = torch.cat([expert(part) for expert, part in zip(self.experts, rows)])
        return torch.zeros_like(flat).index_add(0, source, done * weights[:, None]).view_as(x)


class Layer(torch.nn.Module):
    def __init__(self, shape, as_llama):
        super().__init__()
        _, width, self.heads, self.kv, self.head, ffn, gated, experts, _, _, tokens, sequences = shape
        norm = ByHand if as_llama else torch.nn.RMSNorm
        q, kv = self.heads * self.head, self.kv * self.head
        self.before, self.between = norm(width), norm(width)
        self.as_llama = as_llama
        self.qkv = None if as_llama else linear(width, q + 2 * kv)
        self.parts = torch.nn.ModuleList(linear(width, n) for n in (q, kv, kv)) if as_llama else None
        self.out = linear(q, width)
        self.mlp = Experts(shape, tokens * sequences) if experts else Mlp(width, ffn, gated)
        angles = torch.arange(tokens)[:, None, None] / 10000 ** (torch.arange(0, self.head, 2) / self.head)
        self.register_buffer("cos", torch.cat((angles, angles), -1).cos().view(tokens, 1, self.head))
        self.register_buffer("sin", torch.cat((angles, angles), -1).sin().view(tokens, 1, self.head))

    def forward(self, x):
        batch, tokens, _ = x.shape
        y = self.before(x)
        sizes = [self.heads * self.head, self.kv * self.head, self.kv * self.head]
        parts = [part(y) for part in self.parts] if self.as_llama else self.qkv(y).split(sizes, -1)
        q, k, v = (part.view(batch, tokens, -1, self.head) for part in parts)
        q, k = rotate(q, self.cos, self.sin), rotate(k, self.cos, self.sin)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        if self.as_llama and self.kv != self.heads:
            k, v = (part.repeat_interleave(self.heads // self.kv, 1) for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, -1))
        return x + self.mlp(self.between(x))


def steps(layer, x, gradient, seconds, fresh):
    """[(F, B)] in ms, without what came first."""
    spans, total = [], 0.0

    def step():
        if fresh:
            layer.zero_grad(set_to_none=True)
        x.grad = None
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        marks[0].record()
        y = layer(x)
        marks[1].record()
        y.backward(gradient)
        marks[2].record()
        return marks

    for _ in range(3):
        marks = step()
    torch.cuda.synchronize()
    total = marks[0].elapsed_time(marks[2]) / 1e3
    count = max(8, min(2000, round(seconds / total)))
    spans = [step() for _ in range(count)]
    torch.cuda.synchronize()
    return [(a.elapsed_time(b), b.elapsed_time(c)) for a, b, c in spans[count // 3 :]]


def sort_of(name):
    name = name.lower()
    if any(word in name for word in ("flash", "fmha", "sdpa", "attention")):
        return "attention"
    words = ("gemm", "nvjet", "cutlass", "xmma", "cublas", "splitk", "gemv")
    return "products" if any(word in name for word in words) else "others"


def profiled(layer, x, gradient):
    """[(ms, name)] of all kernels of one F, and of one B."""
    found = []
    outcome = []
    for phase in "FB":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            if phase == "F":
                outcome.append(layer(x))
            else:
                outcome[0].backward(gradient)
            torch.cuda.synchronize()
        events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        found.append([(e.time_range.elapsed_us() / 1e3, e.name) for e in events])
    return found


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.5
    names = open(sys.argv[3], "w", newline="", encoding="utf-8") if len(sys.argv) > 3 else None
    torch.manual_seed(1)
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        todo = [(shape, "plain") for shape in SHAPES] + [(s, "llama") for s in SHAPES if s[0] in AS_LLAMA]
        for shape, written in todo:
            with torch.device("cuda"):
                layer = Layer(shape, written == "llama").to(torch.bfloat16)
                x = torch.randn(shape[-1], shape[-2], shape[1], dtype=torch.bfloat16, requires_grad=True)
            gradient = torch.randn_like(x)
            fresh = steps(layer, x, gradient, seconds / 3, True)
            taken = steps(layer, x, gradient, seconds, False)
            whole = [f + b for f, b in taken]
            kernels = profiled(layer, x, gradient)
            by = dict.fromkeys(("products", "attention", "others"), 0.0)
            for ms, name in sum(kernels, []):
                by[sort_of(name)] += ms
            figures = [statistics.median(f for f, _ in taken), statistics.median(b for _, b in taken)]
            figures += [statistics.median(f + b for f, b in fresh), min(whole), max(whole)]
            row = [*shape, written, *(f"{ms:.4f}" for ms in figures), *map(len, kernels), *(f"{ms:.4f}" for ms in by.values())]
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)
            if names:
                out = csv.writer(names, lineterminator="\n")
                for phase, of in zip("FB", kernels):
                    out.writerows([shape[0], written, phase, f"{ms * 1e3:.2f}", name[:160]] for ms, name in of)
                names.flush()
            del layer, x, gradient, fresh, taken
            torch.cuda.empty_cache()


main()
