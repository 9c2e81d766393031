#!/usr/bin/env python3
"""One step of DeepSpeed's pipeline engine on a plain transformer, as torch.profiler sees it:

    torchrun --nproc-per-node 4 tests/runs/record-deepspeed.py OUT

writes OUT-rank0.json and so on.
"""
import os
import sys

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn
from torch.nn import functional

HIDDEN, LAYERS, LENGTH, VOCABULARY, MICROBATCHES = 2048, 8, 2048, 32000, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.second_norm = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, hidden // 128, 128).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, hidden))
        return x + self.down(functional.gelu(self.up(self.second_norm(x))))


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, x):
        return self.out(self.norm(x))


def loss_of(output, labels):
    return functional.cross_entropy(output.float().view(-1, output.size(-1)), labels.view(-1))


def batches():
    generator = torch.Generator().manual_seed(1)
    while True:
        tokens = torch.randint(0, VOCABULARY, (1, LENGTH + 1), generator=generator)
        yield tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed()
    layers = [LayerSpec(nn.Embedding, VOCABULARY, HIDDEN)] + [LayerSpec(Layer)] * LAYERS + [LayerSpec(Head)]
    model = PipelineModule(layers, num_stages=int(os.environ["WORLD_SIZE"]), loss_fn=loss_of,
                           partition_method="parameters")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    config = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": MICROBATCHES,
              "bf16": {"enabled": True}, "zero_optimization": {"stage": 0}}
    engine = deepspeed.initialize(model=model, config=config, model_parameters=parameters,
                                  optimizer=torch.optim.AdamW(parameters, lr=1e-4))[0]
    data = batches()
    for _ in range(8):
        engine.train_batch(data_iter=data)
    with torch.profiler.profile() as profile:
        engine.train_batch(data_iter=data)
        torch.cuda.synchronize()
    profile.export_chrome_trace(f"{sys.argv[1]}-rank{os.environ['RANK']}.json")


if __name__ == "__main__":
    main()
