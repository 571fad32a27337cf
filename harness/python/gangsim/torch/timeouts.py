"""How long calls on groups may wait."""

from datetime import timedelta
from typing import List, Union

from torch.distributed import distributed_c10d as c10d

from ..wire import NEVER_NS

_DEFAULT = timedelta(minutes=30)  # where PyTorch is not told one


def to_ns(timeout: Union[timedelta, float, None]) -> int:
    """In nanoseconds, of a number in seconds; what 64 bits do not hold, such as timedelta.max,
    never comes.

    Where PyTorch's own clocks overflow, a group's timeout is negative: then it is not known (0).
    """
    timeout = _DEFAULT if timeout is None else timeout
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    return max(0, min(int(seconds * 1e9), NEVER_NS))


def defaults_ns() -> List[int]:
    """What PyTorch says for a program that chose none; gangsim's --timeout may say otherwise."""
    names = ("default_pg_timeout", "default_pg_nccl_timeout")
    chosen = (getattr(c10d, name, None) for name in names)
    return [to_ns(timeout) for timeout in chosen if timeout is not None]
