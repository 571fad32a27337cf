"""How long calls on groups may wait."""

from datetime import timedelta
from typing import Union

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
