"""python -m pipesim_torch: see docs/pytorch.md of pipesim."""

import argparse
import runpy
import sys

from . import cells, memory
from .place import as_script


def run_capture(arguments):
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


def run_annotate(arguments):
    from .ranges import annotate_all

    as_script(arguments.script, arguments.arguments)
    with annotate_all(arguments.steps):
        runpy.run_path(arguments.script, run_name="__main__")


def run_memory(arguments):
    try:
        metadata = memory.metadata_of(arguments.capture)
        for path in arguments.orders:
            peaks = memory.peak_bytes(metadata, cells.read(path))
            print(path, *(f"{peak / 2**30:.2f}" for peak in peaks), "GiB")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{arguments.capture}: {error}") from None


def main():
    parser = argparse.ArgumentParser(prog="pipesim_torch", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("capture", help="measure the stages of a model")
    one.add_argument("what", metavar="MODULE:FUNCTION", help="returns a pipesim_torch.Model")
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
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
