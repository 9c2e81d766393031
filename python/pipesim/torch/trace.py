"""The files that pipesim reads: a trace of repetitions with metadata, and its provenance beside it."""

from __future__ import annotations

import configparser
import csv
import datetime
import gzip
import os
import sys
from typing import IO, TYPE_CHECKING, Any

from ..memory import TEXT

if TYPE_CHECKING:
    import torch

COLUMNS = (
    "run_id,rep,rank,component,phase,stage,step,microbatch,series,t_start_ns,dur_ns,status,"
    "load_mode,layer,impl,resident_sms,payload_bytes,clk_sm_mhz,power_w"
).split(",")


def versions(device: torch.device) -> dict[str, Any]:
    """Device, driver and libraries, for provenance."""
    import torch

    from .nvml import open_gpu

    found: dict[str, Any] = {
        "device_name": "CPU",
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "date_utc": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "command": " ".join(os.path.basename(a) for a in sys.argv),
    }
    if device.type != "cuda":
        return found
    properties = torch.cuda.get_device_properties(device)
    found |= {
        "device_name": properties.name,
        "sm_count": properties.multi_processor_count,
        "cuda_runtime": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }
    gpu = open_gpu(device)
    if gpu is not None:
        found |= {"driver": gpu.driver(), "power_limit_w": f"{gpu.power_limit_w():g}"}
    return found


def open_text(path: str) -> IO[str]:
    """For writing; packed where @path ends in .gz."""
    open_one: Any = gzip.open if path.endswith(".gz") else open
    file: IO[str] = open_one(path, "wt", newline="", **TEXT)
    return file


def demand_writable(path: str) -> None:
    """OSError where @path or its provenance could not be written: to be known before minutes of measuring."""
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    for one in (path, provenance_path(path)):
        if os.path.isdir(one):
            raise IsADirectoryError(f"{one} is a folder; name a file")
        if not os.access(one if os.path.exists(one) else folder, os.W_OK):
            raise PermissionError(f"cannot write {one}")


def write_trace(path: str, metadata: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """@rows are dictionaries by column; what is not there is empty."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    meta = {"format": "pipesim-trace", "version": 1, **metadata}
    with open_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([f"#{key}", value] for key, value in meta.items())
        writer.writerow(COLUMNS)
        writer.writerows([row.get(column, "") for column in COLUMNS] for row in rows)


UNITS = {
    "dur_ns": "between two events on the stream of a rank's ops, around each op",
    "t_start_ns": "since the first event of the run_id, on that stream",
    "component_host": "time of the process to launch an op, with room in the device's queue",
    "component_p2p": "between two events around a batched send or receive for which both sides wait",
    "stage_bytes": "torch.cuda.memory_allocated() after an op of a micro-batch against before",
}


def write_provenance(
    path: str, metadata: dict[str, Any], sections: dict[str, dict[str, Any]] | None = None, units: dict[str, str] | None = None
) -> None:
    """The same metadata as an INI file, for people and for who ships a trace."""
    config = configparser.ConfigParser(interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]  # as configparser's own manual has it
    capture = {"format": "pipesim-trace", "version": 1, "tool": "pipesim.torch"}
    config["capture"] = {k: str(v) for k, v in (capture | metadata).items()}
    for name, values in (sections or {}).items():
        config[name] = {key: str(value) for key, value in values.items()}
    config["units"] = UNITS | (units or {})
    with open(path, "w", **TEXT) as file:
        config.write(file, space_around_delimiters=False)


def provenance_path(path: str) -> str:
    """mine.csv and mine.csv.gz -> mine.ini"""
    return path.removesuffix(".gz").removesuffix(".csv") + ".ini"
