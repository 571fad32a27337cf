"""The timeouts of groups: which ones PyTorch chose, and which ones the program."""

import unittest
from datetime import timedelta
from unittest import mock

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

    def test_of_which_pytorch_chooses_some_itself(self):
        with mock.patch.object(timeouts, "c10d", mock.Mock(spec=["default_pg_timeout"])) as names:
            names.default_pg_timeout = timedelta(minutes=30)
            self.assertEqual(timeouts.defaults_ns(), [1_800_000_000_000])
        with mock.patch.object(timeouts, "c10d") as names:
            names.default_pg_timeout = timedelta(minutes=30)
            names.default_pg_nccl_timeout = timedelta(minutes=10)
            self.assertEqual(timeouts.defaults_ns(), [1_800_000_000_000, 600_000_000_000])

    def told_of_all_ranks(self, timeout_ns):
        """What is told of the group of all ranks: number, name, role, ranks and timeout."""
        with recorded(1, 3) as connection:
            process_group.ProcessGroup("0", 1, range(3), timeout_ns)
        return [(each.number("I"), each.text(), each.text(), list(each.ranks()), each.number("q"))
                for each in connection.told(wire.GROUP)]

    def test_of_the_group_of_all_ranks_are_told_where_the_program_chose_one(self):
        self.assertEqual(self.told_of_all_ranks(2 * 10 ** 9), [(0, "", "", [], 2 * 10 ** 9)])
        for timeout in timeouts.defaults_ns():  # --timeout says otherwise
            self.assertEqual(self.told_of_all_ranks(timeout), [])


if __name__ == "__main__":
    unittest.main()
