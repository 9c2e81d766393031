"""The shared library, through ctypes: every call releases the GIL."""

from __future__ import annotations

import ctypes as c
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .errors import of_status

HERE = Path(__file__).resolve().parent
PROGRESS = 1  # PIPESIM_TOLD_PROGRESS; 0 is output

Pointer = c.c_void_p


class _GError(c.Structure):
    _fields_ = (("domain", c.c_uint32), ("code", c.c_int), ("message", c.c_char_p))


class Op(c.Structure):
    """PipesimRunOp."""

    _fields_ = (
        ("kind", c.c_int32), ("stage", c.c_uint32), ("microbatch", c.c_uint32), ("b_stage", c.c_uint32),
        ("b_microbatch", c.c_uint32), ("slice", c.c_uint32), ("start", c.c_int64), ("end", c.c_int64),
    )  # fmt: skip


class Message(c.Structure):
    """PipesimRunMessage."""

    _fields_ = (
        ("from_rank", c.c_uint32), ("from_op", c.c_uint32), ("to_rank", c.c_uint32), ("to_op", c.c_uint32),
        ("backward", c.c_int), ("sent", c.c_int64), ("received", c.c_int64), ("start", c.c_int64), ("end", c.c_int64),
    )  # fmt: skip


_Fault = c.POINTER(_GError)
_Faults = c.POINTER(_Fault)
_Tell = c.CFUNCTYPE(c.c_int, c.c_int, c.c_char_p, c.c_void_p)
_Stages = c.POINTER(c.c_int64)

# Result and arguments of pipesim_NAME; those that can fail have a place for the error last.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "answer_free": (None, (Pointer,)),
    "answer_output": (Pointer, (Pointer, c.POINTER(c.c_size_t))),
    "answer_said": (c.c_char_p, (Pointer,)),
    "answer_status": (c.c_int, (Pointer,)),
    "call": (Pointer, (c.POINTER(c.c_char_p), _Tell, Pointer, _Faults)),
    "error_free": (None, (_Fault,)),
    "error_status": (c.c_int, (_Fault,)),
    "free": (None, (Pointer,)),
    "kind_name": (c.c_char_p, (c.c_uint,)),
    "run_bubble": (c.c_int64, (Pointer, c.c_uint)),
    "run_fits": (c.c_int, (Pointer,)),
    "run_free": (None, (Pointer,)),
    "run_makespan": (c.c_int64, (Pointer,)),
    "run_message": (None, (Pointer, c.c_uint, c.POINTER(Message))),
    "run_microbatches": (c.c_uint, (Pointer,)),
    "run_n_messages": (c.c_uint, (Pointer,)),
    "run_n_ops": (c.c_uint, (Pointer, c.c_uint)),
    "run_ops": (None, (Pointer, c.c_uint, c.POINTER(Op))),
    "run_order": (Pointer, (Pointer,)),
    "run_peak_activations": (c.c_double, (Pointer, c.c_uint)),
    "run_peak_bytes": (c.c_int64, (Pointer, c.c_uint)),
    "run_ranks": (c.c_uint, (Pointer,)),
    "run_runtime": (c.c_char_p, (Pointer,)),
    "run_stages": (c.c_uint, (Pointer,)),
    "run_waiting": (c.c_int64, (Pointer, c.c_uint)),
    "schedule_list": (c.POINTER(Pointer), ()),
    "schedule_name": (c.c_char_p, (Pointer,)),
    "setup_free": (None, (Pointer,)),
    "setup_new": (Pointer, ()),
    "setup_run": (Pointer, (Pointer, c.c_char_p, c.c_int, _Faults)),
    "setup_set": (c.c_int, (Pointer, c.c_char_p, c.c_char_p, _Faults)),
    "setup_set_stages": (c.c_int, (Pointer, c.c_uint, _Stages, _Stages, _Stages, _Faults)),
}


def candidates() -> list[str]:
    """Where the library may be: as the environment says, in the wheel, where it was built, where it was installed."""
    said = os.environ.get("PIPESIM_LIBRARY")
    if said:
        return [said]
    built = HERE.parents[1] / ".libs" / "libpipesim.so"
    return [str(path) for path in (HERE / "data" / "libpipesim.so", built) if path.is_file()] + ["libpipesim.so.0"]


class Library:
    """The functions of the library by their names without pipesim_."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._loaded = c.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = self._loaded[f"pipesim_{name}"]
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # those above are there already; this is for type checkers


_loaded: Library | None = None
_lock = threading.Lock()


def library() -> Library:
    """The library, loaded at the first call. ImportError where there is none."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _load() -> Library:
    faults = []
    for path in candidates():
        try:
            return Library(path)
        except (OSError, AttributeError) as error:
            faults.append(str(error))
    raise ImportError(f"pipesim's library is not there: {'; '.join(faults)}; PIPESIM_LIBRARY=FILE names another")


class Fault:
    """A place for an error."""

    __slots__ = ("place", "reference")

    def __init__(self) -> None:
        self.place = _Fault()
        self.reference = c.byref(self.place)

    def throw(self) -> None:
        """Raises what stands there."""
        error, lib = self.place, library()
        message = (error.contents.message or b"").decode(errors="replace")
        status = lib.error_status(error)
        lib.error_free(error)
        raise of_status(status)(message)


class Answer(NamedTuple):
    """What a command said."""

    status: int
    output: str
    said: str


def call(arguments: Sequence[str], tell: Callable[[int, str], bool] | None = None) -> Answer:
    """Runs a command; @tell gets pieces of output (0) and progress (1) and returns whether to go on. What it raises is raised here, once
    the work has stopped."""
    lib, fault = library(), Fault()
    raised: list[BaseException] = []

    def told(what: int, text: bytes, _: object) -> int:
        try:
            return bool(tell is not None and not raised and tell(what, text.decode(errors="surrogateescape")))
        except BaseException as error:  # of KeyboardInterrupt too the work must hear
            raised.append(error)
            return 0

    function = _Tell(told) if tell is not None else _Tell()
    words = (c.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments), None)
    found = lib.call(words, function, None, fault.reference)
    try:
        if raised:
            raise raised[0]
        if not found:
            fault.throw()
        length = c.c_size_t()
        start = lib.answer_output(found, c.byref(length))
        output = c.string_at(start, length.value).decode(errors="surrogateescape")
        return Answer(lib.answer_status(found), output, lib.answer_said(found).decode(errors="surrogateescape"))
    finally:
        if found:
            lib.answer_free(found)
