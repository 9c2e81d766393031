"""python -m pipesim.torch: see docs/pytorch.md of pipesim."""

from __future__ import annotations

import argparse
import runpy

from .. import cells, memory
from . import device, shapes
from .place import as_script


def run_capture(arguments: argparse.Namespace) -> None:
    import torch.distributed as dist

    from . import model
    from .measure import Plan, capture
    from .clock import ranks, say, start

    device = start()
    plan = Plan().brief() if arguments.brief else Plan()
    found = model.find(arguments.what, arguments.stages)
    metadata = capture(found, arguments.output, device, plan, not arguments.stages_only)
    say(
        f"{arguments.output}: {len(found.parts)} stages of {found.name} on {metadata['device_name']}"
        f"{f' x {ranks()}' if ranks() > 1 else ''}"
    )
    if dist.is_initialized():
        dist.destroy_process_group()


def run_annotate(arguments: argparse.Namespace) -> None:
    from .ranges import annotate_all

    as_script(arguments.script, arguments.arguments)
    with annotate_all(arguments.steps):
        runpy.run_path(arguments.script, run_name="__main__")


def run_memory(arguments: argparse.Namespace) -> None:
    try:
        metadata = memory.metadata_of(arguments.capture)
        for path in arguments.orders:
            peaks = memory.peak_bytes(metadata, cells.read(path))
            print(path, *(f"{peak / 2**30:.2f}" for peak in peaks), "GiB")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{arguments.capture}: {error}") from None


def whole(text: str) -> list[int]:
    """"1,2,4": numbers above 0."""
    numbers = [int(word) for word in text.split(",")]
    if min(numbers) < 1:
        raise ValueError
    return numbers


whole.__name__ = "list of whole numbers above 0"  # as argparse names it


def run_measure(arguments: argparse.Namespace) -> None:
    try:
        models = [shapes.read_model(device.model_path(name)) for name in arguments.model]
        shared = [tp for tp in arguments.tp if any(shapes.can_share(model, tp) for model in models)]
        if not shared:
            raise ValueError(f"no --tp of {arguments.tp} divides the heads and the MLP of {models[0].name}")
        from .kernels import Plan, measure

        plan = Plan(models, shared, arguments.microbatch_size, arguments.seq, arguments.ep, arguments.precision, arguments.seconds)
        print(measure(plan, arguments.like, arguments.output))
    except (OSError, ValueError) as error:
        raise SystemExit(f"pipesim.torch measure: {error}") from None


def main() -> None:
    parser = argparse.ArgumentParser(prog="pipesim.torch", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("capture", help="measure the stages of a model")
    one.add_argument("what", metavar="MODULE:FUNCTION", help="returns a pipesim.torch.Model")
    one.add_argument("-o", "--output", required=True, metavar="FILE.csv", help="or FILE.csv.gz")
    one.add_argument("--stages", type=int, metavar="N", help="call FUNCTION(N)")
    one.add_argument("--stages-only", action="store_true", help="no series of idle time and receives")
    one.add_argument("--brief", action="store_true", help="to try a model: too short for a fit")
    one.set_defaults(run=run_capture)
    one = commands.add_parser("annotate", help="run a script whose pipeline schedules name their ops")
    one.add_argument("--steps", metavar="FILE.csv", help="where to write the times of steps")
    one.add_argument("script")
    one.add_argument("arguments", nargs=argparse.REMAINDER)
    one.set_defaults(run=run_annotate)
    one = commands.add_parser("memory", help="what a step holds at most on each rank, of a capture")
    one.add_argument("capture", metavar="mine.csv")
    one.add_argument("orders", nargs="+", metavar="ORDER.csv", help="schedule files")
    one.set_defaults(run=run_memory)
    one = commands.add_parser("measure", help="describe this GPU for pipesim's --device, by kernels that a model has")
    one.add_argument("--model", required=True, action="append", metavar="FILE", help="config.json or INI; may be repeated")
    one.add_argument("--tp", type=whole, default=[1, 2, 4, 8], metavar="N,...", help="ranks that share a layer (1,2,4,8)")
    one.add_argument("--ep", type=whole, default=[1], metavar="N,...", help="ranks that share the experts (1)")
    one.add_argument("--microbatch-size", type=whole, default=[1], metavar="N,...", help="sequences (1)")
    one.add_argument("--seq", type=int, default=4096, metavar="N", help="tokens of a sequence (4096)")
    one.add_argument("--precision", choices=("bf16", "fp8"), default="bf16", help="fp8: both")
    one.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of each shape (0.5)")
    one.add_argument("--like", metavar="FILE", help="a device file for what is not measured (the one shipped for this GPU)")
    one.add_argument("-o", "--output", required=True, metavar="FILE.ini", help="and FILE.csv with every time")
    one.set_defaults(run=run_measure)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
