"""One schedule, simulated: its figures by rank, and when each op and message ran."""

from __future__ import annotations

import ctypes as c
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from . import _library
from ._library import Fault, Message, Op, library
from ._options import joined, stage_rows, text_of

__all__ = ["KINDS", "Run", "Timeline", "schedules", "simulate", "timeline"]

# The words of the library's kinds, in its order.
KINDS = (
    "F", "I", "W", "B", "FB", "R", "OFFLOAD_START", "OFFLOAD_END", "RELOAD_ALLOC", "RELOAD_START", "RELOAD_DONE",
    "OFFLOAD_BARRIER", "OFFLOAD", "RELOAD", "S", "T", "EF", "EB", "LOSS", "LOSSB", "BCAST_H", "BCAST_T", "REDUCE_S",
    "REDUCE_T", "ALLREDUCE_E", "BCAST_E",
)  # fmt: skip
_COLUMNS = ("rank", "kind", "stage", "microbatch", "b_stage", "b_microbatch", "slice", "start_ns", "end_ns")
_names: dict[str, bytes] = {}  # of options, as the library takes them
# As many ops as a run keeps of its own accord.
_FEW = 1 << 16
_FIGURES, _OPS, _MESSAGES = 0, 1, 2
_MOST_NS = (1 << 63) - 1


class Timeline:
    """When each op ran, as arrays of one length, by rank and start: numpy's where it is installed, else Python's. `kind` indexes KINDS;
    of a pair FB `stage` and `microbatch` are of its forward, `b_stage` and `b_microbatch` of its backward. `slice` is 0 where sequences
    are not cut."""

    rank: Sequence[int]
    kind: Sequence[int]
    stage: Sequence[int]
    microbatch: Sequence[int]
    b_stage: Sequence[int]
    b_microbatch: Sequence[int]
    slice: Sequence[int]
    start_ns: Sequence[int]
    end_ns: Sequence[int]

    def __init__(self, run: Run) -> None:
        ranks, ops = array("q"), []
        for rank in range(run.ranks):
            n = run._lib.run_n_ops(run._run, rank)
            ops.append((Op * n)())
            run._lib.run_ops(run._run, rank, ops[-1])
            ranks.extend([rank] * n)
        self.name, self.ranks, self.makespan_ns = run.name, run.ranks, run.makespan_ns
        names = ("kind", "stage", "microbatch", "b_stage", "b_microbatch", "slice", "start", "end")
        try:
            import numpy
        except ImportError:
            columns = [array("q", (getattr(op, name) for of in ops for op in of)) for name in names]
            self._set([ranks, *columns])
            return
        parts = [numpy.frombuffer(of, numpy.dtype(Op)) for of in ops if len(of)]
        whole = numpy.concatenate(parts)
        self._set([numpy.array(ranks), *(whole[name].astype(numpy.int64) for name in names)])

    def _set(self, columns: Sequence[Any]) -> None:
        for name, column in zip(_COLUMNS, columns, strict=True):
            setattr(self, name, column)
        self._cut = any(self.slice)

    def __len__(self) -> int:
        return len(self.rank)

    def __repr__(self) -> str:
        return f"<pipesim.Timeline of {self.name}: {len(self)} ops on {self.ranks} ranks, {self.makespan_ns / 1e6:g} ms>"

    def label(self, index: int) -> str:
        """An op by PyTorch's name, as 3F2; of a slice of its sequence as 3F2.0."""
        kind, unit = KINDS[self.kind[index]], f"{self.microbatch[index]}"
        if kind == "FB":
            return f"({self.stage[index]}F{unit};{self.b_stage[index]}B{self.b_microbatch[index]})"
        if kind == "OFFLOAD_BARRIER":
            return kind
        return f"{self.stage[index]}{kind}{unit}" + (f".{self.slice[index]}" if self._cut else "")

    def to_dict(self) -> dict[str, list[int]]:
        """Lists by the names of the arrays."""
        return {name: [int(value) for value in getattr(self, name)] for name in _COLUMNS}

    def to_dataframe(self) -> Any:
        """A row an op, with pandas."""
        import pandas

        frame = pandas.DataFrame({name: getattr(self, name) for name in _COLUMNS})
        frame["kind"] = [KINDS[kind] for kind in frame["kind"]]
        return frame

    def _repr_html_(self) -> str:
        from ._html import draw

        return draw(self)


class Run:
    """One simulated schedule. Times are whole nanoseconds, lists are by rank."""

    def __init__(self, lib: _library.Library, run: int, name: str, options: Mapping[str, Any]) -> None:
        self._lib, self._run, self.name, self.options = lib, run, name, options
        self.makespan_ns: int = lib.run_makespan(run)

    def __del__(self) -> None:
        self._lib.run_free(self._run)

    def __repr__(self) -> str:
        return f"<pipesim.Run of {self.name}: {self.makespan_ms:g} ms on {self.ranks} ranks, bubble {100 * self.bubble_ratio:.1f} %>"

    @property
    def makespan_ms(self) -> float:
        """From the first start to the last end."""
        return self.makespan_ns / 1e6

    @property
    def ranks(self) -> int:
        return int(self._lib.run_ranks(self._run))

    @property
    def stages(self) -> int:
        return int(self._lib.run_stages(self._run))

    @property
    def microbatches(self) -> int:
        """Of a schedule that halves micro-batches their halves."""
        return int(self._lib.run_microbatches(self._run))

    @property
    def runtime(self) -> str:
        """By whose rules messages waited: async where they did not."""
        return str(self._lib.run_runtime(self._run).decode())

    @property
    def fits(self) -> bool:
        """Whether every rank stays within memory_limit; True without one."""
        return bool(self._lib.run_fits(self._run))

    def _by_rank(self, get: Any) -> list[Any]:
        return [get(self._run, rank) for rank in range(self.ranks)]

    @property
    def bubble_ns(self) -> list[int]:
        """Makespan minus busy time."""
        return self._by_rank(self._lib.run_bubble)

    @property
    def bubble_ratio(self) -> float:
        """The share of the makespan that the rank with the largest bubble is idle."""
        return max(self.bubble_ns) / self.makespan_ns if self.makespan_ns else 0.0

    @property
    def peak_activations(self) -> list[float]:
        """Most activations held at once, in units of one whole-stage activation."""
        return self._by_rank(self._lib.run_peak_activations)

    @property
    def peak_bytes(self) -> list[int] | None:
        """Most bytes of activations and parameters; None where no bytes are given."""
        found = self._by_rank(self._lib.run_peak_bytes)
        return None if -1 in found else found

    @property
    def waiting_ns(self) -> list[int]:
        """How long a rank stands still for messages that could have been there, but wait for each other."""
        return self._by_rank(self._lib.run_waiting)

    def _with(self, want: int) -> Run:
        """The same with ops, or messages too."""
        if want == _OPS and self._lib.run_n_ops(self._run, 0) > 0:
            return self
        return _run(self.name, self.options, want)

    @property
    def timeline(self) -> Timeline:
        """When each op ran."""
        return Timeline(self._with(_OPS))

    @property
    def messages(self) -> list[dict[str, int]]:
        """Each message between ranks, where messages wait for each other or take links: else none are known."""
        run, found = self._with(_MESSAGES), []
        message = Message()
        for index in range(run._lib.run_n_messages(run._run)):
            run._lib.run_message(run._run, index, c.byref(message))
            found.append({name: getattr(message, name) for name, _ in Message._fields_})
        return found

    @property
    def order(self) -> str:
        """The order of ops as a schedule file that pipesim and PyTorch read."""
        run = self._with(_OPS)
        text = run._lib.run_order(run._run)
        try:
            return c.string_at(text).decode()
        finally:
            run._lib.free(text)

    def to_json(self) -> str:
        """What `pipesim compare --schedule NAME ... --format json` prints, to the byte."""
        from ._commands import compare

        return compare(schedule=self.name, **self.options).to_json()

    def to_dict(self) -> dict[str, Any]:
        """The same, read."""
        from ._commands import compare

        return compare(schedule=self.name, **self.options).to_dict()

    def _repr_html_(self) -> str:
        from ._html import draw, escape

        return f"<p>{escape(repr(self)[1:-1].removeprefix('pipesim.Run of '))}</p>{draw(self.timeline)}"


def _set(lib: _library.Library, setup: int, fault: Fault, option: bytes, value: bytes) -> None:
    if not lib.setup_set(setup, option, value, fault.reference):
        fault.throw()


def _ns(milliseconds: Any) -> int:
    found = round(float(milliseconds) * 1e6)
    if abs(found) > _MOST_NS:
        raise ValueError(f"{milliseconds} ms is too long")
    return found


def _set_stages(lib: _library.Library, setup: int, fault: Fault, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = [(c.c_int64 * len(rows))(*map(_ns, column)) for column in zip(*rows)]
    if not lib.setup_set_stages(setup, len(rows), *columns, fault.reference):
        fault.throw()


def _run(name: str, options: Mapping[str, Any], want: int | None) -> Run:
    lib, fault = library(), Fault()
    setup = lib.setup_new()
    try:
        for option, value in options.items():
            if type(value) is int:
                words = b"%d" % value
            elif value is None or value is False:
                continue
            elif value is True:
                words = b""
            else:
                if option == "stage_times":
                    rows = stage_rows(value)
                    if rows is not None:
                        _set_stages(lib, setup, fault, rows)
                        continue
                if option == "trace" and not isinstance(value, str):
                    for one in value if isinstance(value, (list, tuple)) else (value,):
                        _set(lib, setup, fault, b"trace", text_of(one).encode(errors="surrogateescape"))
                    continue
                words = joined(value).encode(errors="surrogateescape")
            name_of = _names.get(option)
            if name_of is None:
                name_of = _names[option] = option.replace("_", "-").encode()
            if not lib.setup_set(setup, name_of, words, fault.reference):
                fault.throw()
        if want is None:
            count, ranks = options.get("microbatches"), options.get("pp")
            few = isinstance(count, int) and isinstance(ranks, int) and count * ranks <= _FEW
            want = _OPS if few else _FIGURES
        run = lib.setup_run(setup, name.encode(errors="surrogateescape"), want, fault.reference)
        if not run:
            fault.throw()
        return Run(lib, run, name, options)
    finally:
        lib.setup_free(setup)


def simulate(schedule: Any, **options: Any) -> Run:
    """Runs one schedule in this process: its name, or the path of a schedule file. Keywords are the options of a run, as pp=8,
    microbatches=20, times=dict(F=1, I=1, W=1), runtime="pytorch-2.15", memory_limit="80GB"; `stage_times` may be an array of ms, a row a
    stage with F, I and W. Threads may simulate at once.

    >>> simulate("zb-v", pp=8, microbatches=20, times=dict(F=1, I=1, W=1)).makespan_ms
    63.5
    """
    return _run(text_of(schedule), options, None)


def run_ops(schedule: Any, options: Mapping[str, Any]) -> Run:
    """As simulate(), with all ops kept, so that nothing is read again."""
    return _run(text_of(schedule), options, _OPS)


def timeline(schedule: Any, **options: Any) -> Timeline:
    """When each op of a schedule ran, as arrays; arguments as of simulate()."""
    return Timeline(run_ops(schedule, options))


def schedules() -> list[str]:
    """The names of all built-in schedules, in the order of the table."""
    lib = library()
    found = lib.schedule_list()
    names: list[str] = []
    while found[len(names)]:
        names.append(lib.schedule_name(found[len(names)]).decode())
    return names
