"""One rank standing in for a whole gang."""

import struct
from typing import List, Optional, Sequence

from . import wire
from .errors import InvalidArgument, NotSupported
from .gang import NO_COLOR, NOBODY, Gang
from .operation import Operation
from .work import Received, Work

_CODES = {wire.BOOL: "?", wire.U8: "B", wire.I8: "b", wire.I32: "i", wire.U32: "I", wire.I64: "q",
          wire.U64: "Q", wire.F16: "e", wire.F32: "f", wire.F64: "d"}


class FakeGang(Gang):
    """One rank standing in for `size` ranks that all hold this rank's data.

    sum multiplies by size, product raises to the power of size, min, max, mean, bitwise and/or,
    broadcast and barrier leave the data unchanged (xor gives zero if size is even), gathers
    replicate, reduce_scatter and scatter pick this rank's chunk. Sends, receives, and scatters from
    another rank, whose inputs are nowhere, are NotSupported. Everything completes at once.
    """

    def __init__(self, rank: int = 0, size: int = 1, name: str = "root"):
        if size < 1 or not 0 <= rank < size:
            raise InvalidArgument(f"rank {rank} of {size}; size must be at least 1 and rank be 0 "
                                  "to size - 1")
        super().__init__(0, name, range(size), rank)

    def create_gang(self, ranks: Sequence[int], name: str = "") -> Optional["FakeGang"]:
        self._open()
        ranks = [self._member("ranks", rank) for rank in ranks]
        if self.rank not in ranks:
            return None
        return FakeGang(ranks.index(self.rank), len(ranks), name or self.name)

    make_gang = create_gang

    def split(self, color: int = NO_COLOR, key: int = 0, name: str = "") -> Optional["FakeGang"]:
        """Every imaginary rank has this rank's color and key."""
        self._open()
        return None if color == NO_COLOR else FakeGang(self.rank, self.size, name or self.name)

    def shrink(self, grace: Optional[float] = None, name: str = "") -> "FakeGang":
        """Imaginary members are never gone."""
        return FakeGang(self.rank, self.size, name or self.name)

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True

    def _begin(self, operation: Operation, keep: object = None) -> Work:
        self._run(operation)
        return Work([])

    def _run(self, operation: Operation) -> Received:
        kind, size, fields = operation.kind, self.size, operation.fields
        data = b"".join(operation.inputs)
        if kind in (wire.SEND, wire.RECV):
            raise NotSupported("a fake gang has no other ranks to send to or receive from")
        if kind == wire.SCATTER and fields.peer != self.rank:
            raise NotSupported(f"a fake gang has no inputs of rank {fields.peer} to scatter")
        if kind in (wire.ALL_REDUCE, wire.REDUCE, wire.REDUCE_SCATTER):
            data = _repeated(fields, data, size)
        if kind in (wire.SCAN, wire.EXCLUSIVE_SCAN):
            data = _repeated(fields, data, self.rank + (kind == wire.SCAN))
        if kind == wire.ALL_GATHER and set(fields.first) - {fields.count}:
            raise InvalidArgument(f"counts are {list(fields.first)}; each rank of a fake gang "
                                  f"passes {fields.count} elements")
        if kind in (wire.ALL_GATHER, wire.GATHER):
            data *= size
        if kind in (wire.REDUCE_SCATTER, wire.SCATTER):
            share = len(data) // size
            data = data[self.rank * share:(self.rank + 1) * share]
        if kind == wire.ALL_TO_ALL:
            data = self._exchanged(fields, data)
        if kind == wire.BROADCAST:
            return NOBODY
        for view in filter(len, operation.outputs):
            view[:], data = data[:len(view)], data[len(view):]
        return NOBODY

    def _exchanged(self, fields: wire.OperationFields, data: bytes) -> bytes:
        """Every rank sends this rank the chunk that this rank sends itself."""
        item_bytes = wire.SIZE_BYTES[fields.data_type]
        splits = fields.first or [fields.count // self.size] * self.size
        if fields.second and set(fields.second) != {splits[self.rank]}:
            raise InvalidArgument(f"output_splits are {list(fields.second)}; each rank of a "
                                  f"fake gang sends {splits[self.rank]} elements")
        begin = sum(splits[:self.rank]) * item_bytes
        return data[begin:begin + splits[self.rank] * item_bytes] * self.size


def _repeated(fields: wire.OperationFields, data: bytes, size: int) -> bytes:
    """The reduction of `size` equal contributions, with the rounding of a simulated gang."""
    if size <= 1:
        return data
    code = _CODES.get(fields.data_type)
    if code is None:
        raise NotSupported("a fake gang of more than one rank does not reduce bfloat16")
    count = len(data) // wire.SIZE_BYTES[fields.data_type]
    layout = struct.Struct(f"<{count}{code}")
    values = layout.unpack(data)
    name = list(wire.REDUCTIONS)[fields.reduction]
    return layout.pack(*_reduced(list(values), name, code, size))


def _reduced(values: List, name: str, code: str, size: int) -> List:
    if name in ("min", "max", "band", "bor"):
        return values
    if name == "bxor":
        return values if size % 2 else [type(value)(0) for value in values]
    if code == "?":
        raise NotSupported(f"{name} is not defined for bool")
    if code in "efd":
        cell = struct.Struct("<" + code)

        def rounded(value):
            try:
                return cell.unpack(cell.pack(value))[0]
            except OverflowError:
                return float("inf") if value > 0 else float("-inf")
    else:
        bits = 8 * struct.calcsize("<" + code)

        def rounded(value):
            value &= (1 << bits) - 1
            return value - (1 << bits) if code.islower() and value >> (bits - 1) else value
    return [_accumulated(value, name, rounded, size, code in "efd") for value in values]


def _accumulated(value, name: str, rounded, size: int, is_floating: bool):
    if name == "mean" and is_floating:
        value = rounded(value * rounded(1 / size))
    total = value
    for _ in range(size - 1):
        total = rounded(total * value if name == "product" else total + value)
    if name == "mean" and not is_floating:
        total = abs(total) // size * (1 if total >= 0 else -1)
    return total
