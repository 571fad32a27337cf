"""Errors, sorted by what the caller can do about them; the names are those of gang/error.h."""

from typing import Sequence


class Error(RuntimeError):
    """The base class of all errors that gangsim raises in a program."""


class InvalidArgument(Error, ValueError):
    """The call itself is wrong; nothing was sent; the gang stays usable."""


class InvalidOperation(Error):
    """The call is made in the wrong state: a closed gang, a process that is not a rank."""


class NotSupported(Error):
    """gangsim cannot do it; the message says what and why; the gang stays usable."""


class GangError(Error):
    """Communication failed. The gang is broken, and later calls on it fail at once.

    `kind` is timeout, peer_failed, mismatch, aborted, connection, corrupt or failed.
    """

    def __init__(self, message: str, kind: str = "failed"):
        super().__init__(message)
        self.kind = kind


class GangFailure(Error):
    """The run has ended with a verdict; the message explains it, for all ranks.

    Raised in every rank by the call that can never complete and by every later one, and by `run`.
    `report` is the report as a dictionary where `run` raises it, and empty elsewhere; `exit_status`
    is the conductor's.
    """

    def __init__(self, message: str, report: dict = None, exit_status: int = 1):
        super().__init__(message)
        self.report = report or {}
        self.exit_status = exit_status


class ProtocolError(Error):
    """The conductor sent something that the protocol does not allow."""


# By the number that the protocol gives a status.
_KINDS = {4: "timeout", 5: "peer_failed", 6: "mismatch", 7: "aborted", 8: "connection",
          9: "corrupt", 11: "failed"}
_LOCAL = {1: InvalidArgument, 2: InvalidOperation, 3: NotSupported, 10: GangFailure}


def error_of(status: int, message: str) -> Error:
    """The error for a status other than 0."""
    if status in _LOCAL:
        return _LOCAL[status](message)
    return GangError(message, _KINDS.get(status, "failed"))


def one_of(what: str, value: object, accepted: Sequence[str]) -> InvalidArgument:
    """The error for a value that is not among those accepted."""
    return InvalidArgument(f"{what} is {value!r}; must be one of: {', '.join(accepted)}")
