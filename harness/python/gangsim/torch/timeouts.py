"""How long calls on groups may wait."""

from datetime import timedelta
from typing import List, Optional

from torch.distributed import distributed_c10d as c10d

_LONGEST = timedelta(minutes=30)  # where PyTorch is not told one


def to_ns(timeout: Optional[timedelta]) -> int:
    return int((_LONGEST if timeout is None else timeout).total_seconds() * 1e9)


def defaults_ns() -> List[int]:
    """What PyTorch says for a program that chose none; gangsim's --timeout may say otherwise."""
    names = ("default_pg_timeout", "default_pg_nccl_timeout")
    chosen = (getattr(c10d, name, None) for name in names)
    return [to_ns(timeout) for timeout in chosen if timeout is not None]
