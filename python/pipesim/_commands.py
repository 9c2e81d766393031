"""The commands of the program, in this process. Keywords are its long options with underscores: options(command) lists them."""

from __future__ import annotations

import json
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ._library import PROGRESS, call
from .errors import Stopped, UsageError
from ._options import arguments, text_of
from .results import Comparison, Diagnosis, Difference, Model, Optimum, Plan, Record, Result, Validation

__all__ = ["Sweep", "calibrate", "compare", "diagnose", "diff", "explain", "export", "model", "optimize", "plan", "run", "steady", "sweep", "validate"]

Progress = Callable[[str], object]
_Found = TypeVar("_Found", bound=Result)


def _told(progress: Progress | bool | None) -> Progress | None:
    """Where lines of progress go: to a function, or with True to standard error."""
    if progress is True:
        return lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    return progress or None


def _call(words: list[str], progress: Progress | bool | None) -> tuple[int, str, str]:
    """Progress is asked for in any case: between two tellings Python hears of Ctrl-C."""
    tells, pieces = _told(progress), []

    def tell(what: int, text: str) -> bool:
        if what != PROGRESS:
            pieces.append(text)
        elif tells is not None:
            tells(text)
        return True

    answer = call(words, tell)
    if progress is True:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return answer.status, "".join(pieces), answer.said


def _ask(kind: type[_Found], command: str, operands: tuple[Any, ...], options: dict[str, Any], progress: Progress | bool | None = None) -> _Found:
    if "format" in options:
        raise UsageError("format: results are objects; leave it out, or run() the command")
    with arguments(command, operands, {**options, "format": "json"}) as words:
        status, output, said = _call(words, progress)
    if not output and options.get("output") is not None:
        output = Path(text_of(options["output"])).read_text(encoding="utf-8", errors="surrogateescape")
    return kind(output, status, said, words, options)


def run(command: str, *operands: Any, progress: Progress | bool | None = None, **options: Any) -> str:
    """What the program prints for any command, as a text: run("explain", "zb-v"), run("compare", pp=8, microbatches=20)."""
    with arguments(command, operands, options) as words:
        return _call(words, progress)[1]


def compare(**options: Any) -> Comparison:
    """Compares schedules, all of them or those of `schedule`, a list of names and files.

    >>> compare(pp=8, microbatches=20, times=dict(F=1, I=1, W=1), schedule=["1f1b", "zb-v"]).best.name
    'zb-v'
    """
    return _ask(Comparison, "compare", (), options)


def plan(*, progress: Progress | bool | None = None, **options: Any) -> Plan:
    """The best ways to train a model on so many GPUs: plan(model="llama-3-8b", gpus=8, memory="80GiB", global_batch=64)."""
    return _ask(Plan, "plan", (), options, progress)


def optimize(*orders: Any, progress: Progress | bool | None = None, **options: Any) -> Optimum:
    """Searches the shortest order, from schedule files @orders too; `output` is where that is written."""
    written = options.pop("output", None)
    with arguments("optimize", orders, {**options, "format": "json", "output": written}) as words:
        status, output, said = _call(words, progress)
    return Optimum(output, status, said, words, options)


def diff(one: Any, other: Any, **options: Any) -> Difference:
    """Where two schedules or schedule files first differ, and what that costs."""
    return _ask(Difference, "diff", (one, other), options)


def steady(*names: Any, **options: Any) -> Result:
    """The exact time of a micro-batch in the steady phase."""
    return _ask(Result, "steady", names, options)


def phases(**options: Any) -> Result:
    """A forward beside a backward of layers with experts: phases(trace="traces/h200.csv.gz")."""
    return _ask(Result, "phases", (), options)


def prefill(**options: Any) -> Result:
    """When prompts, cut into chunks, give first tokens: prefill(pp=4, prompt_tokens=131072, prefill_times="a=3e-7,b=6e-3,c=26")."""
    return _ask(Result, "prefill", (), options)


def model(name: Any, **options: Any) -> Model:
    """Parameters, activations and FLOPs of a model that pipesim has, or of a file."""
    return _ask(Model, "model", (), {"model": name, **options})


def diagnose(*traces: Any, progress: Progress | bool | None = None, **options: Any) -> Diagnosis:
    """Where the time of a recorded step went; the traces of all ranks."""
    return _ask(Diagnosis, "diagnose", traces, options, progress)


def calibrate(*traces: Any, **options: Any) -> Result:
    """Costs from measured traces; `output` writes them as a file for `costs`."""
    written = options.pop("output", None)
    with arguments("calibrate", traces, {**options, "format": "json", "output": written}) as words:
        status, output, said = _call(words, None)
    return Result(output, status, said, words, options)


def validate(*files: Any, **options: Any) -> Validation:
    """Whether schedule files are complete and free of deadlock: validate("mine.csv", runtime="pytorch-2.15").raise_for_faults()."""
    with arguments("validate", files, options) as words:
        return Validation(*_call(words, None))


def export(schedule: Any, **options: Any) -> str:
    """A schedule as a file for PyTorch's runtime, as a text."""
    return run("export", schedule, **options)


def explain(name: str, **options: Any) -> str:
    """What a schedule does, gains and costs."""
    return run("explain", name, **options)


_END = object()


class Sweep(Iterator[Record]):
    """Rows of a sweep, as they are computed on all cores; `done` is how many came. Closing it, or leaving its `with` block, stops the work."""

    def __init__(self, options: Mapping[str, Any], progress: Progress | None) -> None:
        self.done = 0
        self.notices: list[str] = []
        # Computing waits where rows are not taken.
        self._rows: queue.Queue[Any] = queue.Queue(maxsize=1024)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        work = _SweepWork(options, progress, self._rows, self._stop)
        self._work = threading.Thread(target=work.run, name="pipesim sweep", daemon=True)
        weakref.finalize(self, self._stop.set)
        self._work.start()

    def __iter__(self) -> Sweep:
        return self

    def __next__(self) -> Record:
        if self._stop.is_set():
            raise StopIteration
        row = self._rows.get()
        if isinstance(row, dict):
            self.done += 1
            return Record(row)
        self._stop.set()
        if isinstance(row, BaseException):
            raise row
        self.notices = row
        raise StopIteration

    def close(self) -> None:
        """Stops the work."""
        self._stop.set()
        self._work.join()

    def __enter__(self) -> Sweep:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def to_dataframe(self) -> Any:
        """All further rows, with pandas."""
        import pandas

        return pandas.DataFrame([row.to_dict() for row in self])


class _SweepWork:
    """The side of a sweep that computes; it does not keep the other one alive."""

    def __init__(self, options: Mapping[str, Any], progress: Progress | None, rows: queue.Queue[Any], stop: threading.Event) -> None:
        self.options, self.progress, self.rows, self.stop, self.rest = options, progress, rows, stop, ""

    def put(self, row: Any) -> None:
        while not self.stop.is_set():
            try:
                self.rows.put(row, timeout=0.1)
                return
            except queue.Full:
                continue

    def tell(self, what: int, text: str) -> bool:
        if what == PROGRESS:
            if self.progress is not None:
                self.progress(text)
        else:
            *lines, self.rest = (self.rest + text).split("\n")
            for line in lines:
                self.put(json.loads(line))
        return not self.stop.is_set()

    def run(self) -> None:
        try:
            with arguments("sweep", (), {**self.options, "format": "jsonl"}, between="/") as words:
                answer = call(words, self.tell)
            self.put(Stopped(answer.said.strip()) if answer.status == Stopped.status else answer.said.splitlines())
        except BaseException as error:  # raised where rows are taken
            self.put(error)


def sweep(*, progress: Progress | bool | None = None, **options: Any) -> Sweep:
    """Simulates every combination of values, on all cores, and gives its rows one by one: lists and ranges are values to try.

    >>> [row.makespan_ms for row in sweep(pp=[2, 4], microbatches=8, schedule="1f1b")]
    [27, 33]
    """
    tried = {name: [*value] if isinstance(value, range) else value for name, value in options.items()}
    return Sweep(tried, _told(progress))
