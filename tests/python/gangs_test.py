"""Gangs of gangs and of layouts: who is in them, with which rank, and how they are closed."""

import os
import unittest
from unittest import mock

from recording_connection import recorded, result

import gangsim
from gangsim import FakeGang, process, wire
from gangsim.errors import InvalidArgument, InvalidOperation
from gangsim.gangs import Gangs, create_fsdp_gangs, create_parallel_gangs


class Recorded(gangsim.Gang):
    """A gang whose splits are what a conductor would make of those of all members."""

    def split(self, color=-1, key=0, name=""):
        return name, color, key


def layout(rank, size, **axes):
    """The (name, color, key) of each axis; its name or root where there is no split."""
    gangs = create_parallel_gangs(Recorded(0, "root", range(size), rank), **axes)
    named = {name: gangs.at(name) for name in ("pp", "dp", "tp", "rdp", "sdp", *gangs.others)}
    return {name: gang if isinstance(gang, tuple) else gang.name for name, gang in named.items()}


class Layouts(unittest.TestCase):
    def test_each_axis_is_split_by_what_the_others_have_in_common(self):
        # (pp, dp, cp, tp) of 24 = 2 * 2 * 3 * 2; rank 17 is (1, 0, 2, 1).
        found = layout(17, 24, pp=2, tp=2, cp=3)
        self.assertEqual(found, {
            "pp": ("pp", 5, 1), "dp": ("dp", 17, 0), "cp": ("cp", 13, 2), "tp": ("tp", 16, 1),
            "rdp": ("dp", 17, 0), "sdp": "sdp"})

    def test_an_axis_of_one_is_a_stand_in_and_one_of_all_is_the_root(self):
        self.assertEqual(layout(1, 4), {"pp": "pp", "dp": "root", "tp": "tp", "rdp": "root",
                                        "sdp": "sdp"})
        self.assertEqual(layout(1, 4, tp=4)["tp"], "root")

    def test_sizes_that_do_not_fit_are_refused(self):
        for axes in ({"tp": 0}, {"pp": -2, "tp": -2}, {"cp": 0}, {"tp": 3}, {"tp": 2, "pp": 4}):
            with self.assertRaises(InvalidArgument):
                layout(0, 4, **axes)

    def test_sharded_gangs_are_neighbours_and_replicas_are_not(self):
        dp = Recorded(0, "dp", range(8), 5)
        gangs = Gangs(*[FakeGang(name=name) for name in ("root", "dp", "rdp", "sdp", "tp", "pp")])
        for name in ("dp", "rdp"):
            object.__setattr__(gangs, name, dp)
        made = create_fsdp_gangs(gangs, 4)
        self.assertEqual((made.sdp, made.rdp), (("sdp", 4, 1), ("rdp", 1, 1)))
        whole = create_fsdp_gangs(gangs)
        self.assertIs(whole.sdp, dp)
        self.assertEqual((whole.rdp.size, whole.rdp.name), (1, "rdp"))
        for size in (-1, 0, 1, 3, 16):
            with self.assertRaises(InvalidArgument):
                create_fsdp_gangs(gangs, size)

    def test_all_are_found_by_name_and_closed_the_root_last(self):
        closed = []

        class Noting(FakeGang):
            def close(self):
                closed.append(self.name)

        names = ("root", "dp", "rdp", "sdp", "tp", "pp", "cp")
        *own, other = [Noting(name=name) for name in names]
        gangs = Gangs(*own, {"cp": other})
        self.assertEqual([gangs.at(name).name for name in names], list(names))
        gangs.close()
        self.assertEqual((set(closed), closed[-1]), (set(names), "root"))


class Made(unittest.TestCase):
    """Gangs that the conductor makes."""

    def test_a_member_has_the_rank_that_the_conductor_gives_it(self):
        with recorded(4, 6, lambda operation: result(ranks=(5, 4, 2))) as connection:
            parent = gangsim.Gang(3, "some", (2, 4, 5), 1)
            for made in (parent.create_gang([2, 1, 0], "mine"), parent.split(0, 9, "mine"),
                         parent.shrink(name="mine")):
                self.assertEqual((made.ranks, made.rank, made.size, made.name),
                                 ([5, 4, 2], 1, 3, "mine"))
            self.assertNotEqual(parent.split(0).name, parent.split(0).name)
            asked = [(each.kind, each.first) for each in
                     (operation.fields for operation in connection.operations)]
        self.assertEqual(asked[:3], [(wire.CREATE_GANG, (2, 1, 0)), (wire.SPLIT, (0, 9)),
                                     (wire.SHRINK, ())])

    def test_who_is_no_member_gets_none(self):
        with recorded(1, 2):
            gang = gangsim.Gang(0, "root", range(2), 1)
            self.assertEqual((gang.create_gang([0]), gang.split()), (None, None))

    def test_the_grace_of_a_shrink_keeps_its_fraction(self):
        with recorded(0, 1, lambda operation: result(ranks=(0,))) as connection:
            gangsim.Gang(0, "root", range(1), 0).shrink(1.5)
        self.assertEqual(connection.operations[0].fields.first, (1_500_000_000,))

    def test_members_that_do_not_exist_are_refused_before_anything_is_sent(self):
        with recorded(0, 2) as connection:
            gang = gangsim.Gang(0, "root", range(2), 0)
            for ranks in ([], [0, 0], [0, 2], [-1]):
                with self.assertRaises(InvalidArgument):
                    gang.create_gang(ranks)
        self.assertEqual(connection.operations, [])

    def test_a_gang_is_closed_once_and_not_used_afterwards(self):
        with recorded(0, 2) as connection:
            gang = gangsim.Gang(7, "mine", range(2), 0)
            gang.abort()
            gang.close()
            gang.close()
            self.assertTrue(gang.is_closed)
            for call in (gang.barrier, gang.start_barrier, gang.split, gang.shrink,
                         lambda: gang.send(b"a", 1)):
                with self.assertRaises(InvalidOperation):
                    call()
        self.assertEqual(connection.frames, [wire.abort(7), wire.close(7)])
        self.assertEqual(connection.operations, [])

    def test_an_environment_of_another_launcher_is_no_run(self):
        known = {"RANK": "0", "WORLD_SIZE": "2"}
        kept = {name: value for name, value in os.environ.items() if name != process.SOCKET}
        with mock.patch.dict(os.environ, {**kept, **known}, clear=True), \
                mock.patch.object(process, "_process", process._Process()):
            with self.assertRaisesRegex(InvalidOperation, process.SOCKET):
                gangsim.root_gang()


if __name__ == "__main__":
    unittest.main()
