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
import datetime
import os
import statistics
import sys
from dataclasses import asdict, dataclass

import orders

try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch.distributed.pipelining import PipelineStage, schedules
except ImportError as error:
    print(f"SKIP: PyTorch is not installed ({error}); pip install torch")
    sys.exit(77)


@dataclass
class Size:
    layers: int
    hidden: int
    heads: int
    tokens: int  # of one sequence; a micro-batch is one sequence
    vocabulary: int
    dtype: torch.dtype


CHECK = Size(layers=16, hidden=256, heads=4, tokens=128, vocabulary=512, dtype=torch.float32)
MEASURE = Size(8, 4096, 32, 4096, 32768, torch.bfloat16)
TINY = Size(8, 64, 2, 32, 128, torch.float32)  # measure on a CPU, to try the script


class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        width = size.hidden
        self.heads = size.heads
        self.before_attention = torch.nn.RMSNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.before_mlp = torch.nn.RMSNorm(width)
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.before_attention(x)).view(batch, tokens, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Part(torch.nn.Module):
    """Layers [first, last) of the model, with the embedding and the head at its ends. Each layer
    is initialised from its own seed, so that every cut makes the same model."""

    def __init__(self, size, first, last):
        super().__init__()
        self.embedding = self.norm = self.head = None
        torch.manual_seed(1000)
        if first == 0:
            self.embedding = torch.nn.Embedding(size.vocabulary, size.hidden)
        self.layers = torch.nn.ModuleDict()
        for index in range(first, last):
            torch.manual_seed(2000 + index)
            self.layers[str(index)] = Layer(size)
        torch.manual_seed(3000)
        if last == size.layers:
            self.norm = torch.nn.RMSNorm(size.hidden)
            self.head = torch.nn.Linear(size.hidden, size.vocabulary, bias=False)

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers.values():
            x = layer(x)
        return x if self.head is None else self.head(self.norm(x))


def loss_function(logits, target):
    return F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())


def make_batch(size, count, device):
    generator = torch.Generator().manual_seed(7)
    shape = (count, size.tokens)
    inputs = torch.randint(size.vocabulary, shape, generator=generator)
    targets = torch.randint(size.vocabulary, shape, generator=generator)
    return inputs.to(device), targets.to(device)


def make_part(size, stage, stages, device):
    edge = [size.layers * s // stages for s in (stage, stage + 1)]
    with device:
        return Part(size, *edge).to(dtype=size.dtype)


class Stage(PipelineStage):
    def _get_init_p2p_neighbors_ops(self):
        """PyTorch first opens a connection to each neighbour, in a V also to itself, which gloo
        refuses and does not need."""
        return [] if self.device.type == "cpu" else super()._get_init_p2p_neighbors_ops()


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
        self.name = f"class-{what.lower()}"
        if what.endswith(".csv"):
            self._from_file(what)
        else:
            self._from_class(what, count)
        self.inputs, self.targets = make_batch(size, self.count, device)

    def _make_stages(self, mine, stages):
        self.stages = [
            Stage(make_part(self.size, stage, stages, self.device), stage, stages, self.device)
            for stage in mine
        ]

    def _from_file(self, path):
        self.name = os.path.basename(path).removesuffix(".csv")
        rows = orders.read(path)
        rank_of = orders.placement(rows)
        if len(rows) != self.ranks or self.size.layers < len(rank_of):
            raise SystemExit(f"{path}: {len(rows)} ranks and {len(rank_of)} stages do not fit")
        self.count = orders.microbatches(rows)
        mine = sorted(stage for stage, rank in rank_of.items() if rank == self.rank)
        self._make_stages(mine, len(rank_of))
        self.schedule = schedules._PipelineScheduleRuntime(
            self.stages, n_microbatches=self.count, loss_fn=loss_function
        )
        with_comms = path.endswith(".comms.csv")
        self.schedule._load_csv(path, format="compute_comms" if with_comms else "compute_only")

    def _from_class(self, name, count):
        make = schedules.get_schedule_class(name)
        if not issubclass(make, schedules.PipelineScheduleSingle):
            raise SystemExit(f"{name}: give schedules of several stages a rank as a file")
        self.count = count
        self._make_stages([self.rank], self.ranks)
        self.schedule = make(self.stages[0], n_microbatches=count, loss_fn=loss_function)

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


def largest(value, device):
    """The largest @value of any rank."""
    tensor = torch.tensor(float(value), dtype=torch.float64, device=device)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    return tensor.item()


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


class Clock:
    """Instants on the device's stream, or on the CPU."""

    def __init__(self, device):
        self.on_gpu = device.type == "cuda"

    def now(self):
        if not self.on_gpu:
            import time

            return time.perf_counter_ns()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        """ns; only after the device has got there."""
        if not self.on_gpu:
            return end - begin
        return round(begin.elapsed_time(end) * 1e6)


class Recorder:
    """Times the ops of a rank's stages by wrapping the functions that the runtime calls. The loss
    belongs to the forward of the last stage."""

    def __init__(self, run, clock):
        self.clock, self.spans = clock, []
        self._wrap_loss(run.schedule)
        for stage in run.stages:
            for method, kind in (
                ("forward_one_chunk", lambda _: "F"),
                ("backward_one_chunk", lambda o: "B" if o.get("full_backward", True) else "I"),
                ("backward_weight_one_chunk", lambda _: "W"),
            ):
                self._wrap(stage, method, kind)

    def _wrap(self, stage, method, kind):
        inner = getattr(stage, method)

        def outer(microbatch, *arguments, **options):
            begin = self.clock.now()
            result = inner(microbatch, *arguments, **options)
            span = (stage.stage_index, kind(options), microbatch, begin, self.clock.now())
            self.spans.append(span)
            return result

        setattr(stage, method, outer)

    def _wrap_loss(self, schedule):
        inner = schedule._maybe_compute_loss

        def outer(stage, *arguments):
            result = inner(stage, *arguments)
            if stage.is_last:
                self.spans[-1] = (*self.spans[-1][:-1], self.clock.now())
            return result

        schedule._maybe_compute_loss = outer

    def take(self):
        """[(stage, kind, micro-batch, ns)] since the last call."""
        taken = [(s, k, m, self.clock.between(b, e)) for s, k, m, b, e in self.spans]
        self.spans.clear()
        return taken


def settle(device):
    if device.type == "cuda":
        torch.cuda.synchronize()
    dist.barrier()


def message_bytes(size):
    return size.tokens * size.hidden * size.dtype.itemsize


def measure_messages(size, device, clock):
    """ns for the activations of a micro-batch from rank 0 to rank 1, both waiting for it."""
    buffer = torch.zeros(1, size.tokens, size.hidden, dtype=size.dtype, device=device)
    rank, took = dist.get_rank(), []
    for repetition in range(30):
        settle(device)
        begin = clock.now()
        if rank < 2:
            operation = dist.isend if rank == 0 else dist.irecv
            works = dist.batch_isend_irecv([dist.P2POp(operation, buffer, 1 - rank)])
            for work in works:
                work.wait()
        end = clock.now()
        settle(device)
        if repetition >= 10:
            took.append(int(largest(clock.between(begin, end) if rank < 2 else 0, device)))
    return took


TRACE_HEADER = "run_id,rep,rank,component,phase,dur_ns,status,load_mode,layer,chunk,stage,microbatch"


def write_trace(path, run, messages, ops):
    """Every op of every step, for `pipesim calibrate`: chunks are those of a rank, a repetition
    is one micro-batch of one step."""
    size = run.size
    meta = {
        "format": "pipesim-trace",
        "version": 1,
        "device_name": torch.cuda.get_device_name() if run.device.type == "cuda" else "CPU",
        "layers_per_chunk": size.layers // run.stages[0].num_stages,
        "tokens": size.tokens,
        "pp_message_bytes": message_bytes(size),
        "schedule": run.name,
        "torch": torch.__version__,
    }
    rows = [
        ["message", repetition, 0, "p2p", "F", took, "ok", "synced", "all", "", "", ""]
        for repetition, took in enumerate(messages)
    ]
    for step, gathered in enumerate(ops):
        for rank, spans in enumerate(gathered):
            held = sorted({stage for stage, *_ in spans})
            rows += [
                [run.name, step * run.count + m, rank, "chunk", kind, took, "ok", "sustained"]
                + ["all", held.index(stage), stage, m]
                for stage, kind, m, took in spans
            ]
    with open(path, "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([f"#{key}", value] for key, value in meta.items())
        writer.writerow(TRACE_HEADER.split(","))
        writer.writerows(rows)


def write_stage_times(path, ops):
    """Median of each stage and kind, ms, for --stage-times. A backward that a stage never ran
    whole, or never in halves, is filled in from the other; halves are then guesses."""
    taken = {}
    for gathered in ops:
        for stage, kind, _, took in (span for spans in gathered for span in spans):
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


def gather(value):
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, value)
    return gathered


def measure_one(run, repetitions, clock):
    recorder = Recorder(run, clock)
    measured = Measured(run.name, run.count, [], [], [])
    most = 0
    for repetition in range(-3, repetitions):
        for stage in run.stages:
            stage.submod.zero_grad()
        settle(run.device)
        before, _ = held(run.device)
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


def versions(device):
    if device.type != "cuda":
        return {"device_name": "CPU", "torch": torch.__version__}
    properties = torch.cuda.get_device_properties(device)
    return {
        "device_name": properties.name,
        "gpus": dist.get_world_size(),
        "sm_count": properties.multi_processor_count,
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }


def write_provenance(path, size, device, messages, results):
    config = configparser.ConfigParser()
    config["capture"] = {
        "format": "pipesim-trace",
        "version": 1,
        "tool": "tests/pytorch/train.py",
        "date_utc": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "command": " ".join(["train.py", *(os.path.basename(a) for a in sys.argv[1:])]),
        **versions(device),
    }
    config["model"] = {key: str(value) for key, value in asdict(size).items()}
    config["message_ns"] = {"median": int(statistics.median(messages))}
    for result in results:
        config[f"run {result.name}"] = {
            "microbatches": result.count,
            "step_ns": ";".join(map(str, result.steps)),
            "peak_bytes": ";".join(map(str, result.memory)),
        }
    config["units"] = {
        "dur_ns": "between two events on the stream of a rank's ops, around each op",
        "step_ns": "the same around a step, of the slowest rank; all begin behind a barrier",
        "peak_bytes": "by rank: most that a step held beyond parameters and receive buffers",
    }
    with open(path, "w", encoding="ascii") as file:
        config.write(file, space_around_delimiters=False)


def write_all(folder, run, messages, measured):
    os.makedirs(folder, exist_ok=True)
    write_trace(os.path.join(folder, f"{run.name}.csv"), run, messages, measured.ops)
    path = os.path.join(folder, f"{run.name}.stage-times.csv")
    write_stage_times(path, measured.ops)


def measure(files, size, device, repetitions, count, folder):
    clock = Clock(device)
    messages = measure_messages(size, device, clock)
    median = statistics.median(messages) / 1e6
    say(f"a message of {message_bytes(size)} bytes: {median:.3f} ms")
    say(f"{'schedule':28}step, ms: median      min      max   busiest rank   peak GiB by rank")
    results = []
    for what in files:
        run = Run(what, size, device, count)
        measured = measure_one(run, repetitions, clock)
        busy = statistics.median(
            max(sum(span[3] for span in spans) for spans in gathered)
            for gathered in measured.ops
        )
        steps = measured.steps
        say(
            f"{run.name:28}{statistics.median(steps) / 1e6:16.3f} {min(steps) / 1e6:8.3f} "
            f"{max(steps) / 1e6:8.3f} {busy / 1e6:14.3f}   "
            + " ".join(f"{most / 2**30:.2f}" for most in measured.memory)
        )
        if dist.get_rank() == 0 and folder:
            write_all(folder, run, messages, measured)
        measured.ops = None
        results.append(measured)
        del run
    if dist.get_rank() == 0 and folder:
        path = os.path.join(folder, "capture.ini")
        write_provenance(path, size, device, messages, results)


def say(text):
    if dist.get_rank() == 0:
        print(text, flush=True)


def start():
    """The process group and this rank's device."""
    if "RANK" not in os.environ:
        raise SystemExit("run with torchrun --nproc-per-node PP")
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.device_count() > local:
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
        kind = f"{torch.cuda.get_device_name()}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}"
    else:
        device, kind = torch.device("cpu"), "CPU, gloo"
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
    say(f"PyTorch {torch.__version__}, {dist.get_world_size()} ranks, {kind}")
    return device


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["check", "measure"])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--microbatches", type=int, default=8, help="for names of classes")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative, of check")
    parser.add_argument("-o", "--output", help="folder for what measure writes")
    arguments = parser.parse_args()
    device = start()
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
