"""Blocks of calls that PyTorch 2 starts as one."""

from typing import List

from torch.distributed import distributed_c10d as c10d

from .. import call_site, process, wire
from ..connection import Operation

# The calls of the open blocks, by group.
_open = getattr(getattr(c10d, "_world", None), "pg_coalesce_state", {})


def check(group, operations: List[Operation]) -> None:
    """Reports a call on a group in a block that coalesces the calls of another one."""
    if not _open or group in _open or not operations:
        return
    rank, place, other = process.identity().rank, operations[0].place, next(iter(_open))
    process.connection().say(wire.finding(
        "mismatch_gang", f"Rank {rank} called group {group.group_name} at "
        f"{call_site.text_of(place)} in a block that coalesces calls of group "
        f"{other.group_name}: that call is not part of the block.", [rank], place))
