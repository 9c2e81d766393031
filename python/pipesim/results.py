"""What commands return: the JSON of the program, with its keys as attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from . import _html as html
from .errors import of_status

__all__ = ["Bubble", "Comparison", "Diagnosis", "Difference", "Model", "Optimum", "Plan", "Record", "Result", "Row", "Validation"]


class Record(Mapping[str, Any]):
    """An object of the JSON: record.makespan_ms and record["makespan_ms"]."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._data[key])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            raise AttributeError(f"{type(self).__name__} has no {name}; it has {', '.join(self._data) if not name.startswith('_') else 'none'}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def to_dict(self) -> dict[str, Any]:
        """As Python's own dictionaries and lists."""
        return dict(self._data)


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    return [_wrapped(item) for item in value] if isinstance(value, list) else value


class Bubble(Record):
    """Time that ranks are idle."""

    per_rank_ms: list[float]
    max_ms: float
    ratio: float  # max_ms over the makespan
    formula_ms: float | None
    formula: str | None

    @property
    def fraction(self) -> float:
        """The share of the makespan that the rank with the largest bubble is idle."""
        return float(self["ratio"])


class Row(Record):
    """One schedule of a comparison; where it refused the shape there is an `error` alone."""

    name: str
    makespan_ms: float
    microbatches: int
    stages: int
    best: bool
    throughput_vs_1f1b: float | None
    lower_bound_ms: float

    @property
    def bubble(self) -> Bubble:
        return Bubble(self._data["bubble"])

    @property
    def refused(self) -> str | None:
        """Why it has no result."""
        error = self._data.get("error")
        return None if error is None else str(error)


class Result(Record):
    """What a command said. `status` is the program's exit status: 1 where the answer is no."""

    def __init__(self, text: str, status: int, said: str, arguments: list[str], options: Mapping[str, Any]) -> None:
        super().__init__(json.loads(text))
        self._text, self._said, self._arguments, self._options = text, said, arguments, options
        self._status = status

    @property
    def status(self) -> int:
        return self._status

    @property
    def ok(self) -> bool:
        return self._status == 0

    @property
    def said(self) -> list[str]:
        """What the program says on standard error, in lines."""
        return self._said.splitlines()

    def to_json(self) -> str:
        """What the program prints with --format json, to the byte."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """The same, read: of the caller's own."""
        found: dict[str, Any] = json.loads(self._text)
        return found

    def _rows(self) -> list[dict[str, Any]]:
        """What a data frame and a table have a row of."""
        lists = [value for value in self._data.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        return lists[0] if lists else [dict(self._data)]

    def to_dataframe(self) -> Any:
        """A row a schedule, way or cause, with pandas; keys within keys are joined by points."""
        import pandas

        return pandas.json_normalize(self._rows())

    def raise_for_status(self) -> None:
        """Refusal where the answer is no."""
        if not self.ok:
            raise of_status(self.status)(self._said.strip() or f"{type(self).__name__} is a no")

    def _titles(self) -> list[str]:
        return [key for key, value in self._rows()[0].items() if not isinstance(value, (list, dict))][:14]

    def _marked(self) -> int:
        return -1

    def _repr_html_(self) -> str:
        titles = self._titles()
        return html.table(titles, ([row.get(title) for title in titles] for row in self._rows()), self._marked())

    def __repr__(self) -> str:
        return f"<pipesim.{type(self).__name__} of {', '.join(list(self._data)[1:6])}>"


class Comparison(Result):
    """Schedules beside each other: comparison["zb-v"], comparison.best, for row in comparison.schedules."""

    pp: int
    microbatches: int
    source: str
    notices: list[str]

    @property
    def schedules(self) -> list[Row]:
        return [Row(row) for row in self._data["schedules"]]

    @property
    def best(self) -> Row | None:
        """The schedule with most throughput that fits; None where none does."""
        return next((row for row in self.schedules if row.get("best")), None)

    def __getitem__(self, key: str) -> Any:
        """A schedule by its name, or what stands at a key of the JSON."""
        if key in self._data and key != "schedules":
            return super().__getitem__(key)
        if key == "schedules":
            return self.schedules
        for row in self.schedules:
            if row._data["name"] == key:
                return row
        raise KeyError(key)

    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in self._data["schedules"] if row.get("makespan_ms") is not None]

    def _marked(self) -> int:
        return next((number for number, row in enumerate(self._rows()) if row.get("best")), -1)

    def text(self) -> str:
        """What the program prints without --format: a verdict and a table."""
        from ._commands import run

        return run("compare", **self._options)

    def __str__(self) -> str:
        return self.text()

    @property
    def verdict(self) -> str:
        """The sentences that decide."""
        said = []
        for part in self.text().split("\n\n"):
            if "\u2500" in part:  # the table
                break
            said.append(part)
        return " ".join(" ".join(said[1:]).split())

    def _repr_html_(self) -> str:
        rows = []
        for row in self._rows():
            memory = row.get("memory_bytes")
            rows.append(
                [row["name"], row["makespan_ms"], f"{100 * row['bubble']['ratio']:.1f} %", row["activations"]["peak"],
                 None if memory is None else f"{max(memory['peak_per_rank']) / 1e9:.2f} GB", row.get("throughput_vs_1f1b")]
            )  # fmt: skip
        shown = f"<p>{html.escape(self.verdict)}</p>" + html.table(["schedule", "makespan, ms", "bubble", "activations", "memory", "x 1F1B"], rows, self._marked())
        timeline = self._timeline()
        return shown if timeline is None else f"{shown}<p>{html.escape(timeline.name)}</p>{html.draw(timeline)}"

    def _timeline(self) -> Any:
        """Of the best, or the first; None where the library runs no single schedule so, as with samples."""
        from .errors import Error
        from ._runs import timeline

        row = self.best or (Row(self._rows()[0]) if self._rows() else None)
        given = {key: value for key, value in self._options.items() if key not in ("schedule", "sort", "report", "chrome_trace", "timeline")}
        try:
            return None if row is None else timeline(row["name"], **given)
        except (Error, ValueError):
            return None

    def __repr__(self) -> str:
        best = self.best
        return f"<pipesim.Comparison of {len(self.schedules)} schedules, {f'best {best.name}: {best.makespan_ms:g} ms' if best else 'none fits'}>"


class Plan(Result):
    """Ways to train a model: plan.best is the list of them, best first."""

    decision: str | None
    candidates: int

    @property
    def best(self) -> list[Record]:
        return [Record(row) for row in self._data["best"]]

    def _rows(self) -> list[dict[str, Any]]:
        return list(self._data["best"])

    def _titles(self) -> list[str]:
        wanted = ("for", "schedule", "tp", "pp", "cp", "ep", "dp", "microbatch_size", "recompute", "step_ms", "mfu", "peak_bytes")
        return [title for title in wanted if any(title in row for row in self._rows())]


class Optimum(Result):
    """The shortest order found, and a bound on all others."""

    makespan_ms: float
    lower_bound_ms: float
    gap: float
    schedule_file: str

    @property
    def proven(self) -> bool:
        """Whether nothing shorter is possible: the bound is met."""
        return self.gap == 0


class Difference(Result):
    """Where two schedules first differ, and what that costs."""

    same: bool


class Model(Result):
    """Parameters, activations and FLOPs of a model."""

    parameters: int
    active_parameters: int


class Diagnosis(Result):
    """Where the time of a recorded step went."""

    measured_ms: float
    simulated_ms: float

    def _rows(self) -> list[dict[str, Any]]:
        return list(self._data.get("causes") or self._data.get("losses") or [dict(self._data)])


class Validation:
    """What schedule files are: `ok`, `faults` with their places, and a line a file in `lines`."""

    def __init__(self, status: int, output: str, said: str) -> None:
        self.status, self.lines, self.faults = status, output.splitlines(), said.splitlines()

    @property
    def ok(self) -> bool:
        return self.status == 0

    def __bool__(self) -> bool:
        return self.ok

    def raise_for_faults(self) -> None:
        """Refusal with the faults, where there are any."""
        if not self.ok:
            raise of_status(self.status)("\n".join(self.faults))

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, "faults": self.faults, "lines": self.lines}

    def __repr__(self) -> str:
        return f"<pipesim.Validation: {'ok' if self.ok else f'{len(self.faults)} faults'}>"

    def __str__(self) -> str:
        return "\n".join([*self.faults, *self.lines])
