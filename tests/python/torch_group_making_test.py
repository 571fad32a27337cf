"""How the groups of torch.distributed come to be, and what they are then."""

import types
import unittest
from datetime import timedelta
from unittest import mock

from package import has
from torch_recorded import SIZE, Recorded, needs_torch

from gangsim import process, wire
from gangsim.errors import InvalidOperation

if has("torch"):
    import torch

    from gangsim.torch import group_making


@needs_torch
class Groups(Recorded):
    def test_the_first_group_of_all_ranks_is_the_gang_of_all(self):
        other, some = self.make("1"), self.make("2", (0, 1))
        self.assertEqual(self.group._number, 0)
        self.assertEqual(len({self.group._number, other._number, some._number}), 3)
        self.assertEqual([(fields.number("I"), fields.text()) for fields
                          in self.connection.told(wire.GROUP)],
                         [(0, ""), (other._number, "1"), (some._number, "2")])

    def test_the_gang_of_all_ranks_stays_open(self):
        other = self.make("1")
        for group in (self.group, other):
            group.closed_by_program()
        self.assertEqual([fields.number("I") for fields in self.connection.told(wire.CLOSE)],
                         [other._number])

    def test_a_group_that_was_destroyed_refuses_calls(self):
        other = self.make("1")
        other.closed_by_program()
        other.closed_by_program()
        other.abort()
        for call in (lambda: other.allreduce([torch.ones(1)]), other.barrier,
                     other.monitored_barrier):
            with self.assertRaisesRegex(InvalidOperation, r"group 1 of ranks \[0, 1, 2\] was "
                                        r"destroyed at torch_group_making_test.py:\d+"):
                call()
        self.assertEqual(len(self.connection.told(wire.CLOSE)), 1)
        self.assertEqual(self.connection.told(wire.ABORT), [])
        self.assertEqual(self.connection.operations, [])

    def created(self, ranks, rank=1, size=SIZE):
        return group_making.create(types.SimpleNamespace(
            global_ranks_in_group=ranks, group_rank=rank, group_size=size, group_id="5",
            timeout=timedelta(seconds=1.5)), None)

    def test_a_group_for_mpi_which_tells_ranks_is_of_all(self):
        group = self.created([], -1, -1)
        self.assertEqual((group.rank(), group.size(), group._ranks), (1, 3, (0, 1, 2)))

    def test_groups_of_a_later_init_have_names_of_their_own(self):
        process.identity().inits = 0
        names = [self.created(ranks).group_name for ranks in ([], [0, 1], [], [0, 1])]
        self.assertEqual(names, ["5", "5", "5 of init 2", "5 of init 2"])
        fields = self.connection.told(wire.GROUP)[-1]
        fields.number("I"), fields.text(), fields.text(), fields.ranks()
        self.assertEqual(fields.number("q"), 1_500_000_000)
        self.assertEqual([self.group.name_of_split() for _ in range(2)],
                         ["0/split 1", "0/split 2"])

    def test_what_a_group_supports_depends_on_its_backend(self):
        with group_making.asking(backend="nccl"):
            of_gpus = self.make("1")
        for group, supports in ((self.group, False), (of_gpus, True)):
            self.assertEqual((group.supports_coalescing, group.supports_shrinking), (supports,) * 2)

    def test_a_group_is_shrunk_to_those_that_are_left(self):
        with group_making.asking(backend="nccl"):
            group = self.make("1")
        left = group.shrink([0])
        self.assertEqual((left.group_name, left.rank(), left._ranks, left._get_backend_name()),
                         ("1/without [0]", 0, (1, 2), "nccl"))
        fields = self.connection.told(wire.GROUP)[-1]
        self.assertEqual((fields.number("I"), fields.text(), fields.text(), list(fields.ranks()),
                          fields.number("q")),
                         (left._number, "1/without [0]", "shrunk", [1, 2], 10 ** 9))
        self.assertEqual(self.connection.told(wire.ABORT), [])
        alone = left.shrink([1], 1)
        self.assertEqual((alone.rank(), alone._ranks), (0, (1,)))
        self.assertEqual([each.number("I") for each in self.connection.told(wire.ABORT)],
                         [left._number])

    def test_ranks_are_counted_anew_once_the_default_group_is_shrunk(self):
        with mock.patch.object(group_making, "c10d") as names:
            names.GroupMember.WORLD = None
            self.assertEqual(group_making.ranks_of_run([0, 2]), [0, 2])
            names.GroupMember.WORLD = self.group.shrink([0])
            self.assertEqual(group_making.ranks_of_run([1, 0]), [2, 1])
            self.assertEqual(self.created([0, 1], 0)._ranks, (1, 2))

    def test_a_monitored_barrier_has_its_timeout_and_tells_of_all_or_one(self):
        self.group.monitored_barrier(timedelta(milliseconds=2500), True)
        self.assertEqual((self.asked()[0].count, self.asked()[0].flags),
                         (2_500_000_000, wire.ALL_MISSING))
        self.group.monitored_barrier(timedelta(seconds=1))
        self.assertEqual((self.asked()[0].count, self.asked()[0].flags), (10 ** 9, 0))


if __name__ == "__main__":
    unittest.main()
