#!/usr/bin/env python3
"""Steps of DeepSpeed's pipeline engine on a plain transformer, as torch.profiler sees them:

    torchrun --nproc-per-node 4 tests/runs/record-deepspeed.py OUT [HIDDEN [STEPS [INTERVAL]]]

writes OUT-rank0.json and so on; INTERVAL layers between two checkpoints are recomputed. causes.py says what may go wrong in
them on purpose.
"""
import functools
import os
import sys

import blocks
import causes
import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from deepspeed.runtime.pipe import schedule
from deepspeed.runtime.pipe.engine import PipelineEngine
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

LAYERS, LENGTH, VOCABULARY, MICROBATCHES = 8, 2048, 32000, 8
HIDDEN = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
INTERVAL = int(sys.argv[4]) if len(sys.argv) > 4 else 0
BEFORE = 8


def loss_of(output, labels):
    return cross_entropy(output.float().view(-1, output.size(-1)), labels.view(-1))


def batches():
    generator = torch.Generator().manual_seed(1)
    while True:
        tokens = torch.randint(0, VOCABULARY, (1, LENGTH + 1), generator=generator)
        yield tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def before(instruction, hook):
    """Calls @hook before the engine does what @instruction says."""
    inner = PipelineEngine._INSTRUCTION_MAP[instruction]

    def outer(engine, *arguments, **options):
        hook()
        return inner(engine, *arguments, **options)

    PipelineEngine._INSTRUCTION_MAP[instruction] = outer


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed()
    layers = [LayerSpec(nn.Embedding, VOCABULARY, HIDDEN)] + [LayerSpec(blocks.Layer, HIDDEN)] * LAYERS
    layers.append(LayerSpec(blocks.Head, HIDDEN, VOCABULARY))
    model = PipelineModule(layers, num_stages=int(os.environ["WORLD_SIZE"]), loss_fn=loss_of,
                           partition_method="parameters", activation_checkpoint_interval=INTERVAL,
                           activation_checkpoint_func=functools.partial(checkpoint, use_reentrant=False))
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    config = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": MICROBATCHES,
              "bf16": {"enabled": True}, "zero_optimization": {"stage": 0}}
    engine = deepspeed.initialize(model=model, config=config, model_parameters=parameters,
                                  optimizer=torch.optim.AdamW(parameters, lr=1e-4))[0]
    wrong = causes.Causes()
    before(schedule.ForwardPass, wrong.before_forward)
    before(schedule.BackwardPass, wrong.before_backward)
    before(schedule.LoadMicroBatch, wrong.before_batch)
    data = batches()

    def step():
        wrong.begin_step()
        engine.train_batch(data_iter=data)
        torch.cuda.synchronize()
        wrong.end_step()

    for _ in range(BEFORE):
        step()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=STEPS)

    def keep(profile):
        profile.export_chrome_trace(f"{sys.argv[1]}-rank{os.environ['RANK']}.json")

    with torch.profiler.profile(schedule=plan, on_trace_ready=keep) as profile:
        for _ in range(1 + STEPS):
            step()
            profile.step()


if __name__ == "__main__":
    main()
