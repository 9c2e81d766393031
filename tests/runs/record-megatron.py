#!/usr/bin/env python3
"""Megatron-LM's own training loop (megatron-core with megatron.training) on its GPT model and tokens drawn at random:

    torchrun --nproc-per-node 4 tests/runs/record-megatron.py --pipeline-model-parallel-size 4 ...

tests/runs/README.md has the arguments, causes.py what may go wrong on purpose. PIPESIM_LENGTHS=2048,512,... in the
environment: sequences of these lengths in turn, unpadded. Its profiles lie beside the folder of --tensorboard-dir, in
torch_profile.
"""
import functools
import os
import time

import causes
import megatron.core.datasets.utils
import megatron.core.pipeline_parallel.schedules as schedules
import megatron.training.training as training
import torch
from megatron.core.enums import ModelType
from megatron.training import get_args, get_timers, pretrain, set_startup_timestamps
from megatron.training.argument_utils import gpt_config_from_args, pretrain_cfg_container_from_args
from megatron.training.arguments import parse_and_validate_args


wrong = causes.Causes()
lengths = [int(word) for word in os.environ.get("PIPESIM_LENGTHS", "").split(",") if word]


class Tokens(torch.utils.data.Dataset):
    def __init__(self, samples, length):
        self.samples, self.length = samples, length

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        length = lengths[index % len(lengths)] if lengths else self.length
        tokens = torch.randint(0, 8000, (length + 1,), generator=torch.Generator().manual_seed(index))
        return {"tokens": tokens[:-1].contiguous(), "labels": tokens[1:].contiguous(),
                "loss_mask": torch.ones(length), "position_ids": torch.arange(length)}


def datasets(_samples, vp_stage=None):
    return tuple(Tokens(samples, get_args().seq_length) for samples in (100000, 1000, 1000))


def loss_of(mask, output):
    loss = torch.sum(output.float().view(-1) * mask.view(-1))
    tokens = mask.sum().to(torch.int)
    return loss, tokens, {"lm loss": torch.cat([loss.detach().view(1), tokens.view(1).to(loss.dtype)])}


def around(module, name, before, behind=lambda: None):
    """Calls @before before each call of @module's @name, and @behind behind it."""
    inner = getattr(module, name)

    def outer(*arguments, **options):
        before()
        result = inner(*arguments, **options)
        behind()
        return result

    setattr(module, name, outer)


def forward_step(batches, model, return_schedule_plan=False):
    timer = get_timers()("batch-generator", log_level=2)
    timer.start()
    wrong.before_batch()
    batch = {key: value.cuda(non_blocking=True) for key, value in next(batches).items()}
    timer.stop()
    output = model(batch["tokens"], batch["position_ids"], None, labels=batch["labels"], loss_mask=batch["loss_mask"])
    return output, functools.partial(loss_of, batch["loss_mask"])


def main():
    around(training, "train_step", wrong.begin_step, wrong.end_step)
    around(schedules, "forward_step", wrong.before_forward)
    around(schedules, "backward_step", wrong.before_backward)
    megatron.core.datasets.utils.compile_helpers = lambda: None  # of datasets on disk
    set_startup_timestamps(program_start=time.time(), main_entry=time.time())
    args = parse_and_validate_args(args_defaults={"tokenizer_type": "NullTokenizer"})
    args.variable_seq_lengths = bool(lengths)
    config = pretrain_cfg_container_from_args(args, gpt_config_from_args(args))
    pretrain(config, datasets, ModelType.encoder_or_decoder, forward_step)


if __name__ == "__main__":
    main()
