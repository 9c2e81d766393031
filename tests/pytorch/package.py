"""Checks pipesim.torch on two processes of a CPU: torchrun --nproc-per-node 2 package.py FOLDER [CHECK...]"""

import csv
import os
import sys
from dataclasses import replace

import pipesim.torch
import torch
import torch.distributed as dist
from pipesim.torch import clock, model, part, private, trace
from torch.profiler import ProfilerActivity, profile


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


def loss_function(output, target):
    return (output - target).square().mean()


def stages(count=3):
    """A model for MODULE:FUNCTION too."""
    torch.manual_seed(1)
    parts = [Block(16) for _ in range(count)]
    return pipesim.torch.Model(
        parts, (torch.randn(4, 16),), loss_function, torch.randn(4, 16),
        optimizer=torch.optim.Adam, name="blocks",
    )  # fmt: skip


def check_ops(folder):
    """I and W together make the gradients of B, which are autograd's; the first stage has no I."""
    made = stages(2)
    for stage in range(2):
        module = made.parts[stage]
        one = part.Part(module, stage, 2, made.inputs, made.loss, made.target)
        found = {}
        for kinds in ("FB", "FIW"):
            module.zero_grad()
            for kind in kinds:
                if kind == "W" and stage == 0:
                    assert all(p.grad is None for p in module.parameters()), "stage 0 has an I"
                one.run(kind)
            found[kinds] = [p.grad.clone() for p in module.parameters()]
        module.zero_grad()
        output = module(*made.inputs)
        if stage == 1:
            made.loss(output, made.target).backward()
        else:
            output.backward(one.gradients[0])
        for whole, halves, p in zip(found["FB"], found["FIW"], module.parameters()):
            assert torch.equal(whole, p.grad) and torch.allclose(halves, p.grad)
        assert not one.forwarded and not one.between


def check_find(folder):
    """MODULE:FUNCTION, and what is none."""
    sys.modules["blocks"] = sys.modules["__main__"]
    assert len(model.find("blocks:stages").parts) == 3
    assert len(model.find("blocks:stages", 5).parts) == 5
    for what, words in (
        ("blocks", "give MODULE:FUNCTION"),
        ("nothing:stages", "no module nothing"),
        ("blocks:nothing", "blocks has no nothing"),
        ("blocks:Block", "must return a pipesim.torch.Model"),
    ):
        try:
            model.find(what, 4)
        except SystemExit as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{what} was not refused")


def read(path):
    """(metadata, rows) of a trace, without pipesim."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    metadata = dict(line[1:].split(",", 1) for line in lines if line.startswith("#"))
    return metadata, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def check_capture(folder):
    path = os.path.join(folder, "blocks.csv")
    plan = replace(pipesim.torch.Plan().brief(), pauses=(0.02, 0.01))
    pipesim.torch.capture(stages(3), path, torch.device("cpu"), plan)
    if dist.get_rank() > 0:
        return
    metadata, rows = read(path)
    numbers = [p.numel() for p in Block(16).parameters()]
    wanted = 4 * sum(numbers) * 4 + 4 * len(numbers)  # and a count of Adam's for each parameter
    assert metadata["stage_parameter_bytes"] == ";".join(3 * [str(wanted)]), metadata
    assert metadata["pp_message_bytes"] == str(4 * 16 * 4), metadata
    assert len(metadata["rank_relative_ppm"].split(";")) == 2
    relative = [int(ppm) for ppm in metadata["rank_relative_ppm"].split(";")]
    assert abs(sum(relative) - 2_000_000) <= 2, relative
    assert os.path.exists(trace.provenance_path(path))
    sustained = [r for r in rows if r["component"] == "chunk" and not r["series"]]
    seen = {(r["rank"], r["stage"], r["phase"]) for r in sustained}
    assert len(seen) == 2 * 3 * 4, seen
    check_history([r for r in rows if r["series"] == "governor"])
    check_residence(rows)
    check_edges(rows)


def check_history(rows):
    """Histories are in order and have the pauses that were asked for."""
    runs = {}
    for row in rows:
        runs.setdefault((row["run_id"], row["rank"]), []).append(row)
    assert {run for run, _ in runs} == {"pauses-0", "duty-2-50"}, runs.keys()
    for history in runs.values():
        assert [int(r["rep"]) for r in history] == list(range(len(history)))
        assert {r["stage"] for r in history} == {"1"}
        gaps, end = [], None
        for row in history:
            start = int(row["t_start_ns"])
            if end is not None:
                assert start >= end, "ops overlap"
                gaps.append(start - end)
            end = start + int(row["dur_ns"])
        if history[0]["run_id"] == "pauses-0":
            for pause in (10_000_000, 20_000_000):
                assert any(gap >= pause for gap in gaps), gaps


def check_residence(rows):
    """Ops beside receives and messages, and the same ones without, on each rank."""
    for series, mode, column, alone, shares in (
        ("resident", "steady", "impl", "", (4, 9)),
        ("resident", "rested", "impl", "", (1, 1)),
        ("moving", "", "payload_bytes", "0", (5, 5)),
        ("exchange", "", "payload_bytes", "0", (5, 5)),
    ):
        for rank in "01":
            taken = [r for r in rows if r["series"] == series and r["rank"] == rank and mode in ("", r["load_mode"])]
            taken = [r for r in taken if r["status"] == "ok"]
            beside = sum(r[column] != alone for r in taken)
            assert beside > 0, (series, rank)
            assert beside * shares[1] == (len(taken) - beside) * shares[0], (series, beside)
    waiting = [r for r in rows if r["series"] == "waiting"]
    assert {r["rank"] for r in waiting} == {"0", "1"}
    assert {r["component"] for r in rows} == {"chunk", "host", "p2p", "scale", "begin"}


def check_edges(rows):
    """What begins and ends a step: of every stage first and later backwards, and what scales gradients."""
    taken = [r for r in rows if r["series"] == "step" and r["status"] == "ok"]
    for stage in "012":
        for phase in "BW":
            for microbatch in "01":
                key = ("chunk", stage, phase, microbatch)
                found = [r for r in taken if of_step(r) == key]
                assert len(found) == 4, (key, len(found))
        scales = [r for r in taken if (r["component"], r["stage"]) == ("scale", stage)]
        assert len(scales) == 8, len(scales)
    begins = [r for r in taken if r["component"] == "begin"]
    assert len(begins) == 4 and {r["stage"] for r in begins} == {"1"}, begins
    forwards = [int(r["microbatch"]) for r in taken if of_step(r)[::2] == ("chunk", "F")]
    assert sorted(forwards) == sorted(4 * list(range(8))), forwards


def of_step(row):
    return row["component"], row["stage"], row["phase"], row["microbatch"]


def names_in(profiler):
    return {event.name for event in profiler.events() if event.name.startswith("PP:")}


def check_annotate(folder):
    """Ranges around every op of a schedule that has none of its own, gone afterwards; step times."""
    blocks, device, count = stages(2), torch.device("cpu"), 4
    made = pipesim.torch.load(
        "1F1B", lambda stage, _: blocks.parts[stage], blocks.loss, device, count=count
    )
    batch = torch.randn(4 * count, 16)

    def step():
        if dist.get_rank() == 0:
            made.schedule.step(batch)
        else:
            made.schedule.step(target=batch)

    path = os.path.join(folder, f"steps-{dist.get_rank()}.csv")
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        with pipesim.torch.annotate(made.schedule, steps=path):
            step()
            step()
    wanted = {f"PP:{dist.get_rank()}{kind}{m}" for kind in "FB" for m in range(count)}
    assert names_in(profiler) == wanted, names_in(profiler)
    with open(path, encoding="ascii") as file:
        taken = list(csv.DictReader(file))
    assert [row["step"] for row in taken] == ["0", "1"] and all(int(r["dur_ns"]) > 0 for r in taken)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    assert not names_in(profiler), "ranges after the block"


def check_versions(folder):
    """The PyTorch that is installed is one of those that were tried; later ones are not."""
    assert private.tested(torch.__version__), torch.__version__
    assert not private.tested("2.99.0+cu140") and not private.tested("3.0.0a0") and private.tested("2.11.1")


def check_load(folder):
    """A file's losses and gradients are those of the whole model; what does not fit is refused."""
    blocks, device = stages(4), torch.device("cpu")
    path = os.path.join(folder, "v.csv")
    if dist.get_rank() == 0:
        with open(path, "w", encoding="ascii") as file:
            file.write("0F0,3F0,3B0,0B0,0F1,3F1,3I1,0I1,3W1,0W1\n1F0,2F0,2B0,1B0,1F1,2F1,2I1,1I1,2W1,1W1\n")
    dist.barrier()
    made = pipesim.torch.load(path, lambda stage, _: blocks.parts[stage], blocks.loss, device)
    assert made.microbatches == 2 and made.rank_of == {0: 0, 3: 0, 1: 1, 2: 1}
    inputs, targets, losses = torch.randn(8, 16), torch.randn(8, 16), []
    dist.broadcast(inputs, 0)
    dist.broadcast(targets, 0)
    with pipesim.torch.Recorder(made.schedule) as recorder:
        recorder.begin()
        if dist.get_rank() == 0:
            made.schedule.step(inputs, target=targets, losses=losses)
        else:
            made.schedule.step()
    spans = recorder.take()
    cells = [f"{stage}{kind}{m}" for stage, kind, m, *_ in spans]
    with open(path, encoding="ascii") as file:
        assert cells == file.read().splitlines()[dist.get_rank()].split(","), cells
    whole = stages(4).parts
    for x, y in zip(inputs.split(4), targets.split(4)):
        for module in whole:
            x = module(x)
        (loss_function(x, y) / 2).backward()
    for stage in made.stages:
        for p, q in zip(stage.submod.parameters(), whole[stage.stage_index].parameters()):
            assert torch.allclose(p.grad, q.grad, atol=1e-6)
    for what, words in (("1F1B", "how many"), ("ZBVZeroBubble", "as a file")):
        try:
            pipesim.torch.load(what, None, blocks.loss, device)
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{what} was not refused")


CHECKS = {f.__name__[6:]: f for f in (check_ops, check_find, check_versions, check_load, check_annotate, check_capture)}


def main():
    clock.start()
    folder = sys.argv[1]
    for name in sys.argv[2:] or CHECKS:
        CHECKS[name](folder)
        clock.say(f"ok: {name}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
