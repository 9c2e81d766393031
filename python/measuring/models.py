"""The transformers that the scripts here train, cut into stages."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class Size:
    layers: int
    hidden: int
    heads: int
    tokens: int  # of one sequence
    vocabulary: int  # 0: neither embedding nor head, activations in and out
    dtype: torch.dtype
    recompute: bool = False
    sequences: int = 1  # of a micro-batch
    experts: int = 0  # in place of the MLP; 0: none
    chosen: int = 0  # experts of a token, in the mean
    width: int = 0  # of an expert


class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        width = size.hidden
        self.heads = size.heads
        self.before_attention = torch.nn.RMSNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.before_mlp = torch.nn.RMSNorm(width)
        if size.experts > 0:
            self.experts = Experts(size)
        else:
            self.up = torch.nn.Linear(width, 4 * width, bias=False)
            self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.before_attention(x)).view(batch, tokens, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mix(self.before_mlp(x))

    def mix(self, x):
        return self.experts(x) if hasattr(self, "experts") else self.down(F.gelu(self.up(x)))


class Experts(torch.nn.Module):
    """Experts that choose their tokens: each takes as many as any other, those that suit it best, so that shapes are known
    beforehand and the host never waits for the router."""

    def __init__(self, size):
        super().__init__()
        self.rows = size.sequences * size.tokens * size.chosen // size.experts
        self.router = torch.nn.Linear(size.hidden, size.experts, bias=False)
        scale = size.hidden**-0.5
        self.up = torch.nn.Parameter(scale * torch.randn(size.experts, size.hidden, size.width))
        self.down = torch.nn.Parameter(scale * torch.randn(size.experts, size.width, size.hidden))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weight, rows = self.router(tokens).float().softmax(-1).t().topk(self.rows)
        taken = tokens.index_select(0, rows.flatten()).view(*rows.shape, -1)
        made = torch.bmm(F.gelu(torch.bmm(taken, self.up)), self.down) * weight.to(x.dtype).unsqueeze(-1)
        return torch.zeros_like(tokens).index_add(0, rows.flatten(), made.flatten(0, 1)).view_as(x)


class Part(torch.nn.Module):
    """Layers [first, last) of the model, with the embedding and the head at its ends. Each layer
    is initialised from its own seed, so that every cut makes the same model."""

    def __init__(self, size, first, last):
        super().__init__()
        self.embedding = self.norm = self.head = None
        self.recompute = size.recompute
        torch.manual_seed(1000)
        if first == 0 and size.vocabulary > 0:
            self.embedding = torch.nn.Embedding(size.vocabulary, size.hidden)
        self.layers = torch.nn.ModuleDict()
        for index in range(first, last):
            torch.manual_seed(2000 + index)
            self.layers[str(index)] = Layer(size)
        torch.manual_seed(3000)
        if last == size.layers and size.vocabulary > 0:
            self.norm = torch.nn.RMSNorm(size.hidden)
            self.head = torch.nn.Linear(size.hidden, size.vocabulary, bias=False)

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers.values():
            x = checkpoint(layer, x, use_reentrant=False) if self.recompute else layer(x)
        return x if self.head is None else self.head(self.norm(x))


def loss_function(output, target):
    if target.is_floating_point():
        return F.mse_loss(output, target)
    return F.cross_entropy(output.flatten(0, 1).float(), target.flatten())


def make_batch(size, count, device):
    """Inputs and targets of @count micro-batches."""
    generator = torch.Generator().manual_seed(7)
    if size.vocabulary == 0:
        shape = (count * size.sequences, size.tokens, size.hidden)
        made = (torch.randn(shape, generator=generator).to(size.dtype) for _ in range(2))
    else:
        shape = (count * size.sequences, size.tokens)
        made = (torch.randint(size.vocabulary, shape, generator=generator) for _ in range(2))
    return tuple(tensor.to(device) for tensor in made)


def make_part(size, stage, stages, device):
    edge = [size.layers * s // stages for s in (stage, stage + 1)]
    with device:
        return Part(size, *edge).to(dtype=size.dtype)
