#!/usr/bin/env python3
"""Steps of torchtitan on tokens drawn at random: what each takes, what a rank holds at most, and what its kernels take.

    torchrun --nproc-per-node N titan.py NAME MODEL FLAVOR LAYERS [--set KEY=VALUE ...] -o FOLDER ARGUMENTS

runs @FLAVOR of torchtitan's @MODEL with @LAYERS layers as ARGUMENTS of torchtitan (0.2.2) say, five steps to warm up and
eight that are timed, and writes FOLDER/NAME.json. titan_table.py says what becomes of these.
"""

import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

import torch
import torchtitan.protocols.train_spec as specs
import torchtitan.train as train
from torchtitan.components.dataloader import BaseDataLoader
from torchtitan.config import ConfigManager

WARM, TIMED = 5, 8


class Drawn(BaseDataLoader):
    """Sequences of tokens drawn at random, as many as a rank takes at a time."""

    def __init__(self, vocabulary, batch, length, seed):
        self.vocabulary, self.size = vocabulary, (batch, length + 1)
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            tokens = torch.randint(0, self.vocabulary, self.size, generator=self.generator)
            yield {"input": tokens[:, :-1].contiguous()}, tokens[:, 1:].contiguous()

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        pass


class NoTokenizer:
    eos_id = -1


def describe(asked):
    """torchtitan's own specification of the model, with other sizes and these tokens."""
    spec = specs.get_train_spec(asked.model)
    own = dataclasses.replace(spec.model_args[asked.flavor], n_layers=asked.layers)
    for pair in asked.set:
        key, value = pair.split("=")
        own = dataclasses.replace(own, **{key: type(getattr(own, key))(value)})

    def loader(dp_rank, job_config, **_):
        training = job_config.training
        return Drawn(own.vocab_size, training.local_batch_size, training.seq_len, 17 + dp_rank)

    return dataclasses.replace(
        spec,
        model_args={"own": own},
        build_dataloader_fn=loader,
        build_tokenizer_fn=lambda job_config: NoTokenizer(),
        state_dict_adapter=None,
        build_validator_fn=None,
    )


def measure(trainer):
    """Milliseconds of the timed steps, the most that each rank held in them, and kernels of one step more."""
    data = trainer.batch_generator(trainer.dataloader)
    trainer.metrics_processor.should_log = lambda step: False
    ends = []
    for i in range(WARM + TIMED):
        trainer.step += 1
        if i == WARM:
            torch.cuda.reset_peak_memory_stats()
        trainer.train_step(data)
        torch.cuda.synchronize()
        ends.append(time.perf_counter())
    peaks = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(peaks, torch.cuda.max_memory_allocated())
    trainer.step += 1
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        trainer.train_step(data)
        torch.cuda.synchronize()
    kernels = [[e.key, round(e.self_device_time_total), e.count] for e in profile.key_averages()]
    times = [(end - start) * 1e3 for start, end in zip(ends[WARM - 1 :], ends[WARM:])]
    return {"times_ms": times, "peak_bytes": peaks, "kernels": sorted(kernels, key=lambda kernel: -kernel[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("name")
    parser.add_argument("model")
    parser.add_argument("flavor")
    parser.add_argument("layers", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a size of the model that differs")
    parser.add_argument("-o", type=Path, required=True, metavar="FOLDER", help="where NAME.json goes")
    asked, arguments = parser.parse_known_args()
    arguments = [word for word in arguments if word != "--"]
    specs.register_train_spec("measured", describe(asked))
    fixed = {"model.name": "measured", "model.flavor": "own", "training.steps": WARM + TIMED + 1, "training.gc_freq": 1000}
    words = [word for key, value in fixed.items() for word in (f"--{key}", str(value))]
    trainer = train.Trainer(ConfigManager().parse_args([*arguments, *words]))
    measured = measure(trainer)
    if int(os.environ["RANK"]) == 0:
        (asked.o / f"{asked.name}.json").write_text(json.dumps({"arguments": arguments, **measured}))
    torch.distributed.barrier()
    trainer.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
