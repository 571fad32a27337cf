"""How torch.distributed becomes gangsim's: its groups, its stores and its errors."""

import os
import sys
import types
import unittest
from datetime import timedelta
from unittest import mock

from package import has
from recording_connection import recorded

from gangsim import process, wire
from gangsim.errors import GangError, GangFailure, InvalidArgument, InvalidOperation, NotSupported
from gangsim.operation import Operation

needs_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
if has("torch"):
    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as c10d

    from gangsim.torch import coalescing, cuda_as_cpu, errors, redirect, store

PLACE = wire.site("train.py", 1, "step")


class Told:
    """A connection that keeps the groups of which it is told."""

    def __init__(self):
        self.groups = []

    def say(self, frame):
        (kind, view), = wire.split_frames(frame)
        assert kind == wire.NEW_GROUP
        fields = wire.Fields(view)
        self.groups.append((fields.number("I"), fields.text(), fields.ranks()))


@needs_torch
class Groups(unittest.TestCase):
    def test_all_ranks_tell_of_all_groups(self):
        told = Told()
        with recorded(3, 4), mock.patch.object(process, "connection", lambda: told):
            process.identity().inits = 2
            redirect._tell_of_group("1", [0, 1])
        self.assertEqual(told.groups, [(2, "1", (0, 1))])

    def made(self, original_result=object(), **named):
        """What PyTorch's function is asked for, and the groups that are told."""
        asked, told = {}, []

        def original(group_size, group_rank, global_ranks_in_group, backend, store,
                     pg_options=None, group_name=None, group_desc=None, device_id=None):
            asked.update(backend=backend, pg_options=pg_options, device_id=device_id,
                         role=process_group().making.role)
            return original_result

        with mock.patch.object(redirect, "_tell_of_group", lambda *given: told.append(given)), \
                mock.patch.object(redirect, "prepare"), \
                mock.patch.object(c10d, "_group_count", 6, create=True):
            made = redirect._group_maker(original)(2, 0, named.pop("ranks", [0, 2]), "nccl", None,
                                                   **named)
        self.assertIs(made, original_result)
        self.assertEqual(process_group().making.role, "")
        return asked, told

    def test_a_group_is_ours_whatever_it_was_asked_to_be(self):
        asked, told = self.made(pg_options=3, device_id=4, group_desc="mesh_dp")
        self.assertEqual(asked, {"backend": "gangsim", "pg_options": None, "device_id": None,
                                 "role": "mesh_dp"})
        self.assertEqual(told, [("6", [0, 2])])
        self.assertEqual(self.made(group_name="mine")[1], [("mine", [0, 2])])
        self.assertEqual(self.made(ranks=[]), ({"backend": "gangsim", "pg_options": None,
                                                "device_id": None, "role": ""}, []))
        for unknown in ("undefined", "default_pg"):
            self.assertEqual(self.made(group_desc=unknown)[0]["role"], "")

    def test_the_backend_is_the_one_that_was_asked_for(self):
        group, kept = object(), object()
        with mock.patch.object(c10d, "_world", None, create=True), \
                mock.patch.object(c10d, "_pg_map", {group: ("gangsim", kept)}, create=True):
            redirect._rename(group, "nccl")
            self.assertEqual(c10d._pg_map, {group: ("nccl", kept)})

    def test_only_what_is_destroyed_is_closed(self):
        groups = [mock.Mock(), mock.Mock()]
        known = dict.fromkeys(groups)
        # PyTorch 1 has no _world.
        world = mock.Mock(pg_map=known, default_pg=groups[0]) if hasattr(c10d, "_world") else None
        with mock.patch.object(c10d, "_world", world, create=True), \
                mock.patch.object(c10d, "_pg_map", known, create=True):
            original = mock.Mock()
            destroy = redirect._destroyer(original)
            destroy(groups[1])
            self.assertEqual([group.closed_by_program.call_count for group in groups], [0, 1])
            destroy()
            self.assertEqual([group.closed_by_program.call_count for group in groups], [1, 2])
            self.assertEqual(original.call_args_list, [mock.call(groups[1]), mock.call(None)])

    def test_a_split_is_made_of_ranks_of_the_group_that_is_split(self):
        parent = mock.Mock(**{"name_of_split.return_value": "0/split 1"})
        names, made = [], mock.Mock()

        def new_group(ranks, **_):
            names.append(process_group().making.name)
            return made(ranks)

        with mock.patch.multiple(dist, get_rank=lambda group=None: 1 if group is parent else 5,
                                 get_global_rank=lambda _, rank: rank + 4, new_group=new_group,
                                 create=True):
            split = redirect._splitter(None)
            self.assertIs(split(parent, [[0, 2], [3, 1]]), made.return_value)
            self.assertIsNone(split(parent, [[0, 2], [5]]))
            with self.assertRaises(ValueError):
                split(parent, [])
        made.assert_called_once_with([5, 7])
        self.assertEqual((names, process_group().making.name), (["0/split 1"], ""))


def process_group():
    from gangsim.torch import process_group as module
    return module


@needs_torch
class Beginnings(unittest.TestCase):
    def test_the_rank_is_that_of_the_call_or_the_url_or_the_run(self):
        for url, given, expected in (
                ("env://", (), (2, 4)), ("env://", (2, 4), (2, 4)), ("env://", (-1, -1), (2, 4)),
                ("env://", (None, None), (2, 4)), ("tcp://h:1?rank=2&world_size=4", (), (2, 4)),
                ("tcp://h:1?rank=-1&world_size=-1", (2, 4), (2, 4))):
            with recorded(2, 4):
                found, *numbers = next(redirect._rendezvous(None)(url, *given))
            self.assertEqual(tuple(numbers), expected, (url, given))
            self.assertIsInstance(found, store.Store)
        for url, given in (("env://", (1, 4)), ("tcp://h:1?rank=1&world_size=4", ()),
                           ("tcp://h:1?rank=2&world_size=5", ()), ("env://", (2, 5))):
            with recorded(2, 4), self.assertRaises(InvalidArgument):
                next(redirect._rendezvous(None)(url, *given))

    def test_a_forked_process_cannot_begin(self):
        original = mock.Mock()
        with mock.patch.object(process, "_process", process._Process()), \
                mock.patch.object(process, "_local", types.SimpleNamespace()), \
                mock.patch.dict(os.environ, {process.SOCKET: "/nowhere"}):
            process._process.forked_from = 3
            with self.assertRaisesRegex(InvalidOperation, "forked from rank 3"):
                redirect._initializer(original)("gloo")
        original.assert_not_called()

    def test_new_groups_wait_for_all_ranks(self):
        group = mock.Mock()
        with mock.patch.object(c10d, "_get_default_group", lambda: group):
            redirect._barrier(None)(0, None)
        group.labelled_barrier.assert_called_once_with("new_group")

    def test_everything_is_replaced_once(self):
        for is_rank in (False, True):
            with mock.patch.multiple(redirect, _installed=False, _replace=mock.DEFAULT,
                                     _put=mock.DEFAULT, _stand_in_for_nccl=mock.DEFAULT), \
                    mock.patch.multiple(process, explain_with=mock.DEFAULT,
                                        hook_exceptions=mock.DEFAULT, is_rank=lambda: is_rank), \
                    mock.patch.object(redirect.call_site, "skip"):
                redirect.install()
                count = redirect._replace.call_count
                redirect.install()
                self.assertEqual(redirect._replace.call_count, count)
                self.assertEqual(process.hook_exceptions.call_count, is_rank)
                process.explain_with.assert_called_once_with(cuda_as_cpu.hint)

    def test_scripts_for_nccl_find_its_names(self):
        names = types.SimpleNamespace(default_pg_nccl_timeout=None)
        with mock.patch.object(dist, "is_nccl_available", lambda: False), \
                mock.patch.object(dist, "ProcessGroupNCCL", None, create=True):
            redirect._stand_in_for_nccl(names)
            self.assertIn(len(torch.cuda.nccl.version()), (3, 4))
            self.assertTrue(dist.is_nccl_available() and names.is_nccl_available())
            self.assertIs(dist.ProcessGroupNCCL, names.ProcessGroupNCCL)
            options = names.ProcessGroupNCCL.Options(is_high_priority_stream=True)
        self.assertTrue(options.is_high_priority_stream)
        hashed = torch._C._distributed_c10d._hash_tensors  # what PyTorch logs of objects
        self.assertEqual(hashed([torch.arange(3)]), hashed([torch.arange(3)]))
        self.assertNotEqual(hashed([torch.arange(3)]), hashed([torch.arange(4)]))
        self.assertEqual(names.default_pg_nccl_timeout, timedelta(minutes=10))

    def test_rpc_is_refused(self):
        rpc = types.ModuleType("torch.distributed.rpc")
        with mock.patch.dict(sys.modules, {"torch.distributed.rpc": rpc}):
            redirect.refuse_rpc()
            with self.assertRaises(NotSupported):
                rpc.init_rpc("worker", rank=0)

    def test_only_ranks_have_our_stores(self):
        class Original:
            def __init__(self, *given, **named):
                self.given = given

        chosen = redirect._store_class("FileStore", Original)
        for is_simulated, is_rank, kind in ((True, True, store.FileStore), (True, False, Original),
                                            (False, True, Original)):
            with mock.patch.multiple(process, is_simulated=lambda: is_simulated,
                                     is_rank=lambda: is_rank):
                made = chosen("path", 2)
            self.assertIs(type(made), kind)
            self.assertIsInstance(made, chosen)
        self.assertNotIsInstance(3, chosen)


@needs_torch
class Stores(unittest.TestCase):
    def setUp(self):
        context = recorded(0, 2)
        self.connection = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def asked(self, call, *answer):
        """Function, number, keys, values, timeout and threads of what `call` asks the conductor."""
        self.connection.stored = answer or (0, [])
        del self.connection.frames[:]
        found, asked = call(), []
        for fields in self.connection.told(wire.STORE):
            asked.append((fields.number("B"), fields.number("q"), fields.blobs(), fields.blobs(),
                          fields.number("q"), list(fields.ranks())))
        return found, asked

    def check(self, call, answer, found, *asked):
        with mock.patch.object(process, "silent_threads", lambda: [3]):
            self.assertEqual(self.asked(call, *answer), (found, [(*each, [3]) for each in asked]))

    def test_each_function_is_the_conductors(self):
        own = store.Store("p/")
        self.check(lambda: own.set("k", "v"), (0, []), None, (wire.SET, 0, [b"p/k"], [b"v"], 0))
        self.check(lambda: own.get("k"), (0, [b"v"]), b"v", (wire.GET, 0, [b"p/k"], [], 0))
        self.check(lambda: own.add("k", -5), (7, []), 7, (wire.ADD, -5, [b"p/k"], [], 0))
        self.check(lambda: own.wait(["k", "l"]), (0, []), None,
                   (wire.WAIT_KEYS, 0, [b"p/k", b"p/l"], [], 0))
        self.check(lambda: own.wait(["k"], timedelta(days=1, milliseconds=1500)), (0, []), None,
                   (wire.WAIT_KEYS, 0, [b"p/k"], [], 86_401_500_000_000))
        for number in (0, 1):
            self.check(lambda: own.check(["k", "l"]), (number, []), bool(number),
                       (wire.CHECK, 0, [b"p/k", b"p/l"], [], 0))
            self.check(lambda: own.delete_key("k"), (number, []), bool(number),
                       (wire.DELETE, 0, [b"p/k"], [], 0))
        self.check(own.num_keys, (4, []), 4, (wire.COUNT, 0, [], [], 0))
        self.check(lambda: own.compare_set("k", "a", b"b"), (0, [b"b"]), b"b",
                   (wire.COMPARE_SET, 0, [b"p/k"], [b"a", b"b"], 0))
        self.check(lambda: own.append("k", "v"), (0, []), None,
                   (wire.APPEND, 0, [b"p/k"], [b"v"], 0))
        self.check(lambda: own.multi_get(["k", "l"]), (0, [b"v"]), [b"v", b"v"],
                   (wire.GET, 0, [b"p/k"], [], 0), (wire.GET, 0, [b"p/l"], [], 0))
        self.check(lambda: own.multi_set(["k", "l"], ["v", "w"]), (0, []), None,
                   (wire.SET, 0, [b"p/k"], [b"v"], 0), (wire.SET, 0, [b"p/l"], [b"w"], 0))

    def test_a_store_waits_as_long_as_it_was_told(self):
        def timeouts_in_s(made):
            _, asked = self.asked(lambda: (made.get("k"), made.wait(["k"]),
                                           made.wait(["k"], timedelta(seconds=1))), 0, [b"v"])
            return [timeout / 1e9 for *_, timeout, _ in asked]

        made = store.TCPStore("h", 29500, timeout=timedelta(seconds=2))
        self.assertEqual((made.timeout, timeouts_in_s(made)), (timedelta(seconds=2), [2, 2, 1]))
        made = store.TCPStore("h", 29500, None, False, timedelta(seconds=3))
        self.assertEqual(timeouts_in_s(made), [3, 3, 1])
        made.set_timeout(timedelta(seconds=4))
        self.assertEqual((made.timeout, timeouts_in_s(made)), (timedelta(seconds=4), [4, 4, 1]))
        made = store.TCPStore("h", 29500)
        self.assertEqual((made.timeout, timeouts_in_s(made)), (timedelta(seconds=300), [0, 0, 1]))
        made = store.RendezvousStore()
        for set_timeout in (made.set_timeout, made.setTimeout):
            set_timeout(timedelta(minutes=30))  # as init_process_group does
            self.assertEqual((made.timeout, timeouts_in_s(made)),
                             (timedelta(minutes=30), [0, 0, 1]))

    def test_stores_of_one_port_or_file_are_one_and_others_are_others(self):
        def keys_of(make):
            return self.asked(lambda: make().set("k", "v"), 5, [])[1][-1][2]

        self.assertEqual(keys_of(lambda: store.TCPStore("h", 29500)), [b"tcp/29500\0k"])
        self.assertEqual(keys_of(lambda: store.FileStore("/a")), [b"file//a\0k"])
        made, asked = self.asked(lambda: store.TCPStore("h", 0), 5, [])
        self.assertEqual([(function, number) for function, number, *_ in asked], [(wire.ADD, 1)])
        self.assertEqual(made.port, 49152 + 5)

    def test_a_store_waits_for_its_workers_unless_told_not_to(self):
        for count, functions in ((2, [wire.ADD, wire.ADD, wire.WAIT_KEYS]),
                                 (3, [wire.ADD, wire.ADD, wire.SET, wire.WAIT_KEYS])):
            _, asked = self.asked(lambda: store.TCPStore("h", 1, 3), count, [])
            self.assertEqual([function for function, *_ in asked], functions)
        for given in ((3, False, timedelta(1), False), (None,)):
            self.assertEqual(self.asked(lambda: store.TCPStore("h", 1, *given))[1], [])

    def test_errors_are_raised(self):
        def fail(_):
            raise GangError("late", "timeout")

        own = store.Store()
        self.connection.store = fail
        with self.assertRaisesRegex(RuntimeError, "late") as caught:
            own.get("k")
        self.assertEqual(caught.exception.kind, "timeout")


@needs_torch
class Errors(unittest.TestCase):
    def test_they_are_pytorchs_and_keep_what_they_know(self):
        class Base(RuntimeError):
            pass

        both = errors._with_base(Base, GangError)
        with mock.patch.multiple(errors, _GANG_ERROR=both, _STORE_ERROR=both,
                                 _FAILURE=errors._with_base(Base, GangFailure)):
            for turn in (errors.as_torch, errors.as_store_error):
                found = turn(GangError("late", "timeout"))
                self.assertIsInstance(found, Base)
                self.assertIsInstance(found, GangError)
                self.assertEqual((str(found), found.kind), ("late", "timeout"))
                over = turn(GangFailure("over"))
                self.assertTrue(isinstance(over, Base) and isinstance(over, GangFailure))
                self.assertEqual(str(over), "over")
                other = InvalidArgument("wrong")
                self.assertIs(turn(other), other)
        self.assertIs(errors._with_base(None, GangError), GangError)


@needs_torch
class Blocks(unittest.TestCase):
    def findings(self, open_groups, group, operations=1):
        made = [Operation(0, wire.BARRIER, PLACE) for _ in range(operations)]
        state = types.SimpleNamespace(pg_coalesce_state=dict.fromkeys(open_groups))
        with recorded(1, 2) as connection, mock.patch.object(coalescing, "_HAS_BLOCKS", True), \
                mock.patch.object(c10d, "_world", state, create=True):
            coalescing.check(group, made)
        return [(fields.text(), (fields.text(), fields.ranks())[1])
                for fields in connection.told(wire.FINDING)]

    def test_only_a_call_of_another_group_is_a_finding(self):
        one, other = mock.Mock(group_name="1"), mock.Mock(group_name="2")
        self.assertEqual(self.findings([one], other), [("mismatch_gang", (1,))])
        self.assertEqual(self.findings([one], one), [])
        self.assertEqual(self.findings([], one), [])
        self.assertEqual(self.findings([one], other, operations=0), [])


if __name__ == "__main__":
    unittest.main()
