"""gangsim for Python: gangs of ranks whose every collective a simulator carries out and explains.

In a script started by `gangsim python --world 4 script.py`, `root_gang()` is the gang of all ranks.
In a test, `run(function, world=4)` and `@ranks(4)` start the ranks themselves.
"""

from .agreement import all_sum, broadcast_flag
from .errors import (Error, GangError, GangFailure, InvalidArgument, InvalidOperation,
                     NotSupported, ProtocolError)
from .fake_gang import FakeGang
from .gang import NO_COLOR, Gang, root_gang, wait_all, wait_any
from .gangs import Gangs, create_fake_gangs, create_fsdp_gangs, create_parallel_gangs
from .output import output
from .point_to_point import ANY_RANK, ANY_TAG, Message
from .process import is_simulated
from .runner import ranks, run
from .work import Received, Work

__all__ = [
    "ANY_RANK", "ANY_TAG", "Error", "FakeGang", "Gang", "GangError", "GangFailure", "Gangs",
    "InvalidArgument", "InvalidOperation", "Message", "NO_COLOR", "NotSupported", "ProtocolError",
    "Received", "Work", "all_sum", "broadcast_flag", "create_fake_gangs", "create_fsdp_gangs",
    "create_parallel_gangs", "is_simulated", "output", "ranks", "root_gang", "run", "wait_all",
    "wait_any"]
