"""A FakeGang: what size equal ranks would give, and what it cannot do."""

import array
import struct
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
        self.assertEqual([self.reduced("i", 5, name, 2) for name in ("band", "bor")], [5, 5])

    def test_means_are_those_of_a_simulated_gang(self):
        # Integers are added, wrap around, and are divided towards 0; others are scaled and added.
        self.assertEqual([self.reduced("b", value, "mean", 3) for value in (50, -50)], [-35, 35])
        single = struct.Struct("<f")

        def rounded(value):
            return single.unpack(single.pack(value))[0]

        for value in (0.1, 0.9, 1.7):
            part = rounded(rounded(value) * rounded(1 / 3))
            self.assertEqual(self.reduced("f", value, "mean", 3),
                             rounded(rounded(part + part) + part))

    def test_what_is_too_large_keeps_its_sign(self):
        self.assertEqual([self.reduced("f", value, "sum", 2) for value in (3e38, -3e38)],
                         [float("inf"), float("-inf")])

    def test_flags_are_not_added(self):
        flag = memoryview(bytearray([1])).cast("?")
        gangsim.FakeGang(size=2).all_reduce(flag, "max")
        self.assertTrue(flag[0])
        for name in ("sum", "mean", "product"):
            with self.assertRaises(NotSupported):
                gangsim.FakeGang(size=2).all_reduce(flag, name)

    def test_a_reduce_is_that_of_its_destination(self):
        for rank, expected in ((0, 3), (1, 6)):
            cell = array.array("i", [3])
            gangsim.FakeGang(rank, 2).reduce(cell, "sum", 1)
            self.assertEqual(cell[0], expected)

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

    def test_gathers_to_one_rank_and_broadcasts(self):
        gang, own = gangsim.FakeGang(rank=1, size=2), array.array("i", [4, 5])
        parts = [array.array("i", [0, 0]) for _ in range(2)]
        gang.gather(parts, own, 1)
        self.assertEqual([part.tolist() for part in parts], [[4, 5]] * 2)
        gang.gather(None, own, 0)
        for root in range(2):
            gang.broadcast(own, root)
            self.assertEqual(own.tolist(), [4, 5])

    def test_uneven_exchanges(self):
        gang, got = gangsim.FakeGang(rank=1, size=2), array.array("i", [0] * 6)
        gang.all_to_all(got, array.array("i", [1, 2, 3, 4]), input_splits=[1, 3],
                        output_splits=[3, 3])
        self.assertEqual(got.tolist(), [2, 3, 4, 2, 3, 4])
        with self.assertRaises(InvalidArgument):
            gang.all_to_all(got, array.array("i", [1, 2, 3, 4]), input_splits=[1, 3],
                            output_splits=[2, 4])

    def test_parts_of_it_have_the_ranks_that_they_are_given(self):
        gang = gangsim.FakeGang(rank=1, size=3, name="some")
        self.assertEqual((gang.create_gang([2, 1]).rank, gang.create_gang([2, 1]).size), (1, 2))
        self.assertEqual((gang.create_gang([1, 0]).rank, gang.create_gang([0, 2])), (0, None))
        self.assertEqual((gang.split(), gang.split(0).rank, gang.split(0).size), (None, 1, 3))
        self.assertEqual((gang.shrink().rank, gang.shrink().size), (1, 3))

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
        for end in ("close", "abort"):
            gang = gangsim.FakeGang()
            for _ in range(2):
                getattr(gang, end)()
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
