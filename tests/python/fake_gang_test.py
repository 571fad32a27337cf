"""A FakeGang: what size equal ranks would give, and what it cannot do."""

import array
import unittest

import package  # noqa: F401

import gangsim
from gangsim.errors import InvalidArgument, InvalidOperation, NotSupported


class Reductions(unittest.TestCase):
    def reduced(self, code, value, operation, size):
        cell = array.array(code, [value])
        gangsim.FakeGang(size=size).all_reduce(cell, operation)
        return cell[0]

    def test_they_are_those_of_equal_ranks(self):
        for operation, expected in (("sum", 12.0), ("product", 81.0), ("min", 3.0), ("max", 3.0),
                                    ("mean", 3.0)):
            self.assertEqual(self.reduced("f", 3.0, operation, 4), expected)

    def test_integers_wrap_around(self):
        self.assertEqual(self.reduced("b", 100, "sum", 2), -56)
        self.assertEqual(self.reduced("B", 200, "sum", 2), 144)
        self.assertEqual(self.reduced("i", -7, "mean", 2), -7)

    def test_sums_round_at_each_step(self):
        self.assertEqual(self.reduced("f", 2.0 ** 24 + 2, "sum", 3), 50331656.0)
        self.assertEqual(self.reduced("f", 3e38, "sum", 2), float("inf"))

    def test_exclusive_or_depends_on_the_size(self):
        self.assertEqual([self.reduced("i", 5, "bxor", size) for size in (2, 3)], [0, 5])


    def test_scans_reduce_the_ranks_up_to_their_own(self):
        for rank, until_here, before in ((0, 3.0, 3.0), (2, 9.0, 6.0)):
            gang, cell = gangsim.FakeGang(rank, 4), array.array("f", [3.0])
            gang.scan(cell)
            self.assertEqual(cell[0], until_here)
            cell[0] = 3.0
            gang.exclusive_scan(cell)
            self.assertEqual(cell[0], before)


class Copies(unittest.TestCase):
    def test_gathers_replicate_and_scatters_pick(self):
        gang = gangsim.FakeGang(rank=1, size=2)
        gathered = array.array("i", [0] * 4)
        gang.all_gather(gathered, array.array("i", [1, 2]))
        self.assertEqual(list(gathered), [1, 2, 1, 2])
        gang.all_gather(gathered, array.array("i", [3, 4]), counts=[2, 2])
        self.assertEqual(list(gathered), [3, 4, 3, 4])
        with self.assertRaises(InvalidArgument):
            gang.all_gather(gathered, array.array("i", [3]), counts=[3, 1])
        part = array.array("i", [0])
        gang.reduce_scatter(part, array.array("i", [3, 4]))
        self.assertEqual(part[0], 8)
        gang.scatter(part, [array.array("i", [5]), array.array("i", [6])], 1)
        self.assertEqual(part[0], 6)
        gang.all_to_all(gathered, array.array("i", [1, 2, 3, 4]))
        self.assertEqual(list(gathered), [3, 4, 3, 4])

    def test_agreements_hold(self):
        gang = gangsim.FakeGang(size=3)
        self.assertTrue(gangsim.broadcast_flag(gang, True))
        self.assertEqual((gangsim.all_sum(gang, 2), gangsim.all_sum(gang, 0.5)), (6, 1.5))

    def test_a_work_is_complete_at_once(self):
        work = gangsim.FakeGang(size=2).start_barrier()
        self.assertTrue(work.test())
        work.wait()


class Limits(unittest.TestCase):
    def test_other_ranks_do_not_exist(self):
        gang, cell = gangsim.FakeGang(size=2), bytearray(1)
        for call in (lambda: gang.send(cell, 1), lambda: gang.recv(cell, 1),
                     lambda: gang.scatter(cell, None, 1)):
            with self.assertRaises(NotSupported):
                call()

    def test_a_closed_gang_is_not_usable(self):
        gang = gangsim.FakeGang()
        gang.close()
        gang.close()
        with self.assertRaisesRegex(InvalidOperation, "closed"):
            gang.barrier()

    def test_impossible_gangs_are_refused(self):
        for rank, size in ((0, 0), (2, 2), (-1, 1)):
            with self.assertRaises(InvalidArgument):
                gangsim.FakeGang(rank, size)

    def test_fake_gangs_fill_every_field(self):
        gangs = gangsim.create_fake_gangs()
        self.assertEqual(gangs.at("tp").size, 1)
        with self.assertRaisesRegex(InvalidArgument, "root, dp, rdp, sdp, tp, pp"):
            gangs.at("cp")


if __name__ == "__main__":
    unittest.main()
