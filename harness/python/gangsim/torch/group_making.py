"""How groups come to be: by an init, by new_group, and from another group."""

import contextlib
import threading
from typing import Iterator, List, Sequence

from torch.distributed import distributed_c10d as c10d

from .. import process
from . import store, timeouts

# Of the group that is being made: .role, what it does, if it is known; .name, if not PyTorch's;
# .backend, the one that was asked for.
making = threading.local()


@contextlib.contextmanager
def asking(**what: str) -> Iterator[None]:
    """Sets these of `making` for the group that is made within."""
    vars(making).update(what)
    try:
        yield
    finally:
        vars(making).update(dict.fromkeys(what, ""))


def create(options, _):
    """The group that torch.distributed's registry of backends is asked for."""
    from .process_group import ProcessGroup
    ranks, rank = ranks_of_run(options.global_ranks_in_group), options.group_rank
    if not ranks:
        if rank >= 0:  # MPI's is -1: it is told by its launcher
            store.become(rank, options.group_size)
        own = process.identity()
        own.inits += 1
        rank, ranks = own.rank, list(range(own.world_size))
    name, inits = getattr(making, "name", "") or options.group_id, process.identity().inits
    if inits > 1:
        name = f"{name} of init {inits}"
    return ProcessGroup(name, rank, ranks, timeouts.to_ns(options.timeout))


def ranks_of_run(ranks: Sequence[int]) -> List[int]:
    """Ranks of the default group as ranks of the run, which differ once that has been shrunk."""
    default = c10d.GroupMember.WORLD
    return [default.rank_of_run(rank) for rank in ranks] if hasattr(
        default, "rank_of_run") else list(ranks)
