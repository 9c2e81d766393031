"""What goes wrong, with the words that the program prints: a class for each of its exit statuses."""

from __future__ import annotations

__all__ = ["Error", "ExternalError", "InputError", "Refusal", "Stopped", "UsageError", "WriteError", "of_status"]


class Error(Exception):
    """Of all that pipesim raises. `status` is the program's exit status."""

    status = 1


class Refusal(Error):
    """The answer is no: no schedule fits the memory limit, or a schedule file would hang (status 1)."""


class UsageError(Error, ValueError):
    """An option or a schedule that there is not, or a shape that the schedule refuses (status 2)."""

    status = 2


class InputError(Error, ValueError):
    """A file that cannot be read; the message begins with its path, line and column (status 3)."""

    status = 3


class ExternalError(Error):
    """Another program is missing or failed: gnuplot (status 4)."""

    status = 4


class WriteError(Error, OSError):
    """A result that could not be written (status 5)."""

    status = 5


class Stopped(Error):
    """Work that was asked to stop; what was done is kept (status 130)."""

    status = 130


_OF_STATUS = {kind.status: kind for kind in (Refusal, UsageError, InputError, ExternalError, WriteError, Stopped)}


def of_status(status: int) -> type[Error]:
    """The class of an exit status."""
    return _OF_STATUS.get(status, Error)
