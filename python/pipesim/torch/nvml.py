"""SM clock and power of a GPU beside what is measured, from the driver's library: no package needed."""

from __future__ import annotations

import ctypes
import threading
import time
from bisect import bisect_left
from typing import Any

import torch

_CLOCK_SM = 1
_POWER_INSTANT = 186


class _Field(ctypes.Structure):
    _fields_ = [
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("type", ctypes.c_uint),
        ("status", ctypes.c_uint),
        ("value", ctypes.c_ulonglong),
    ]


class Gpu:
    """A GPU as the driver's library sees it. OSError where there is none."""

    def __init__(self, device: torch.device) -> None:
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._ask("nvmlInit_v2")
        self._handle = ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}".encode()
        self._ask("nvmlDeviceGetHandleByUUID", uuid, ctypes.byref(self._handle))
        self._instant = self.instant_power_w() is not None

    def _ask(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise OSError(f"{name}: status {status}")

    def _number(self, name: str, *arguments: Any) -> int:
        value = ctypes.c_uint()
        self._ask(name, self._handle, *arguments, ctypes.byref(value))
        return int(value.value)

    def clock_mhz(self) -> int:
        return self._number("nvmlDeviceGetClockInfo", _CLOCK_SM)

    def instant_power_w(self) -> float | None:
        """None where the driver knows averages alone."""
        field = _Field(field=_POWER_INSTANT)
        self._ask("nvmlDeviceGetFieldValues", self._handle, 1, ctypes.byref(field))
        return None if field.status != 0 else (field.value & 0xFFFFFFFF) / 1000

    def power_w(self) -> float:
        if self._instant:
            return self.instant_power_w() or 0.0
        return self._number("nvmlDeviceGetPowerUsage") / 1000

    def power_limit_w(self) -> float:
        return self._number("nvmlDeviceGetEnforcedPowerLimit") / 1000

    def driver(self) -> str:
        text = ctypes.create_string_buffer(96)
        self._ask("nvmlSystemGetDriverVersion", text, len(text))
        return text.value.decode()


def open_gpu(device: torch.device) -> Gpu | None:
    """A Gpu, or None where there is none to ask."""
    if device.type != "cuda":
        return None
    try:
        return Gpu(device)
    except (OSError, AttributeError):
        return None


class Sampler:
    """Reads clock and power every @every seconds while a `with` block runs."""

    def __init__(self, gpu: Gpu | None, every: float = 0.02) -> None:
        self._gpu, self._every = gpu, every
        self._stop = threading.Event()
        self._times: list[int] = []
        self._values: list[tuple[int, float]] = []

    def __enter__(self) -> Sampler:
        if self._gpu is not None:
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._gpu is not None:
            self._stop.set()
            self._thread.join()

    def _read(self) -> None:
        assert self._gpu is not None
        try:
            while not self._stop.wait(self._every):
                value = self._gpu.clock_mhz(), self._gpu.power_w()
                self._values.append(value)
                self._times.append(time.perf_counter_ns())
        except OSError:
            pass  # what was read until then stays

    def at(self, instant: float) -> tuple[int, float] | None:
        """(MHz, W) next after @instant of time.perf_counter_ns(); None where nothing was read."""
        if not self._times:
            return None
        return self._values[min(bisect_left(self._times, instant), len(self._times) - 1)]
