"""Device files of pipesim (docs/formats.md): the one that is shipped for a GPU, and what was measured beside it.
Without PyTorch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve()
Groups = dict[str, dict[str, str]]


@dataclass
class Measured:
    """What replaces shipped figures, by key: a share, or seconds of TIMES; and products: (type, m, n, k) -> share."""

    terms: dict[str, float] = field(default_factory=dict)
    products: dict[tuple[str, int, int, int], float] = field(default_factory=dict)


TIMES = ("gap", "kernel", "kernel_backward")  # seconds; the others are shares


def folders() -> list[Path]:
    """Where devices are: beside the sources, beside the program, where pipesim is usually installed."""
    program = shutil.which("pipesim")
    found = [os.environ.get("PIPESIM_DATADIR"), HERE.parents[3], HERE.parents[1] / "data"]
    if program:
        found += [Path(program).resolve().parent, Path(program).resolve().parents[1] / "share" / "pipesim"]
    found += ["/usr/local/share/pipesim", "/usr/share/pipesim"]
    return [Path(folder) / "devices" for folder in found if folder]


def model_path(name: str) -> str:
    """A path as it is; of a name like llama-3-8b the file that pipesim comes with."""
    if "/" in name or name.endswith((".ini", ".json")):
        return name
    paths = [folder.parent / "models" / f"{name}.ini" for folder in folders()]
    return next((str(path) for path in paths if path.is_file()), name)


def find(gpu: str) -> Path:
    """The path of the shipped file of the GPU that torch.cuda.get_device_name() calls @gpu. ValueError where none is."""
    plain = gpu.lower().replace("-", " ").replace("_", " ")
    names = []
    for folder in folders():
        if not folder.is_dir():
            continue
        names = sorted(path.stem for path in folder.glob("*.ini"))
        # The longest: GB200 ends in B200.
        fits = [name for name in names if name in plain]
        if fits:
            return folder / f"{max(fits, key=len)}.ini"
    raise ValueError(f"no device file for {gpu}; there are: {', '.join(names) or 'none'}; name one with --like FILE")


def read(path: str | Path) -> Groups:
    """{group: {key: value}} of a device file, as text."""
    groups: Groups = {}
    group: dict[str, str] | None = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith(("#", ";")):
                continue
            if line.startswith("[") and line.endswith("]"):
                group = groups.setdefault(line[1:-1], {})
            elif group is None or "=" not in line:
                raise ValueError(f"{path}:{number}: '{line[:60]}' is neither [group] nor key = value")
            else:
                key, value = line.split("=", 1)
                group[key.strip()] = value.strip()
    if "bf16" not in groups.get("pipesim-device", {}):
        raise ValueError(f"{path}: no bf16 in [pipesim-device]; is this a device's description?")
    return groups


def peak(groups: Groups, kind: str) -> float | None:
    """FLOP/s of products of @kind; None where the device has none."""
    text = groups["pipesim-device"].get(kind)
    return float(text) * 1e12 if text else None


def bandwidth(groups: Groups) -> float:
    """Bytes per second of its memory."""
    text = groups["pipesim-device"]["memory_bandwidth"]
    for unit, size in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * size
    raise ValueError(f"memory_bandwidth = {text}; GB/s are expected")


def _share(value: float) -> str:
    return f"{min(max(value, 0.0001), 1):.4f}"


def render(shipped: str, measured: Measured, head: Iterable[str]) -> str:
    """The text of a device file: @head as comments, what @shipped says, and what was measured, which comes first."""
    lines = [f"# {line}" for line in head] + ["", *shipped.rstrip("\n").split("\n"), ""]
    lines += ["# Measured: instead of what is above. Products by type, M, N, K: share of the peak.", "[measured]"]
    for key, value in measured.terms.items():
        lines.append(f"{key} = {value * 1e6:.2f}us" if key in TIMES else f"{key} = {_share(value)}")
    for (kind, m, n, k), share in sorted(measured.products.items()):
        lines.append(f"{kind} {m} {n} {k} = {_share(share)}")
    return "\n".join(lines) + "\n"


def large(products: dict[tuple[str, int, int, int], float], kind: str) -> float | None:
    """What the largest products of @kind reach: the median of the tenth with most operations. None without any."""
    of = sorted(((m * n * k, share) for (t, m, n, k), share in products.items() if t == kind), reverse=True)
    top = sorted(share for _, share in of[: max(len(of) // 10, 1)])
    return top[len(top) // 2] if top else None
