"""Tensors of every kind as bytes, and the errors for objects that are not tensors."""

import array
import ctypes
import unittest

from package import has

from gangsim import wire
from gangsim.errors import InvalidArgument, NotSupported
from gangsim.tensor_view import moved, reduced, tensor_view, writable


class ArrayInterface:
    """Speaks __array_interface__ only, as numpy arrays do too."""

    def __init__(self, kind, shape, strides=None):
        self._memory = ctypes.create_string_buffer(64)
        self.__array_interface__ = {
            "version": 3, "typestr": kind, "shape": shape, "strides": strides,
            "data": (ctypes.addressof(self._memory), False)}


class Buffers(unittest.TestCase):
    def test_types_are_the_gangs(self):
        for code, kind in (("b", wire.I8), ("B", wire.U8), ("i", wire.I32), ("I", wire.U32),
                           ("q", wire.I64), ("Q", wire.U64), ("f", wire.F32), ("d", wire.F64)):
            found = tensor_view(array.array(code, [1, 2, 3]))
            self.assertEqual((found.data_type, found.count), (kind, 3))

    def test_the_view_is_the_tensors_memory(self):
        data = array.array("i", [1, 2])
        writable(data).view[:4] = (7).to_bytes(4, "little")
        self.assertEqual(list(data), [7, 2])

    def test_no_elements_are_legal(self):
        self.assertEqual(len(tensor_view(array.array("f")).view), 0)

    def test_types_that_no_gang_reduces_can_be_moved(self):
        found = tensor_view(array.array("h", [1, 2]))
        self.assertEqual(moved(found)[1:3], (wire.U8, 4))
        with self.assertRaisesRegex(NotSupported, "reduction of h"):
            reduced(found, "sum")

    def test_what_is_no_tensor_is_refused(self):
        for wrong, why in ((3, "not a tensor"), (None, "not a tensor"),
                           (memoryview(bytearray(8))[::2], "not contiguous")):
            with self.assertRaisesRegex(InvalidArgument, why):
                tensor_view(wrong)
        with self.assertRaisesRegex(InvalidArgument, "read-only"):
            writable(b"abc")


class Interfaces(unittest.TestCase):
    def test_array_interface_gives_type_and_count(self):
        found = tensor_view(ArrayInterface("<f4", (2, 3)))
        self.assertEqual((found.data_type, found.count, len(found.view)), (wire.F32, 6, 24))
        self.assertEqual(reduced(tensor_view(ArrayInterface("<c8", (2,))), "sum")[1:3],
                         (wire.F32, 4))

    def test_strides_and_byte_order_are_checked(self):
        tensor_view(ArrayInterface("<f4", (2, 3), (12, 4)))
        with self.assertRaisesRegex(InvalidArgument, "contiguous"):
            tensor_view(ArrayInterface("<f4", (2, 3), (4, 8)))
        with self.assertRaisesRegex(InvalidArgument, "big-endian"):
            tensor_view(ArrayInterface(">f4", (2,)))

    @unittest.skipUnless(has("numpy"), "runs where numpy is installed")
    def test_numpy(self):
        import numpy
        for name, kind in (("bool", wire.BOOL), ("float16", wire.F16), ("int64", wire.I64),
                           ("float32", wire.F32)):
            for shape in ((2, 3), (), (0, 4)):
                found = tensor_view(numpy.zeros(shape, name))
                self.assertEqual(found.data_type, kind)
                self.assertEqual(found.count, numpy.zeros(shape).size)
        with self.assertRaisesRegex(InvalidArgument, "contiguous"):
            tensor_view(numpy.zeros((3, 3)).T[1:])

    @unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
    def test_torch_itself_and_through_dlpack(self):
        import torch

        class Foreign:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **_):
                return self.tensor.__dlpack__()

        tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        for found in (tensor_view(tensor), tensor_view(Foreign(tensor))):
            self.assertEqual((found.data_type, found.count), (wire.F32, 6))
            self.assertEqual(bytes(found.view[4:8]), b"\0\0\x80?")
        for wrong in (tensor.t(), Foreign(tensor.t())):
            with self.assertRaisesRegex(InvalidArgument, "contiguous"):
                tensor_view(wrong)
        self.assertEqual(tensor_view(tensor.to(torch.bfloat16)).data_type, wire.BF16)


if __name__ == "__main__":
    unittest.main()
