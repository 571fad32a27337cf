"""Agreements: whose flag it is, and sums that neither overflow nor round."""

import unittest

from recording_connection import recorded, result

import gangsim


class Agreements(unittest.TestCase):
    def test_the_flag_is_that_of_the_source(self):
        for told in (False, True):
            def deliver(operation):
                for view in operation.outputs:
                    view[:] = bytes([told])
                return result()

            with recorded(0, 3, deliver) as connection:
                gang = gangsim.Gang(0, "root", range(3), 0)
                self.assertIs(gangsim.broadcast_flag(gang, not told, 2), told)
                self.assertIs(gangsim.broadcast_flag(gang, told), told)
                self.assertEqual([each.fields.peer for each in connection.operations], [2, 0])

    def test_sums_have_64_bits(self):
        gang = gangsim.FakeGang(size=3)
        self.assertEqual(gangsim.all_sum(gang, 1 << 40), 3 << 40)
        self.assertEqual(gangsim.all_sum(gang, 0.1), 0.1 + 0.1 + 0.1)


if __name__ == "__main__":
    unittest.main()
