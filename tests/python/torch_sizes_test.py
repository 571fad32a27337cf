"""How many elements the tensors of a call must have."""

import os
import types
import unittest
from unittest import mock

from package import has
from recording_connection import recorded

from gangsim.errors import InvalidArgument

needs_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
if has("torch"):
    from gangsim.torch import cuda_as_cpu, process_group, sizes


def pieces(*counts):
    return [types.SimpleNamespace(count=count) for count in counts]


@needs_torch
class Counts(unittest.TestCase):
    def gathered(self, outputs, own, backend="nccl"):
        return sizes.gathered_counts(pieces(*outputs), pieces(own)[0], 1, 3, backend)

    def test_even_ones_need_not_be_told(self):
        for backend in ("nccl", "gloo"):
            self.assertEqual(self.gathered((2, 2, 2), 2, backend), ())
            self.assertEqual(self.gathered((6,), 2, backend), ())

    def test_nccl_gathers_tensors_of_different_sizes(self):
        self.assertEqual(self.gathered((1, 2, 0), 2), (1, 2, 0))
        with self.assertRaisesRegex(InvalidArgument, "output tensor 1 has 2 elements; must be 5"):
            self.gathered((1, 2, 0), 5)

    def test_gloo_does_not(self):
        with self.assertRaisesRegex(InvalidArgument, "have 1, 2 and 0 elements; with gloo all"):
            self.gathered((1, 2, 0), 2, "gloo")

    def scattered(self, inputs, own, backend="nccl"):
        return sizes.are_scattered_unevenly(pieces(*inputs), pieces(own)[0], 1, 3, backend)

    def test_nccl_scatters_tensors_of_different_sizes(self):
        self.assertTrue(self.scattered((1, 2, 0), 2))
        self.assertFalse(self.scattered((2, 2, 2), 2))
        self.assertFalse(self.scattered((6,), 2))
        with self.assertRaisesRegex(InvalidArgument, "input tensor 1 has 2 elements; must be 5"):
            self.scattered((1, 2, 0), 5)
        with self.assertRaisesRegex(InvalidArgument, "has 1 elements; must be 2, the same for"):
            self.scattered((1, 2, 3), 2, "gloo")

    def test_lists_that_are_too_short_are_refused_by_all(self):
        for outputs in ((2, 1), (1, 1, 1), (5,)):
            with self.assertRaisesRegex(InvalidArgument, "must be 3 [*] 2, one part for each"):
                self.gathered(outputs, 2)

    def test_of_many_sizes_a_few_are_shown(self):
        with self.assertRaisesRegex(InvalidArgument, "have 0, 1, 2, 3, 4, 5, 6, 7, ... elements"):
            sizes.gathered_counts(pieces(*range(9)), pieces(1)[0], 1, 9, "gloo")


@needs_torch
class Backends(unittest.TestCase):
    def test_the_device_of_the_tensors_decides(self):
        for asked, on_cpu, on_cuda in (
                ("nccl", "nccl", "nccl"), ("GLOO", "gloo", "gloo"), ("", "gloo", "nccl"),
                ("undefined", "gloo", "nccl"), ("cpu:gloo,cuda:nccl", "gloo", "nccl"),
                ("cuda:nccl", "gloo", "nccl")):
            for variable, expected in (("", on_cpu), ("1", on_cuda)):
                with mock.patch.dict(os.environ, {cuda_as_cpu.VARIABLE: variable}):
                    self.assertEqual(sizes.backend_of_tensors(asked), expected, asked)

    def test_a_group_tells_python_which_backend_was_asked_for_and_its_names(self):
        for asked, name in (("gloo", "gloo"), ("nccl", "nccl"), ("", "gloo"),
                            ("cpu:gloo,cuda:nccl", "gloo")):
            with recorded(0, 2), mock.patch.object(
                    process_group.making, "backend", asked, create=True):
                group = process_group.ProcessGroup("7", 0, range(2), 10 ** 9)
            self.assertEqual(group._get_backend_name(), name)
            self.assertEqual((group.name(), group.getBackendName()), ("gangsim", "gangsim"))
            self.assertEqual({group.group_name, group.pg_name, group.getGroupName()}, {"7"})


if __name__ == "__main__":
    unittest.main()
