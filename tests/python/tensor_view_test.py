"""Tensors of every kind as bytes, and the errors for objects that are not tensors."""

import array
import ctypes
import unittest

from package import has

from gangsim import dlpack, wire
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


    def test_nothing_may_be_written_to_read_only_memory(self):
        self.assertEqual(writable(b"").count, 0)

    def test_an_element_of_nothing_has_a_size(self):
        self.assertEqual([tensor_view(array.array(code)).item_bytes for code in "hi"], [1, 1])
        self.assertEqual(tensor_view(array.array("h", [1])).item_bytes, 2)


class Capsule:
    """Speaks DLPack only; of 64 bytes, by default as three floats."""

    def __init__(self, shape=(3,), strides=None, *, code=2, bits=32, lanes=1, device=1, offset=0):
        self.memory = ctypes.create_string_buffer(bytes(range(64)), 64)
        integers = ctypes.c_int64 * max(len(shape), 1)
        self.shape, self.strides = integers(*shape), strides and integers(*strides)
        self.tensor = dlpack._Tensor(
            ctypes.addressof(self.memory), device, 0, len(shape), code, bits, lanes,
            ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
            self.strides and ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)), offset)

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                         ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


class Capsules(unittest.TestCase):
    def test_they_tell_where_the_elements_are(self):
        for capsule, first, count in ((Capsule(), 0, 3), (Capsule(offset=8), 8, 3),
                                      (Capsule((2, 1, 3), (3, 99, 1)), 0, 6),
                                      (Capsule((2, 0), (0, 1)), None, 0), (Capsule(()), 0, 1)):
            found = tensor_view(capsule)
            self.assertEqual((found.count, len(found.view)), (count, 4 * count))
            self.assertEqual(list(found.view[:1]), [] if first is None else [first])

    def test_types_are_the_gangs(self):
        for code, bits, kind in ((0, 8, wire.I8), (0, 32, wire.I32), (0, 64, wire.I64),
                                 (1, 8, wire.U8), (1, 32, wire.U32), (1, 64, wire.U64),
                                 (2, 16, wire.F16), (2, 32, wire.F32), (2, 64, wire.F64),
                                 (4, 16, wire.BF16), (6, 8, wire.BOOL), (0, 16, None)):
            self.assertEqual(tensor_view(Capsule(code=code, bits=bits)).data_type, kind)
        vectors = tensor_view(Capsule((2,), bits=16, lanes=4))  # not numbers of 64 bits
        self.assertEqual((vectors.data_type, moved(vectors).count), (None, 16))

    def test_other_orders_and_devices_are_refused(self):
        for capsule, why in ((Capsule((2, 3), (1, 2)), "not contiguous"),
                             (Capsule((3,), (2,)), "not contiguous"),
                             (Capsule(device=2), "not on the CPU"),
                             (Capsule(device=10), "not on the CPU")):
            with self.assertRaisesRegex(InvalidArgument, why):
                tensor_view(capsule)


class Interfaces(unittest.TestCase):
    def test_array_interface_gives_type_and_count(self):
        found = tensor_view(ArrayInterface("<f4", (2, 3)))
        self.assertEqual((found.data_type, found.count, len(found.view)), (wire.F32, 6, 24))
        self.assertEqual(reduced(tensor_view(ArrayInterface("<c8", (2,))), "sum")[1:3],
                         (wire.F32, 4))

    def test_only_sums_and_means_of_complex_numbers_are_those_of_their_parts(self):
        found = tensor_view(ArrayInterface("<c16", (2,)))
        self.assertEqual([reduced(found, name)[1:3] for name in ("sum", "mean")],
                         [(wire.F64, 4)] * 2)
        for name in ("product", "min", "max"):
            with self.assertRaises(NotSupported):
                reduced(found, name)

    def test_memory_that_is_read_only_stays_as_it_is(self):
        array_of_others = ArrayInterface("<i4", (2,))
        address, _ = array_of_others.__array_interface__["data"]
        array_of_others.__array_interface__["data"] = (address, True)
        self.assertTrue(tensor_view(array_of_others).view.readonly)
        with self.assertRaisesRegex(InvalidArgument, "read-only"):
            writable(array_of_others)

    def test_strides_and_byte_order_are_checked(self):
        self.assertEqual(tensor_view(ArrayInterface("<f4", (2, 1), (4, 99))).count, 2)
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
        with self.assertRaisesRegex(InvalidArgument, "contiguous"):
            tensor_view(memoryview(numpy.zeros((2, 3), order="F")))

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
        for name, kind in (("bool", wire.BOOL), ("uint8", wire.U8), ("int8", wire.I8),
                           ("int32", wire.I32), ("int64", wire.I64), ("float16", wire.F16),
                           ("bfloat16", wire.BF16), ("float64", wire.F64), ("int16", None)):
            self.assertEqual(tensor_view(tensor.to(getattr(torch, name))).data_type, kind, name)
        with self.assertRaisesRegex(InvalidArgument, "must be on the CPU"):
            tensor_view(torch.empty(2, device="meta"))


if __name__ == "__main__":
    unittest.main()
