"""Torch tensors as the bytes of an operation."""

import zlib
from typing import List, Tuple

import torch

from .. import wire
from ..errors import InvalidArgument, NotSupported
from ..tensor_view import bytes_at

# By data type: the gang's, or None where elements can only be moved; and what a reduction sees.
_TYPES = {torch.bool: wire.BOOL, torch.uint8: wire.U8, torch.int8: wire.I8, torch.int32: wire.I32,
          torch.int64: wire.I64, torch.float16: wire.F16, torch.bfloat16: wire.BF16,
          torch.float32: wire.F32, torch.float64: wire.F64}
for _name, _code in (("uint32", wire.U32), ("uint64", wire.U64)):
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = _code
_COMPONENTS = {torch.complex64: wire.F32, torch.complex128: wire.F64}
_PLAIN = (torch.Tensor, torch.nn.Parameter)

_WHOLE_BYTES = 64 << 10
_SAMPLE_BYTES = 4 << 10
_SAMPLES = 16


class Piece:
    """A tensor of an operation: its bytes, and what must be copied back when they have changed.

    `kind` is PyTorch's data type; `data_type` the gang's, None where elements can only be moved.
    """

    __slots__ = ("tensor", "staged", "view", "address", "kind", "data_type", "count")

    def __init__(self, tensor: torch.Tensor):
        if type(tensor) not in _PLAIN and hasattr(tensor, "trigger_wait"):
            tensor = tensor.trigger_wait()  # the result of a functional collective
        if not tensor.is_cpu:
            raise NotSupported(_on_device(tensor.device))
        if tensor.layout is not torch.strided:
            raise NotSupported(f"a tensor with layout {tensor.layout}; only dense tensors can be "
                               "communicated: pass tensor.to_dense()")
        kind = self.kind = tensor.dtype
        count = self.count = tensor.numel()
        self.tensor, self.staged = tensor, None
        flat = tensor
        if kind in _COMPONENTS or not tensor.is_contiguous() or tensor.is_neg():
            flat = _plain_copy(tensor)
            if flat is not tensor:
                self.staged = flat
        code = self.data_type = _TYPES.get(kind)
        self.address = flat.data_ptr()
        self.view = bytes_at(self.address, count * (
            flat.element_size() if code is None else wire.SIZE_BYTES[code]))

    def is_still_there(self) -> bool:
        """Whether the bytes are where they were: a storage that was resized is not."""
        return (self.staged if self.staged is not None else self.tensor).data_ptr() == self.address

    def finish(self) -> None:
        """Copies an output to where the program expects it."""
        if self.staged is not None:
            with torch.no_grad():
                self.tensor.detach().copy_(self.staged)


def type_to_move(pieces: List[Piece]) -> Tuple[int, int]:
    """The gang's data type for `pieces`, and how many of its elements make one of theirs."""
    first = _of_one_kind(pieces)
    if first.data_type is not None:
        return first.data_type, 1
    return wire.U8, first.tensor.element_size()


def type_to_reduce(pieces: List[Piece], reduction: str) -> Tuple[int, int]:
    """The same for a reduction. NotSupported if the type cannot be reduced."""
    first = _of_one_kind(pieces)
    if first.data_type is not None:
        return first.data_type, 1
    if first.kind in _COMPONENTS and reduction in ("sum", "mean"):
        return _COMPONENTS[first.kind], 2
    raise NotSupported(f"{reduction} of {first.kind} tensors: supported are bool, uint8, int8, "
                       "int32, int64, float16, bfloat16, float32, float64, and sums and means of "
                       "complex tensors")


def digest(pieces: List[Piece]) -> int:
    """A checksum of the pieces' bytes; of samples where there are many."""
    value = 0
    for piece in pieces:
        view = piece.view
        size = len(view)
        if size <= _WHOLE_BYTES:
            value = zlib.crc32(view, value)
            continue
        for sample in range(_SAMPLES):  # the first at the beginning, the last at the end
            at = (size - _SAMPLE_BYTES) * sample // (_SAMPLES - 1)
            value = zlib.crc32(view[at:at + _SAMPLE_BYTES], value)
    return value


def _of_one_kind(pieces: List[Piece]) -> Piece:
    """The first; InvalidArgument if another one has another type."""
    first = pieces[0]
    for piece in pieces:
        if piece.kind is not first.kind:
            raise InvalidArgument(f"tensors of one call have types {first.kind} and {piece.kind}; "
                                  "all must have the same")
    return first


def _plain_copy(tensor: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        found = tensor.detach()
        if found.is_complex():
            found = found.resolve_conj()
        found = found.resolve_neg().contiguous()
    return tensor if found.data_ptr() == tensor.data_ptr() else found


def _on_device(device: torch.device) -> str:
    if device.type == "meta":
        return "a meta tensor has no data to communicate"
    return (f"a tensor on {device}: gangsim communicates CPU tensors; run the script with "
            "`gangsim torch --cuda-as-cpu`, which takes cuda to mean the CPU")
