"""Ranks that are threads of one process: whose turn it is, and what each rank has of its own."""

import os
import random
import sys
import threading
import types
import unittest
from unittest import mock

from package import has
from recording_connection import RecordingConnection

from gangsim import process
from gangsim.errors import InvalidArgument, NotSupported

needs_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
if has("torch"):
    import torch
    import torch.distributed as dist

    from gangsim.torch import threads, turns


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(20)
    return found[0]


class EndOfTime(Exception):
    """Ends a loop that has no end."""


class Clock:
    """Time in which the process uses a share of each second, and which ends after some sleeps."""

    def __init__(self, share, sleeps=1):
        self.now, self._share, self._left = 100.0, share, sleeps

    def monotonic(self):
        return self.now

    def process_time(self):
        return self._share * self.now

    def sleep(self, seconds):
        if not self._left:
            raise EndOfTime
        self._left -= 1
        self.now += seconds


@needs_torch
class Turns(unittest.TestCase):
    def setUp(self):
        self.turn = turns.Turn(threading.current_thread())
        state = turns.ProcessState()
        self.addCleanup(state.restore)
        self.addCleanup(lambda: self.turn.give_away() if self.is_mine() else None)

    def is_mine(self):
        return turns._holding.turn is self.turn

    def test_one_at_a_time_has_it(self):
        self.turn.take()
        self.assertTrue(self.is_mine())
        self.assertFalse(turns._baton.acquire(blocking=False))
        self.turn.give_away()
        self.assertIsNone(turns._holding.turn)
        self.assertTrue(turns._baton.acquire(blocking=False))
        turns._baton.release()

    def test_other_threads_of_a_rank_need_none(self):
        self.turn.take()
        self.assertTrue(in_thread(lambda: (self.turn.give_away(), self.turn.take(), True)[-1]))
        self.assertTrue(self.is_mine())

    def test_one_that_was_taken_away_is_not_given_away(self):
        self.turn.take()
        self.turn._lose()

        def take():
            own = turns.Turn(threading.current_thread())
            own.take()
            return own

        other = in_thread(take)
        self.turn.give_away()
        self.assertIs(turns._holding.turn, other)
        other._lose()

    def test_it_comes_back_after_what_blocks_even_if_that_fails(self):
        self.turn.take()
        with self.assertRaises(KeyError):
            with turns.given_away():
                self.assertIsNone(turns._holding.turn)
                raise KeyError
        self.assertTrue(self.is_mine())

        def block():
            with turns.given_away():  # is not this thread's
                return self.is_mine()

        self.assertTrue(in_thread(block))
        self.turn.give_away()
        with turns.given_away():
            pass
        self.assertIsNone(turns._holding.turn)

    def test_each_has_its_own_random_numbers_and_main_module(self):
        numpy, states = types.SimpleNamespace(), []
        numpy.random = types.SimpleNamespace(get_state=lambda: len(states),
                                             set_state=states.append)
        own, other = types.ModuleType("__main__"), types.ModuleType("__main__")
        with mock.patch.dict(sys.modules, {"numpy": numpy, "__main__": own}):
            self.turn.take()
            sys.modules["__main__"] = own
            torch.manual_seed(1)
            random.seed(1)
            expected = self.numbers()
            torch.manual_seed(1)
            random.seed(1)
            states.clear()
            self.turn.give_away()
            torch.manual_seed(2)
            random.seed(2)
            sys.modules["__main__"] = other
            self.turn.take()
            self.assertEqual(self.numbers(), expected)
            self.assertIs(sys.modules["__main__"], own)
            self.assertEqual(states, [0])
            self.turn.give_away()

    def numbers(self):
        return torch.rand(1).item(), random.random()

    def test_it_is_taken_from_who_holds_it_and_computes_nothing(self):
        for share, since, sleeps, is_mine in ((0.0, 99.0, 1, False), (1.0, 99.0, 1, True),
                                              (0.04, 99.0, 1, False), (0.06, 99.0, 1, True),
                                              (0.0, 100.1, 1, True), (0.0, 100.1, 2, False)):
            self.turn.take()
            turns._holding.since = since
            with mock.patch.object(turns, "time", Clock(share, sleeps)):
                with self.assertRaises(EndOfTime):
                    turns._take_away_from_the_blocked()
            self.assertEqual(self.is_mine(), is_mine, (share, since))
            self.turn.give_away()

    def test_one_thread_watches_all_runs(self):
        with mock.patch.object(turns, "_watcher", None), \
                mock.patch.object(turns, "_take_away_from_the_blocked", threading.Event().wait):
            turns.watch()
            watcher = turns._watcher
            turns.watch()
            self.assertIs(turns._watcher, watcher)


class StuckRank:
    """Stands for a rank's thread, which ends at the given look at it, if ever."""

    def __init__(self, looks, knows_end):
        self._looks, self.knows_end, self.joined = looks, knows_end, 0

    def is_alive(self):
        self._looks -= 1
        return self._looks > 0

    def join(self, _):
        self.joined += 1
        if self.joined > 1000:
            raise EndOfTime


@needs_torch
class Ranks(unittest.TestCase):
    def test_one_that_is_stuck_is_left_soon_after_the_end_of_the_run(self):
        with mock.patch.object(threads, "_GRACE_SECONDS", 0.0):
            stuck = StuckRank(1 << 30, False)
            threads._await([stuck, StuckRank(0, True)])
            self.assertLess(stuck.joined, 10)
        late = StuckRank(100, False)
        threads._await([late, StuckRank(0, False)])
        self.assertEqual(late.joined, 99)

    def test_one_has_ended_well_if_its_program_has(self):
        rank = threads._Rank(lambda: None, 0, 1)
        for error, is_well in ((None, True), (SystemExit(), True), (SystemExit(0), True),
                               (SystemExit(3), False), (SystemExit("why"), False),
                               (ValueError(), False)):
            rank.error = error
            self.assertEqual(rank.has_ended_well, is_well, error)
        rank.error = None
        with mock.patch.object(rank, "is_alive", lambda: True):
            self.assertFalse(rank.has_ended_well)

    def test_each_finds_its_own_numbers_in_the_environment(self):
        kind = os.environ.__class__
        thread = threading.current_thread()
        with mock.patch.dict(os.environ, RANK="7", LOCAL_RANK="7", OTHER="x"):
            os.environ.__class__ = threads._EnvironmentOfThread
            try:
                self.assertEqual([os.environ[name] for name in ("RANK", "LOCAL_RANK")], ["7", "7"])
                thread.gangsim_rank = process.Identity(3, 4)
                self.assertEqual([os.environ[name] for name in ("RANK", "LOCAL_RANK", "OTHER")],
                                 ["3", "3", "x"])
                self.assertEqual(os.environ.get("LOCAL_RANK"), "3")
            finally:
                del thread.gangsim_rank
                os.environ.__class__ = kind

    def test_each_has_a_world_of_its_own(self):
        class World:
            def __init__(self):
                self._groups, self._count = {"": 1}, 5

            groups = property(lambda own: own._groups)
            names = property(lambda own: [*own._groups])
            count = property(lambda own: own._count)
            default = property(lambda own: None)

            @property
            def computed(self):
                raise RuntimeError("there is no group yet")

        world = threads._WorldOfRank(World())
        thread = threading.current_thread()
        self.addCleanup(lambda: vars(thread).pop("gangsim_rank", None))
        found = []
        for rank in (process.Identity(0, 2), process.Identity(1, 2)):
            thread.gangsim_rank = rank
            found.append((dict(world.groups), world.names, world.count, world.default))
            world.groups["mine"], world.count, world.default = rank.rank, rank.rank + 1, rank
            found.append((dict(world.groups), world.count, world.default is rank))
        self.assertEqual(found, [({}, [], 0, None), ({"mine": 0}, 1, True),
                                 ({}, [], 0, None), ({"mine": 1}, 2, True)])


@needs_torch
class Runs(unittest.TestCase):
    def test_nothing_of_a_run_is_left_behind(self):
        c10d, kept = dist.distributed_c10d, (threading.Thread.start, threading.Thread.join)
        isolated, world = [], object()
        environment = {name: value for name, value in os.environ.items() if name != process.SOCKET}
        with mock.patch.object(c10d, "_world", world, create=True), \
                mock.patch.object(torch._C._distributed_c10d, "_set_thread_isolation_mode",
                                  isolated.append, create=True), \
                mock.patch.object(turns, "watch"), \
                mock.patch.object(process, "_process", process._Process()), \
                mock.patch.dict(os.environ, environment, clear=True):
            process._process.watcher, process._process.own_threads = object(), 2
            random.seed(1)
            expected = random.random()
            random.seed(1)
            with threads._ThreadWorlds("/socket"):
                self.assertEqual(os.environ[process.SOCKET], "/socket")
                self.assertIsNot(c10d._world, world)
                random.seed(2)
                rank = process.Identity(1, 2)
                found = in_thread(lambda: self.started_by(rank))
            self.assertEqual(found, rank)
            self.assertNotIn(process.SOCKET, os.environ)
            self.assertIs(c10d._world, world)
            self.assertEqual((threading.Thread.start, threading.Thread.join), kept)
            self.assertEqual((process._process.watcher, process._process.own_threads), (None, 1))
            self.assertEqual((isolated, random.random()), ([True, False], expected))

    def started_by(self, rank):
        """The rank of a thread that a rank starts."""
        process.become_thread(rank)
        found = []
        thread = threading.Thread(target=lambda: found.append(
            threading.current_thread().gangsim_rank))
        thread.start()
        thread.join()
        return found[0]

    def test_a_rank_ends_with_a_goodbye_and_without_its_turn(self):
        connection = RecordingConnection()
        for function, value, error in ((lambda gang: gang.rank, 1, type(None)),
                                       (lambda: 7, 7, type(None)),
                                       (lambda: [][1], None, IndexError)):
            rank, reported = threads._Rank(function, 1, 2), []
            with mock.patch.object(process, "_process", process._Process()), \
                    mock.patch.object(process, "connection", lambda: connection), \
                    mock.patch.object(process, "say_goodbye") as say_goodbye, \
                    mock.patch.object(process, "report_failure", lambda *given: reported.append(
                        given[1])), \
                    mock.patch.object(torch.autograd, "set_multithreading_enabled",
                                      mock.MagicMock(), create=True):
                rank.start()
                rank.join(20)
            say_goodbye.assert_called_once_with()
            self.assertEqual((rank.value, type(rank.error)), (value, error))
            self.assertEqual(reported, [rank.error] if rank.error else [])
            self.assertEqual((rank._identity.turn, turns._holding.turn), (None, None))

    def given(self, **options):
        with mock.patch.object(threads, "Conductor", side_effect=KeyError) as conductor, \
                mock.patch.object(torch, "__version__", "2.6.0"), \
                mock.patch.object(threads.hook, "install"):
            with self.assertRaises(KeyError):
                threads.run(lambda: None, 3, **options)
        arguments = conductor.call_args.args[1]
        return dict(zip(arguments[::2], arguments[1::2]))

    def test_what_is_asked_for_is_what_the_conductor_gets(self):
        self.assertEqual(self.given(), {"--world": "3", "--schedule": "round_robin",
                                        "--seed": "1"})
        self.assertEqual(self.given(seed=0, schedule="random", options=["--timeout", "3s"]),
                         {"--world": "3", "--schedule": "random", "--seed": "0",
                          "--timeout": "3s"})
        with self.assertRaises(InvalidArgument):
            threads.run(lambda: None, 0)
        with mock.patch.object(torch, "__version__", "1.13.1"), self.assertRaises(NotSupported):
            threads.run(lambda: None)


if __name__ == "__main__":
    unittest.main()
