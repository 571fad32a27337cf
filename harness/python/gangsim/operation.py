"""A call on a group, as the conductor hears of it."""

from typing import Dict, Sequence

from . import call_site, wire

_MOST_KNOWN = 4096
_known: Dict[wire.OperationFields, bytes] = {}  # as bytes; the calls of a loop are alike


class Operation:
    """A call on a group. `inputs` and `outputs` are views of bytes, in the order of the elements.

    An operation of a kind that works in place has its input and its output in the same memory. The
    lists are tuples. `place` is an encoded site; without one, where the program is.
    """

    __slots__ = ("kind", "place", "inputs", "outputs", "_fields")

    def __init__(self, group: int, kind: int, place: bytes = b"", *,
                 inputs: Sequence[memoryview] = (), outputs: Sequence[memoryview] = (),
                 data_type: int = wire.U8, count: int = 0, reduction: int = 0, peer: int = 0,
                 label: str = "", first: Sequence[int] = (), second: Sequence[int] = (),
                 flags: int = 0, tag: int = 0, result: int = 0):
        self.kind, self.inputs, self.outputs = kind, inputs, outputs
        self.place = place = place or call_site.here(2)
        self._fields = (group, kind, place, data_type, count, reduction, peer, label, first, second,
                        flags, tag, result)

    @property
    def fields(self) -> wire.OperationFields:
        return wire.OperationFields(*self._fields)

    def described(self) -> bytes:
        """wire.operation of its fields."""
        found = _known.get(self._fields)
        if found is None:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            found = _known[self._fields] = wire.operation(self.fields)
        return found
