"""Trains one small transformer with schedule files in PyTorch's pipeline runtime.

    torchrun --nproc-per-node PP train.py check FILE...      losses and gradients
    torchrun --nproc-per-node PP train.py measure FILE...    durations of ops and of steps

`check` runs every file on PP processes and compares the loss of each micro-batch and the gradient
of each parameter with those of the whole model on one device. `measure` times every op with events
on the device and writes them as a trace and a table of times per stage, both for pipesim. A name in
place of a file (1F1B, GPipe ...) stands for PyTorch's own class.

A file NAME.comms.csv holds sends and receives too. GPUs and NCCL where there are any, else CPU and gloo.
"""

import argparse
import configparser
import csv
import os
import statistics
import sys
from dataclasses import asdict, dataclass

try:
    import torch
    import torch.distributed as dist
    from classes import load_any
    from models import Size, loss_function, make_batch, make_part
    from pipesim.torch import Recorder, messages, trace
    from pipesim.torch.clock import Clock, gather, largest, say, settle, start
except ImportError as error:
    print(f"SKIP: PyTorch is not installed ({error}); pip install torch")
    sys.exit(77)

CHECK = Size(layers=16, hidden=256, heads=4, tokens=128, vocabulary=512, dtype=torch.float32)
MEASURE = Size(8, 4096, 32, 4096, 32768, torch.bfloat16)
TINY = Size(8, 64, 2, 32, 128, torch.float32)  # measure on a CPU, to try the script


class Reference:
    """The whole model on this rank's device: loss of each micro-batch, gradient by name."""

    def __init__(self, size, count, device):
        model = make_part(size, 0, 1, device)
        inputs, targets = make_batch(size, count, device)
        self.losses = []
        for one, target in zip(inputs.split(1), targets.split(1)):
            loss = loss_function(model(one), target)
            loss.backward()
            self.losses.append(loss.detach())
        self.gradients = {name: p.grad / count for name, p in model.named_parameters()}


class Run:
    """One schedule over all ranks: from a file, or one of PyTorch's classes by its name."""

    def __init__(self, what, size, device, count):
        self.device, self.size = device, size
        self.ranks, self.rank = dist.get_world_size(), dist.get_rank()

        def build(stage, stages):
            if size.layers < stages:
                raise SystemExit(f"{what}: {stages} stages of a model of {size.layers} layers")
            return make_part(size, stage, stages, device)

        try:
            made = load_any(what, build, loss_function, device, count)
        except ValueError as error:
            raise SystemExit(str(error)) from None
        self.name, self.schedule, self.stages = made.name, made.schedule, made.stages
        self.count = made.microbatches
        self.inputs, self.targets = make_batch(size, self.count, device)

    def step(self):
        """Loss of each micro-batch where the last stage is, else []."""
        losses, arguments, options = [], (), {}
        for stage in self.stages:
            stage.submod.zero_grad()
            if stage.is_first:
                arguments = (self.inputs,)
            if stage.is_last:
                options = {"target": self.targets, "losses": losses}
        self.schedule.step(*arguments, return_outputs=False, **options)
        return losses

    def gradients(self):
        for stage in self.stages:
            for name, parameter in stage.submod.named_parameters():
                yield name, parameter.grad


def check(files, size, device, tolerance, count):
    references, failed = {}, 0
    say(f"{'schedule':34}micro-batches  losses        gradients")
    for what in files:
        run = Run(what, size, device, count)
        if run.count not in references:
            references[run.count] = Reference(size, run.count, device)
        reference = references[run.count]
        run.step()  # the second step must find nothing of the first
        losses = run.step()
        loss_error = gradient_error = 0.0
        for got, wanted in zip(losses, reference.losses):
            loss_error = max(loss_error, ((got - wanted).abs() / wanted.abs()).item())
        for name, gradient in run.gradients():
            wanted = reference.gradients[name]
            error = (gradient - wanted).abs().max() / wanted.abs().max()
            gradient_error = max(gradient_error, error.item())
        losses_seen = largest(len(losses), device)
        loss_error, gradient_error = (largest(e, device) for e in (loss_error, gradient_error))
        good = max(loss_error, gradient_error) <= tolerance and losses_seen == run.count
        failed += not good
        say(
            f"{run.name:34}{run.count:13}  {difference(loss_error):12}  "
            f"{difference(gradient_error):12}{'' if good else '  FAIL'}"
        )
        del run
    return failed


def difference(error):
    return "bit-equal" if error == 0 else f"{error:.1e}"


def message_bytes(size):
    return size.tokens * size.hidden * size.dtype.itemsize


def write_trace(path, run, took, ops):
    """Every op of every step, for `pipesim calibrate`: chunks are those of a rank, a repetition
    is one micro-batch of one step."""
    size = run.size
    metadata = {
        "device_name": torch.cuda.get_device_name() if run.device.type == "cuda" else "CPU",
        "layers_per_chunk": size.layers // run.stages[0].num_stages,
        "tokens": size.tokens,
        "pp_message_bytes": message_bytes(size),
        "schedule": run.name,
        "torch": torch.__version__,
    }
    alike = {"status": "ok", "layer": "all"}
    rows = [
        {"run_id": "message", "rep": rep, "rank": 0, "component": "p2p", "phase": "F",
         "dur_ns": ns, "load_mode": "synced", **alike}
        for rep, ns in enumerate(took)
    ]  # fmt: skip
    for step, gathered in enumerate(ops):
        for rank, spans in enumerate(gathered):
            rows += [
                {"run_id": run.name, "rep": step * run.count + m, "rank": rank,
                 "component": "chunk", "phase": kind, "stage": stage, "step": step,
                 "microbatch": m, "t_start_ns": start, "dur_ns": ns, "load_mode": "sustained",
                 **alike}
                for stage, kind, m, start, ns in spans
            ]  # fmt: skip
    trace.write_trace(path, metadata, rows)


def write_stage_times(path, ops):
    """Median of each stage and kind, ms, for --stage-times. A backward that a stage never ran
    whole, or never in halves, is filled in from the other; halves are then guesses."""
    taken = {}
    for gathered in ops:
        for stage, kind, _, _, took in (span for spans in gathered for span in spans):
            taken.setdefault((stage, kind), []).append(took)
    median = {key: statistics.median(times) for key, times in taken.items()}
    with open(path, "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["stage", *"FIWB"])
        for stage in range(1 + max(s for s, _ in taken)):
            whole = median.get((stage, "B"))
            halves = [median.get((stage, kind)) for kind in "IW"]
            if None in halves:
                halves = [whole / 2, whole / 2]
            if whole is None:
                whole = sum(halves)
            times = (median[stage, "F"], *halves, whole)
            writer.writerow([stage, *(f"{time / 1e6:.6f}" for time in times)])


@dataclass
class Measured:
    name: str
    count: int
    steps: list  # ns of each step, of the slowest rank
    ops: list  # of each step what every rank's recorder took
    memory: list  # bytes by rank: most that a step held beyond what was there before it


def held(device):
    """(bytes now, most bytes since the last call)"""
    if device.type != "cuda":
        return 0, 0
    most = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated(), most


def measure_one(run, repetitions, clock):
    measured = Measured(run.name, run.count, [], [], [])
    most = 0
    with Recorder(run.schedule) as recorder:
        for repetition in range(-3, repetitions):
            for stage in run.stages:
                stage.submod.zero_grad()
            settle(run.device)
            before, _ = held(run.device)
            recorder.begin()
            begin = clock.now()
            run.step()
            end = clock.now()
            settle(run.device)
            took, spans = clock.between(begin, end), recorder.take()
            if repetition < 0:
                continue  # allocations, handles and clocks settle
            most = max(most, held(run.device)[1] - before)
            measured.steps.append(int(largest(took, run.device)))
            measured.ops.append(gather(spans))
    measured.memory = gather(most)
    return measured


def write_provenance(path, size, device, took, results):
    sections = {
        "model": asdict(size),
        "message_ns": {"median": int(statistics.median(took))},
    }
    for result in results:
        sections[f"run {result.name}"] = {
            "microbatches": result.count,
            "step_ns": ";".join(map(str, result.steps)),
            "peak_bytes": ";".join(map(str, result.memory)),
        }
    metadata = {**trace.versions(device), "gpus": dist.get_world_size()}
    units = {
        "step_ns": "as dur_ns, around a step, of the slowest rank; all begin behind a barrier",
        "peak_bytes": "by rank: most that a step held beyond parameters and receive buffers",
    }
    trace.write_provenance(path, metadata, sections, units)


def write_all(folder, run, took, measured):
    write_trace(os.path.join(folder, f"{run.name}.csv"), run, took, measured.ops)
    path = os.path.join(folder, f"{run.name}.stage-times.csv")
    write_stage_times(path, measured.ops)


def measure(files, size, device, repetitions, count, folder):
    clock = Clock(device)
    example = torch.zeros(1, size.tokens, size.hidden, dtype=size.dtype)
    took = messages.measure_messages(example, device, 20)
    median = statistics.median(took) / 1e6
    say(f"a message of {message_bytes(size)} bytes: {median:.3f} ms")
    say(f"{'schedule':28}step, ms: median      min      max   busiest rank   peak GiB by rank")
    results = []
    for what in files:
        run = Run(what, size, device, count)
        measured = measure_one(run, repetitions, clock)
        busy = statistics.median(
            max(sum(span[4] for span in spans) for spans in gathered)
            for gathered in measured.ops
        )
        steps = measured.steps
        say(
            f"{run.name:28}{statistics.median(steps) / 1e6:16.3f} {min(steps) / 1e6:8.3f} "
            f"{max(steps) / 1e6:8.3f} {busy / 1e6:14.3f}   "
            + " ".join(f"{most / 2**30:.2f}" for most in measured.memory)
        )
        if dist.get_rank() == 0 and folder:
            write_all(folder, run, took, measured)
        measured.ops = None
        results.append(measured)
        del run
    if dist.get_rank() == 0 and folder:
        path = os.path.join(folder, "capture.ini")
        write_provenance(path, size, device, took, results)


def introduce(device):
    kind = "CPU, gloo"
    if device.type == "cuda":
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        kind = f"{torch.cuda.get_device_name()}, NCCL {nccl}"
    say(f"PyTorch {torch.__version__}, {dist.get_world_size()} ranks, {kind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["check", "measure"])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--microbatches", type=int, default=8, help="for names of classes")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative, of check")
    parser.add_argument("-o", "--output", help="folder for what measure writes")
    arguments = parser.parse_args()
    if "RANK" not in os.environ:
        raise SystemExit("run with torchrun --nproc-per-node PP")
    device = start()
    introduce(device)
    failed = 0
    if arguments.action == "check":
        torch.use_deterministic_algorithms(True)
        for other_attention in ("flash", "mem_efficient", "cudnn"):
            getattr(torch.backends.cuda, f"enable_{other_attention}_sdp")(False)
        failed = check(
            arguments.files, CHECK, device, arguments.tolerance, arguments.microbatches
        )
    else:
        size = MEASURE if device.type == "cuda" else TINY
        measure(
            arguments.files, size, device, arguments.repetitions, arguments.microbatches,
            arguments.output,
        )
    dist.destroy_process_group()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
