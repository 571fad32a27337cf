"""The timeouts of groups."""

import unittest
from datetime import timedelta

from package import has
from recording_connection import recorded

from gangsim import wire

if has("torch"):
    from gangsim.torch import process_group, timeouts


@unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
class Timeouts(unittest.TestCase):
    def test_are_nanoseconds(self):
        self.assertEqual(timeouts.to_ns(timedelta(seconds=1.5)), 1_500_000_000)
        self.assertEqual([timeouts.to_ns(0.1), timeouts.to_ns(2)], [100_000_000, 2_000_000_000])
        self.assertEqual(timeouts.to_ns(None), 1_800_000_000_000)
        self.assertEqual(timeouts.to_ns(timedelta.max), 2 ** 63 - 1)
        self.assertEqual(timeouts.to_ns(timedelta.min), 0)

    def told_of_all_ranks(self, timeout_ns):
        """What is told of the group of all ranks: number, name, role, ranks and timeout."""
        with recorded(1, 3) as connection:
            process_group.ProcessGroup("0", 1, range(3), timeout_ns)
        return [(each.number("I"), each.text(), each.text(), list(each.ranks()), each.number("q"))
                for each in connection.told(wire.GROUP)]

    def test_of_the_group_of_all_ranks_are_told_unless_they_are_what_the_conductor_assumes(self):
        for timeout in (2 * 10 ** 9, 600 * 10 ** 9):  # the latter is NCCL's
            self.assertEqual(self.told_of_all_ranks(timeout), [(0, "", "", [], timeout)])
        self.assertEqual(self.told_of_all_ranks(1800 * 10 ** 9), [])


if __name__ == "__main__":
    unittest.main()
