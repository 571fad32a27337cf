"""Calls of torch.distributed's process groups as the conductor hears of them, and their tensors."""

import sys
import threading
import types
import unittest
from unittest import mock

from package import has
from torch_recorded import SIZE, Recorded, needs_torch

from gangsim import wire
from gangsim.errors import InvalidArgument, NotSupported

if has("torch"):
    import torch
    import torch.distributed as dist

    from gangsim.torch import calls, group_making, reductions, sparse, tensors
    from gangsim.torch.reductions import reduction_name
    from gangsim.torch.tensors import Piece


def options(root=0, operation=None):
    return types.SimpleNamespace(rootRank=root, reduceOp=operation or dist.ReduceOp.SUM)


@needs_torch
class Calls(Recorded):
    def check(self, work, kind, count, inputs, outputs, **more):
        fields, given, got = self.asked(work)
        self.assertEqual((fields.kind, fields.count, given, got), (kind, count, inputs, outputs))
        for name, value in more.items():
            self.assertEqual(getattr(fields, name), value, name)

    def test_only_the_root_of_a_reduce_gets_the_result(self):
        for root, outputs in ((1, [8]), (2, [])):
            x = torch.ones(2)
            self.check(self.group.reduce([x], options(root, dist.ReduceOp.MAX)), wire.REDUCE, 2,
                       [8], outputs, peer=root, reduction=wire.REDUCTIONS["max"])

    def test_several_tensors_are_one_reduction(self):
        self.check(self.group.allreduce_coalesced([torch.ones(2), torch.ones(3)]), wire.ALL_REDUCE,
                   5, [8, 12], [8, 12], data_type=wire.F32)

    def test_a_broadcast_may_name_its_root_in_both_ways(self):
        for opts, inputs, outputs in ((1, [8], []), (options(1), [8], []), (2, [], [8]),
                                      (options(2), [], [8]), (None, [], [8])):
            work = self.group.broadcast([x := torch.ones(2)], opts)
            root = opts if isinstance(opts, int) else getattr(opts, "rootRank", 0)
            self.check(work, wire.BROADCAST, 2, inputs, outputs, peer=root)
            self.assertIs(work.result()[0], x)

    def test_messages_keep_their_tags(self):
        x = [torch.ones(2)]
        self.check(self.group.send(x, 2, 7), wire.SEND, 2, [8], [], peer=2, tag=7, flags=0)
        self.check(self.group.recv(x, 2, 7), wire.RECV, 2, [], [8], peer=2, tag=7, flags=0)
        self.check(self.group.recv_anysource(x, 7), wire.RECV, 2, [], [8], tag=7,
                   flags=wire.FROM_ANY)

    def test_chunks_of_types_that_are_moved_are_counted_in_bytes(self):
        for kind, data_type, scale in ((torch.int16, wire.U8, 2), (torch.complex64, wire.U8, 8),
                                       (torch.float64, wire.F64, 1)):
            work = self.group.alltoall_base(torch.ones(6, 2).to(kind), torch.ones(3, 2).to(kind),
                                            [1, 2, 3], [3, 0, 0])
            fields, _, _ = self.asked(work)
            self.assertEqual((fields.data_type, fields.count, fields.first, fields.second), (
                data_type, 6 * scale, (6 * scale, 0, 0), (2 * scale, 4 * scale, 6 * scale)))
        for work in (self.group.allgather([[torch.ones(2).to(torch.int16) for _ in range(3)]],
                                          [torch.ones(2).to(torch.int16)]),
                     self.group._allgather_base(torch.ones(6).to(torch.int16),
                                                torch.ones(2).to(torch.int16))):
            self.assertEqual(self.asked(work)[0].count, 4)

    def test_an_all_gather_of_different_sizes_is_nccls(self):
        outputs = [torch.ones(n).to(torch.int16) for n in (1, 2, 4)]
        source = torch.ones(2).to(torch.int16)
        with self.assertRaisesRegex(InvalidArgument, "have 1, 2 and 4 elements; with gloo all "):
            self.group.allgather([outputs], [source])
        with group_making.asking(backend="nccl"):
            group = self.make("1")
        fields, inputs, received = self.asked(group.allgather([outputs], [source]))
        self.assertEqual((fields.count, fields.first, inputs, received),
                         (4, (2, 4, 8), [4], [2, 4, 8]))
        with self.assertRaisesRegex(InvalidArgument, "output tensor 1 has 2 elements; must be 3"):
            group.allgather([outputs], [torch.ones(3).to(torch.int16)])

    def test_nccl_scatters_uneven_parts_by_a_reduce_of_each(self):
        with mock.patch.object(self.group, "_backend", "nccl"):
            output, parts = torch.empty(2), [torch.ones(1), torch.ones(2), torch.ones(3)]
            self.group.reduce_scatter([output], [parts], options(0, dist.ReduceOp.MAX)).wait()
        asked = [(each.fields.kind, each.fields.peer, each.fields.count, each.fields.reduction,
                  [len(view) for view in each.inputs], [len(view) for view in each.outputs])
                 for each in self.connection.operations[-3:]]
        highest = wire.REDUCTIONS["max"]
        self.assertEqual(asked, [(wire.REDUCE, 0, 1, highest, [4], []),
                                 (wire.REDUCE, 1, 2, highest, [8], [8]),
                                 (wire.REDUCE, 2, 3, highest, [12], [])])

    def test_lists_for_each_rank_are_transposed(self):
        lists = [[torch.empty(2), torch.empty(1)] for _ in range(SIZE)]
        self.group.allgather_coalesced(lists, [torch.ones(2), torch.ones(1)]).wait()
        self.assertEqual([[len(view) for view in each.outputs]
                          for each in self.connection.operations[-2:]], [[8] * 3, [4] * 3])

    def test_what_does_not_fit_is_refused(self):
        two, six, list_of = torch.ones(2), torch.ones(6), [torch.ones(2) for _ in range(SIZE)]
        uneven = [torch.ones(1), torch.ones(2), torch.ones(3)]
        for call in (lambda: self.group.gather([list_of[:2]], [two], options(1)),
                     lambda: self.group.scatter([two], [list_of[:2]], options(1)),
                     lambda: self.group.allgather([list_of[:2]], [two]),
                     lambda: self.group.allgather([uneven], [two]),
                     lambda: self.group._allgather_base(torch.ones(5), two),
                     lambda: self.group.reduce_scatter([two], [list_of[:2]]),
                     lambda: self.group.reduce_scatter([two], [uneven]),
                     lambda: self.group._reduce_scatter_base(two, torch.ones(5)),
                     lambda: self.group.alltoall_base(six, torch.ones(4)),
                     lambda: self.group.alltoall_base(torch.ones(4), six),
                     lambda: self.group.alltoall_base(six, six, [1, 2, 2], [2, 2, 2]),
                     lambda: self.group.alltoall_base(six, six, [3, 3], [2, 2, 2]),
                     lambda: self.group.allreduce_coalesced([two, two.double()]),
                     lambda: self.group.allgather([[two, two.int(), two]], [two])):
            with self.assertRaises(InvalidArgument):
                call()
        for call in (lambda: self.group.allreduce([two.to(torch.int16)]),
                     lambda: self.group.allreduce([two.to(torch.complex64)],
                                                  options(0, dist.ReduceOp.PRODUCT)),
                     lambda: self.group.allreduce([torch.ones(2, device="meta")]),
                     lambda: self.group.allreduce([torch.eye(2).to_sparse()],
                                                  options(0, dist.ReduceOp.MAX))):
            with self.assertRaises(NotSupported):
                call()
        self.assertEqual(self.connection.operations, [])

    def test_a_block_of_calls_is_one_work(self):
        self.group._start_coalescing()
        for x in (torch.ones(1), torch.ones(2)):
            self.group.allreduce([x])
        together = self.group._end_coalescing()
        self.assertEqual(self.connection.waits, [])
        together.wait()
        self.assertEqual((self.connection.waits, self.connection.dropped), ([[1, 2]], []))
        self.assertEqual([x.numel() for x in together.result()], [1, 2])
        self.group.allreduce([torch.ones(3)]).wait()  # is not part of the block
        self.assertEqual(self.connection.waits, [[1, 2], [3]])
        self.group._start_coalescing()
        alone = self.group.allreduce([torch.ones(1)])
        self.assertIsNone(self.group._end_coalescing([alone]))  # PyTorch 1 waits for each
        alone.wait()

    def test_every_sparse_tensor_of_a_call_is_summed(self):
        seen = []
        with mock.patch.object(sparse, "sum_in_place", lambda _, x: seen.append(x)):
            given = [torch.eye(2).to_sparse(), torch.eye(3).to_sparse()]
            self.assertTrue(self.group.allreduce(given).is_completed())
        self.assertEqual([x.shape[0] for x in seen], [2, 3])


@needs_torch
class Waiting(unittest.TestCase):
    """Which calls wait at once."""

    def in_torch(self, name, text, **space):
        exec(compile(f"def {name}(*arguments, async_op=False):\n    {text}\n", calls._FILE, "exec"),
             space)
        return space[name]

    def test_it_depends_on_who_calls(self):
        asks = {"is_blocking": lambda: calls.is_blocking_call(sys._getframe(1))}
        for name, named, expected in (
                ("all_reduce", {}, True), ("all_reduce", {"async_op": True}, False),
                ("barrier", {"async_op": True}, False), ("send", {}, True), ("recv", {}, True),
                ("isend", {}, False), ("new_function", {}, False)):
            ask = self.in_torch(name, "return is_blocking()", **asks)
            self.assertIs(ask(**named), expected, name)
        isend = self.in_torch("isend", "return is_blocking()", **asks)
        self.assertTrue(self.in_torch("send", "return isend()", isend=isend)())

        def send():  # of the program
            return isend()

        self.assertFalse(send())
        self.assertFalse(calls.is_blocking_call(sys._getframe()))

    def test_a_mode_that_calls_again_does_not_hide_who_calls(self):
        # As PyTorch 2.14 does where a torch function mode is on.
        def __torch_function__(function):
            return function(async_op=True, is_again=True)

        space = {"is_blocking": lambda: calls.is_blocking_call(sys._getframe(1)),
                 "__torch_function__": __torch_function__}
        for path, text in (
                (calls.overrides.__file__,
                 "def handle(function): return __torch_function__(function)"),
                (calls._FILE, "def all_reduce(async_op=False, is_again=False):\n"
                              "    return is_blocking() if is_again else handle(all_reduce)"),
                (calls._TORCH + "distributed/algorithms/join.py",
                 "def notify_join_context(): return all_reduce(async_op=True)\n"
                 "def other(): return all_reduce(async_op=True)\n")):
            exec(compile(text, path, "exec"), space)
        self.assertTrue(space["notify_join_context"]())
        self.assertFalse(space["other"]())

    def test_the_method_that_was_called_is_the_outermost(self):
        def outer():
            return inner()

        def inner():
            return calls.method_called_by(caller)

        caller = sys._getframe()
        self.assertEqual((outer(), inner()), ("outer", "inner"))


@needs_torch
class Tensors(unittest.TestCase):
    def test_the_elements_of_a_view_are_those_that_the_program_sees(self):
        x = torch.tensor([1 + 2j, 3 - 4j])
        for given in (x.conj(), x.conj().imag, x.conj().real, x[:1].conj().imag):
            piece = Piece(given)
            expected = given.clone().resolve_conj().resolve_neg().contiguous()
            self.assertEqual(bytes(piece.view), expected.numpy().tobytes())
        self.assertIsNone(Piece(x).staged)

    def test_an_output_that_was_copied_is_copied_back(self):
        leaf = torch.zeros(2, 3, requires_grad=True)
        piece = Piece(leaf.t())
        self.assertTrue(piece.is_still_there())
        piece.view[:] = torch.arange(6.0).numpy().tobytes()
        piece.finish()
        self.assertEqual(leaf.tolist(), [[0, 2, 4], [1, 3, 5]])
        whole = torch.zeros(4)
        piece = Piece(whole)
        whole.storage().resize_(0)
        self.assertFalse(piece.is_still_there())

    def test_every_change_of_small_tensors_is_seen_and_of_large_ones_at_both_ends(self):
        small, large = [torch.zeros(10), torch.zeros(7)], torch.zeros(100_001)
        pieces = [Piece(x) for x in small]
        for x in small:
            for at in (0, -1):
                before = tensors.digest(pieces)
                x[at] = 1
                self.assertNotEqual(tensors.digest(pieces), before)
        for changed in (slice(0, 1), slice(50_000, 60_000), slice(-1, None)):
            before = tensors.digest([Piece(large)])
            large[changed] = 1
            self.assertNotEqual(tensors.digest([Piece(large)]), before)

    def test_types_are_the_gangs(self):
        for name, kind in (("bool", wire.BOOL), ("uint8", wire.U8), ("int8", wire.I8),
                           ("int32", wire.I32), ("int64", wire.I64), ("float16", wire.F16),
                           ("bfloat16", wire.BF16), ("float32", wire.F32), ("float64", wire.F64),
                           ("int16", None), ("complex64", None)):
            piece = Piece(torch.ones(2, dtype=getattr(torch, name)))
            self.assertEqual((piece.data_type, len(piece.view)),
                             (kind, 2 * piece.tensor.element_size()), name)

    def test_each_reduction_is_that_of_its_name(self):
        names = {"SUM": "sum", "PRODUCT": "product", "MIN": "min", "MAX": "max", "BAND": "band",
                 "BOR": "bor", "BXOR": "bxor"}
        if hasattr(dist.ReduceOp, "AVG"):
            names["AVG"] = "mean"
        for name, ours in names.items():
            self.assertEqual(reduction_name(options(0, getattr(dist.ReduceOp, name)), torch.int32,
                                            "nccl"), ours)
        of_flags = {"SUM": "bor", "MAX": "bor", "PRODUCT": "band", "MIN": "band", "BXOR": "bxor"}
        for name, ours in of_flags.items():
            self.assertEqual(reduction_name(getattr(dist.ReduceOp, name), torch.bool, "gloo"), ours,
                             name)
        self.assertEqual(reduction_name(None, torch.float32, "gloo"), "sum")

    def test_gloo_averages_since_2_8(self):
        if not hasattr(dist.ReduceOp, "AVG"):
            self.skipTest("this PyTorch has no AVG")
        self.assertEqual(reductions._HAS_GLOO_AVG,
                         [int(part) for part in torch.__version__.split(".")[:2]] >= [2, 8])
        with mock.patch.object(reductions, "_HAS_GLOO_AVG", True):
            self.assertEqual(reduction_name(dist.ReduceOp.AVG, torch.float32, "gloo"), "mean")
        with mock.patch.object(reductions, "_HAS_GLOO_AVG", False):
            for backend in ("gloo", "cpu:gloo,cuda:nccl", ""):
                with self.assertRaisesRegex(NotSupported, "Cannot use ReduceOp.AVG with Gloo"):
                    reduction_name(dist.ReduceOp.AVG, torch.float32, backend)
            for backend in ("nccl", "mpi", "cpu:nccl"):
                self.assertEqual(reduction_name(dist.ReduceOp.AVG, torch.float32, backend), "mean")


class Meeting:
    """The process group of one of several threads, for gathers."""

    def __init__(self, size):
        self._barrier, self._given = threading.Barrier(size, timeout=20), [None] * size
        self._rank = threading.local()

    def size(self):
        return len(self._given)

    def be(self, rank):
        self._rank.number = rank

    def allgather(self, outputs, inputs):
        self._given[self._rank.number] = inputs[0]
        self._barrier.wait()
        for output, given in zip(outputs[0], self._given):
            output.copy_(given.detach())
        self._barrier.wait()
        return types.SimpleNamespace(wait=lambda: True)


@needs_torch
class Sparse(unittest.TestCase):
    def test_the_sum_has_the_elements_of_all_ranks_and_no_others(self):
        # The last row is empty, and ranks have different numbers of elements.
        given = [torch.sparse_coo_tensor([[1], [2]], [1.0], (4, 3)),
                 torch.sparse_coo_tensor([[1, 2, 2], [2, 1, 1]], [10.0, 20.0, 30.0], (4, 3)),
                 torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), [], (4, 3))]
        expected = sum(each.to_dense() for each in given)
        meeting = Meeting(len(given))

        def rank(number):
            meeting.be(number)
            sparse.sum_in_place(meeting, given[number])

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(len(given))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in given:
            self.assertTrue(torch.equal(each.to_dense(), expected))
            self.assertEqual((each.is_coalesced(), each._nnz(), tuple(each.shape)),
                             (True, 2, (4, 3)))


if __name__ == "__main__":
    unittest.main()
