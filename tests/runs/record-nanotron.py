#!/usr/bin/env python3
"""Steps of nanotron's pipeline engines on a plain transformer, as torch.profiler sees them:

    torchrun --nproc-per-node 2 tests/runs/record-nanotron.py 1f1b|afab OUT [HIDDEN [STEPS]]

writes OUT-rank0.json and so on. As in its Llama a mask without gradients goes along with the hidden states. causes.py says
what may go wrong in them on purpose.
"""
import os
import sys
import types

import blocks
import causes
import torch
from torch import distributed, nn
from torch.nn import functional


class Names(types.ModuleType):
    """Stands for nanotron's configurations, which its engines do not use: 0.4 of PyPI imports them in a circle."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return object


for module in ("nanotron.config", "nanotron.config.config"):
    sys.modules[module] = Names(module)

from nanotron import logging as _logging  # noqa: E402, F401
from nanotron.parallel.pipeline_parallel import engine as engines  # noqa: E402
from nanotron.parallel.pipeline_parallel.block import PipelineBlock  # noqa: E402
from nanotron.parallel.pipeline_parallel.p2p import P2P  # noqa: E402
from nanotron.parallel.pipeline_parallel.tensor_pointer import TensorPointer  # noqa: E402

LAYERS, LENGTH, VOCABULARY, MICROBATCHES = 8, 2048, 32000, 8
ENGINE = {"1f1b": engines.OneForwardOneBackwardPipelineEngine,
          "afab": engines.AllForwardAllBackwardPipelineEngine}[sys.argv[1]]
HIDDEN = int(sys.argv[3]) if len(sys.argv) > 3 else 2048
STEPS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
BEFORE = 8


class Embedding(nn.Embedding):
    def forward(self, tokens, mask):
        return {"hidden": super().forward(tokens), "mask": mask}


class Layer(blocks.Layer):
    def forward(self, hidden, mask):
        return {"hidden": super().forward(hidden), "mask": mask}


class Loss(blocks.Head):
    def forward(self, hidden, mask, labels):
        loss = functional.cross_entropy(super().forward(hidden).float().flatten(0, 1), labels.flatten(), reduction="none")
        return {"loss": (loss * mask.flatten()).sum() / mask.sum()}


class Model(nn.Module):
    """Blocks as nanotron's models have them, spread over the ranks of @p2p."""

    def __init__(self, p2p):
        super().__init__()
        passed = {"hidden", "mask"}
        self.embedding = PipelineBlock(p2p, Embedding, {"num_embeddings": VOCABULARY, "embedding_dim": HIDDEN},
                                       {"tokens", "mask"}, passed)
        self.layers = nn.ModuleList(PipelineBlock(p2p, Layer, {"hidden": HIDDEN}, passed, passed) for _ in range(LAYERS))
        self.loss = PipelineBlock(p2p, Loss, {"hidden": HIDDEN, "vocabulary": VOCABULARY}, {*passed, "labels"}, {"loss"})
        ranks = p2p.pg.size()
        self.embedding.build_and_set_rank(0)
        for index, layer in enumerate(self.layers):
            layer.build_and_set_rank(index * ranks // LAYERS)
        self.loss.build_and_set_rank(ranks - 1)

    def forward(self, tokens, mask, labels):
        passed = self.embedding(tokens=tokens, mask=mask)
        for layer in self.layers:
            passed = layer(**passed)
        return self.loss(**passed, labels=labels)["loss"]


def batches(device, rank, ranks):
    """Micro-batches of one step: what a rank does not need it has no tensor of, only whose it is."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(MICROBATCHES):
        tokens = torch.randint(0, VOCABULARY, (1, LENGTH + 1), generator=generator)
        first, last = rank == 0, rank == ranks - 1
        yield {"tokens": tokens[:, :-1].contiguous().to(device) if first else TensorPointer(group_rank=0),
               "mask": torch.ones(1, LENGTH, dtype=torch.bool, device=device) if first else TensorPointer(group_rank=0),
               "labels": tokens[:, 1:].contiguous().to(device) if last else TensorPointer(group_rank=ranks - 1)}


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if cuda else "gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    model = Model(P2P(distributed.new_group(list(range(ranks))), device)).to(device, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    wrong = causes.Causes()

    class Engine(ENGINE):
        def forward(self, *arguments, **options):
            wrong.before_forward()
            return super().forward(*arguments, **options)

        def backward(self, *arguments, **options):
            wrong.before_backward()
            return super().backward(*arguments, **options)

    engine = Engine()

    def data():
        for batch in batches(device, rank, ranks):
            wrong.before_batch()
            yield batch

    def step():
        wrong.begin_step()
        engine.train_batch_iter(model, distributed.group.WORLD, data(), MICROBATCHES, None)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        wrong.end_step()

    for _ in range(BEFORE):
        step()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=STEPS)

    def keep(profile):
        profile.export_chrome_trace(f"{sys.argv[2]}-rank{rank}.json")

    with torch.profiler.profile(schedule=plan, on_trace_ready=keep) as profile:
        for _ in range(1 + STEPS):
            step()
            profile.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
