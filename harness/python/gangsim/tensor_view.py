"""Any tensor as bytes, a data type and a count, without a copy."""

import ctypes
import struct
from typing import NamedTuple, Optional

from . import dlpack, wire
from .errors import InvalidArgument, NotSupported


class TensorView(NamedTuple):
    """`data_type` is None for types that can be moved but not reduced; `name` is for messages."""

    view: memoryview
    data_type: Optional[int]
    count: int
    name: str

    @property
    def item_bytes(self) -> int:
        return len(self.view) // self.count if self.count else 1


# By the first letters of a buffer's format: signed, unsigned and floating-point types of each size.
_SIGNED = {1: wire.I8, 4: wire.I32, 8: wire.I64}
_UNSIGNED = {1: wire.U8, 4: wire.U32, 8: wire.U64}
_FLOATING = {2: wire.F16, 4: wire.F32, 8: wire.F64}
_KINDS = {"?": {1: wire.BOOL}, "b": _SIGNED, "h": _SIGNED, "i": _SIGNED, "l": _SIGNED,
          "q": _SIGNED, "B": _UNSIGNED, "H": _UNSIGNED, "I": _UNSIGNED, "L": _UNSIGNED,
          "Q": _UNSIGNED, "c": _UNSIGNED, "e": _FLOATING, "f": _FLOATING, "d": _FLOATING}
_FORMATS = {code: types.get(struct.calcsize(code)) for code, types in _KINDS.items()}
_TORCH = {"torch.bool": wire.BOOL, "torch.uint8": wire.U8, "torch.int8": wire.I8,
          "torch.int32": wire.I32, "torch.uint32": wire.U32, "torch.int64": wire.I64,
          "torch.uint64": wire.U64, "torch.float16": wire.F16, "torch.bfloat16": wire.BF16,
          "torch.float32": wire.F32, "torch.float64": wire.F64}
_ARRAY_KINDS = {"b": {1: wire.BOOL}, "i": _SIGNED, "u": _UNSIGNED, "f": _FLOATING}


def tensor_view(tensor: object) -> TensorView:
    """The memory of `tensor`: an object with the buffer protocol (a numpy array, array.array,
    bytearray), with __array_interface__ or with DLPack, or a torch tensor on the CPU.

    InvalidArgument if it is nothing of that kind or not contiguous.
    """
    try:
        view = memoryview(tensor)
    except (TypeError, BufferError, ValueError):
        return _without_buffer(tensor)
    code = view.format
    if code not in _FORMATS:
        return _without_buffer(tensor)
    if not view.c_contiguous:
        raise InvalidArgument(f"{_named(tensor)} is not contiguous; pass a contiguous copy")
    count = view.nbytes // view.itemsize
    try:
        flat = view.cast("B") if count else memoryview(b"")
    except (TypeError, ValueError):  # float16, before Python 3.12
        return _without_buffer(tensor)
    return TensorView(flat, _FORMATS[code], count, code)


def writable(tensor: object) -> TensorView:
    """The same, for an output. InvalidArgument if the memory is read-only."""
    found = tensor_view(tensor)
    if found.count and found.view.readonly:
        raise InvalidArgument(f"{_named(tensor)} is read-only; an output must be writable")
    return found


def bytes_at(address: int, size_bytes: int) -> memoryview:
    """Writable memory of this process. Whoever owns it must keep it."""
    if not size_bytes:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size_bytes).from_address(address)).cast("B")


def moved(found: TensorView) -> TensorView:
    """`found`, as bytes where its type is not one of the gang's."""
    if found.data_type is not None:
        return found
    return found._replace(data_type=wire.U8, count=len(found.view))


def reduced(found: TensorView, reduction: str) -> TensorView:
    """`found` for a reduction: complex numbers as their components. NotSupported if there is no
    reduction of its type."""
    if found.data_type is not None:
        return found
    if "complex" in found.name and reduction in ("sum", "mean"):
        part = found.item_bytes // 2
        if part in (4, 8):
            return found._replace(data_type=_FLOATING[part], count=2 * found.count)
    raise NotSupported(f"a reduction of {found.name} elements; supported are bool, the integers of "
                       "1, 4 and 8 bytes, float16, bfloat16, float32, float64, and sums and means "
                       "of complex64 and complex128")


def _without_buffer(tensor: object) -> TensorView:
    if hasattr(tensor, "data_ptr") and hasattr(tensor, "is_contiguous"):
        return _of_torch(tensor)
    interface = getattr(tensor, "__array_interface__", None)
    if interface is not None:
        return _of_array_interface(tensor, interface)
    if hasattr(tensor, "__dlpack__"):
        return _of_dlpack(tensor)
    raise InvalidArgument(
        f"{_named(tensor)} is not a tensor; pass a torch tensor, or an object that supports "
        "the buffer protocol, __array_interface__ or DLPack")


def _of_torch(tensor) -> TensorView:
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"a tensor on {tensor.device}; tensors must be on the CPU")
    if not tensor.is_contiguous():
        raise InvalidArgument("the tensor is not contiguous; pass tensor.contiguous()")
    name, count = str(tensor.dtype), tensor.numel()
    view = bytes_at(tensor.data_ptr(), count * tensor.element_size())
    return TensorView(view, _TORCH.get(name), count, name.replace("torch.", ""))


def _of_array_interface(tensor, interface) -> TensorView:
    order, kind, item_bytes = (interface["typestr"][0], interface["typestr"][1],
                               int(interface["typestr"][2:]))
    count = 1
    for extent in interface["shape"]:
        count *= extent
    strides, expected = interface.get("strides"), item_bytes
    for extent, stride in zip(interface["shape"][::-1], (strides or ())[::-1]):
        if extent > 1 and stride != expected:
            raise InvalidArgument(f"{_named(tensor)} is not contiguous; pass a contiguous copy")
        expected *= extent
    if order == ">":
        raise InvalidArgument(f"{_named(tensor)} is big-endian; pass a little-endian copy")
    address, is_read_only = interface["data"]
    view = bytes_at(address, count * item_bytes)
    name = {"c": "complex"}.get(kind, kind) + str(8 * item_bytes)
    return TensorView(view.toreadonly() if is_read_only else view,
                      _ARRAY_KINDS.get(kind, {}).get(item_bytes), count, name)


def _of_dlpack(tensor) -> TensorView:
    found = dlpack.describe(tensor)
    if not found.is_on_cpu:
        raise InvalidArgument(f"{_named(tensor)} is not on the CPU; tensors must be on the CPU")
    if not found.is_contiguous:
        raise InvalidArgument(f"{_named(tensor)} is not contiguous; pass a contiguous copy")
    types = {0: _SIGNED, 1: _UNSIGNED, 2: _FLOATING, 4: {2: wire.BF16}, 6: {1: wire.BOOL}}
    name = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}.get(
        found.type_code, "type") + str(8 * found.item_bytes)
    return TensorView(bytes_at(found.address, found.count * found.item_bytes),
                      types.get(found.type_code, {}).get(found.item_bytes), found.count, name)


def _named(tensor: object) -> str:
    return f"an object of type {type(tensor).__name__}"
