"""Blocks of shared memory: their sizes, their reuse, and what is said when there is none left."""

import os
import resource
import unittest
from unittest import mock

import package  # noqa: F401

from gangsim.errors import Error
from gangsim.memory import SMALLEST_BYTES, Blocks


class Sizes(unittest.TestCase):
    def test_a_block_has_at_least_the_size_that_was_asked_for(self):
        blocks = Blocks()
        for asked, size in ((1, SMALLEST_BYTES), (SMALLEST_BYTES, SMALLEST_BYTES),
                            (SMALLEST_BYTES + 1, 2 * SMALLEST_BYTES), (300_000, 1 << 19)):
            block, is_new = blocks.take(asked)
            self.assertEqual((block.size_bytes, len(block.view), is_new), (size, size, True))
            block.close_descriptor()

    def test_a_block_that_was_given_back_serves_again(self):
        blocks = Blocks()
        first, _ = blocks.take(10)
        second, _ = blocks.take(10)
        self.assertEqual((first.number, second.number), (1, 2))
        blocks.give_back(first)
        again, is_new = blocks.take(SMALLEST_BYTES)
        self.assertEqual((again, is_new), (first, False))
        for block in (first, second):
            block.close_descriptor()


    def test_a_block_serves_one_operation_at_a_time(self):
        blocks = Blocks()
        first, _ = blocks.take(10)
        blocks.give_back(first)
        taken = [blocks.take(10) for _ in range(2)]
        self.assertEqual([is_new for _, is_new in taken], [False, True])
        self.assertIsNot(taken[0][0], taken[1][0])
        for block, _ in taken:
            block.close_descriptor()

    def test_programs_that_a_rank_starts_do_not_inherit_it(self):
        block, _ = Blocks().take(10)
        self.assertFalse(os.get_inheritable(block.descriptor))
        descriptor = block.descriptor
        block.close_descriptor()
        self.assertEqual(block.descriptor, -1)
        with self.assertRaises(OSError):
            os.fstat(descriptor)


class Exhausted(unittest.TestCase):
    def test_memory_that_cannot_be_reserved_is_an_error_that_says_how_much(self):
        with mock.patch("os.posix_fallocate", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(Error, "1024 KiB of shared memory.*No space left"):
                before = os.listdir("/proc/self/fd")
                Blocks().take(1 << 20)
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(before))

    def test_a_limit_of_the_process_is_such_an_error(self):
        former = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, former[1]))
        try:
            blocks = Blocks()
            with self.assertRaisesRegex(Error, "4096 KiB of shared memory.*File too large"):
                blocks.take(4 << 20)
            block, _ = blocks.take(1 << 19)  # a smaller one is still possible
            block.close_descriptor()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, former)


if __name__ == "__main__":
    unittest.main()
