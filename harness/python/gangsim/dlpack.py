"""Reads the description of a tensor that only offers DLPack (versions 0 and 1), without a copy."""

import ctypes
from typing import NamedTuple


class Description(NamedTuple):
    address: int
    count: int
    type_code: int  # 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool; -1 for vectors
    item_bytes: int
    is_contiguous: bool
    is_on_cpu: bool


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int),
                ("device_id", ctypes.c_int), ("dimensions", ctypes.c_int),
                ("type_code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def describe(tensor) -> Description:
    """Describes `tensor.__dlpack__()`. The capsule is released unconsumed: the memory still belongs
    to `tensor`, which the caller keeps."""
    capsule = tensor.__dlpack__()
    found = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    shape = [found.shape[i] for i in range(found.dimensions)]
    count, is_contiguous = 1, True
    for i in reversed(range(found.dimensions)):
        if found.strides and shape[i] > 1 and found.strides[i] != count:
            is_contiguous = False
        count *= shape[i]
    return Description((found.data or 0) + found.byte_offset, count,
                       found.type_code if found.lanes == 1 else -1,
                       found.bits * found.lanes // 8, is_contiguous, found.device_type == 1)
