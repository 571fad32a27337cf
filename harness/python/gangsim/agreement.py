"""Small agreements between the members of a gang."""

import array
from typing import Union

from .gang import Gang


def broadcast_flag(gang: Gang, flag: bool, source_rank: int = 0) -> bool:
    """The flag of `source_rank` on every rank. Collective; one broadcast of a bool."""
    cell = memoryview(bytearray([bool(flag)])).cast("?")
    gang.broadcast(cell, source_rank)
    return cell[0]


def all_sum(gang: Gang, value: Union[int, float]) -> Union[int, float]:
    """The sum over the ranks on every rank: integers in 64 bits, floating point in float64.

    All ranks pass the same type. Collective; one all_reduce of a scalar.
    """
    cell = array.array("q" if isinstance(value, int) else "d", [value])
    gang.all_reduce(cell, "sum")
    return cell[0]
