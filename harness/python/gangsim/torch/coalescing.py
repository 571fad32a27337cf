"""Blocks of calls that PyTorch 2 starts as one."""

from typing import List

from torch.distributed import distributed_c10d as c10d

from .. import call_site, process, wire
from ..operation import Operation

_HAS_BLOCKS = hasattr(getattr(c10d, "_world", None), "pg_coalesce_state")


def check(group, operations: List[Operation]) -> None:
    """Reports a call on a group in a block that coalesces the calls of another one."""
    if not _HAS_BLOCKS:
        return
    # The calls of the open blocks, by group; of this thread's world where ranks are threads.
    open_blocks = c10d._world.pg_coalesce_state
    if not open_blocks or group in open_blocks or not operations:
        return
    rank, place, other = process.identity().rank, operations[0].place, next(iter(open_blocks))
    process.connection().say(wire.finding(
        "mismatch_gang", f"Rank {rank} called group {group.group_name} at "
        f"{call_site.text_of(place)} in a block that coalesces calls of group "
        f"{other.group_name}: that call is not part of the block.", [rank], place))
