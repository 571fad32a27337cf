"""Which rank a process is, and which of its threads have spoken."""

import gc
import json
import os
import sys
import threading
import unittest
from unittest import mock

from package import PACKAGES
from recording_connection import RecordingConnection, recorded

from gangsim import process, wire
from gangsim.errors import GangFailure, InvalidArgument, InvalidOperation


class Environment(unittest.TestCase):
    def identity(self, **variables):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("RANK", "WORLD_SIZE")}
        with mock.patch.dict(os.environ, {**kept, **variables}, clear=True), \
                mock.patch.object(process, "_process", process._Process()):
            own = process.identity()
            return own.rank, own.world_size

    def test_the_rank_is_that_of_the_environment(self):
        self.assertEqual(self.identity(RANK="1", WORLD_SIZE="4"), (1, 4))

    def test_an_environment_that_is_half_set_is_told(self):
        for variables, why in (
                ({}, "neither RANK nor WORLD_SIZE is set"),
                ({"RANK": "1"}, "RANK is set to '1' and WORLD_SIZE is not"),
                ({"WORLD_SIZE": "2"}, "WORLD_SIZE is set to '2' and RANK is not"),
                ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK is 'one'; must be a number")):
            with self.assertRaisesRegex(InvalidOperation, why):
                self.identity(**variables)
        with self.assertRaisesRegex(InvalidArgument, "rank 2 of 2"):
            self.identity(RANK="2", WORLD_SIZE="2")

    def test_a_rank_stays_what_it_is(self):
        with mock.patch.object(process, "_process", process._Process()):
            process.become(0, 2)
            process.become(0, 2)
            with self.assertRaisesRegex(InvalidArgument, "is rank 0 of 2 and cannot become rank 1"):
                process.become(1, 2)


    def test_a_rank_stays_in_its_world(self):
        with mock.patch.object(process, "_process", process._Process()):
            process.become(0, 2)
            with self.assertRaisesRegex(InvalidArgument, "rank 0 of 2 .* rank 0 of 3"):
                process.become(0, 3)

    def test_a_rank_needs_both_numbers(self):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("RANK", "WORLD_SIZE")}
        for names, is_rank in (((), False), (("RANK",), False), (("WORLD_SIZE",), False),
                               (("RANK", "WORLD_SIZE"), True)):
            with mock.patch.dict(os.environ, {**kept, **dict.fromkeys(names, "1")}, clear=True), \
                    mock.patch.object(process, "_process", process._Process()):
                self.assertEqual(process.is_rank(), is_rank, names)


class Threads(unittest.TestCase):
    def in_thread(self, function):
        found = []
        thread = threading.Thread(target=lambda: found.append(function()))
        thread.start()
        thread.join()
        return found[0]

    def test_threads_that_speak_are_not_silent(self):
        with mock.patch.object(process, "_process", process._Process()):
            end = threading.Event()
            other = threading.Thread(target=end.wait)
            other.start()
            process._process.has_started_threads = False
            silent = len(process.silent_threads())
            process._process.speaking.add(threading.current_thread())
            self.assertEqual(len(process.silent_threads()), silent - 1)
            process._process.speaking.add(other)
            self.assertEqual(len(process.silent_threads()), silent - 2)
            end.set()
            other.join()

    def test_a_thread_that_was_started_is_told_of_once_even_if_it_has_ended(self):
        with mock.patch.object(process, "_process", process._Process()):
            process._note_started(threading.Thread(target=lambda: None))
            self.assertEqual(process.silent_threads()[0], 0)
            self.assertNotIn(0, process.silent_threads())
            process._note_started(threading.Thread(target=process._watch))
            self.assertNotIn(0, process.silent_threads(), "of this library")

    def test_a_rank_that_is_a_thread_has_the_threads_that_it_starts(self):
        end, rank = threading.Event(), process.Identity(1, 2)

        def be_rank():
            process.become_thread(rank)
            started = threading.Thread(target=end.wait)
            process.inherit_rank(started)
            started.start()
            self.addCleanup(end.set)
            self.assertIs(process.identity(), rank)
            self.assertIs(started.gangsim_rank, rank)
            silent = [list(process.silent_threads()) == [started.native_id]]
            end.set()
            started.join()
            return silent + [list(process.silent_threads())]

        with mock.patch.object(process, "_process", process._Process()):
            process.become(0, 2)
            self.assertEqual(self.in_thread(be_rank), [True, []])
            self.assertEqual(process.identity().rank, 0)

    def test_a_run_that_is_over_leaves_no_watcher(self):
        with mock.patch.object(process, "_process", process._Process()):
            process._process.watcher, process._process.own_threads = object(), 2
            process.forget_watcher()
            self.assertEqual((process._process.watcher, process._process.own_threads), (None, 1))

    def test_threads_that_may_speak_are_counted(self):
        end = threading.Event()
        threads = [threading.Thread(target=end.wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        process._process.has_started_threads = False
        try:
            # The main thread has not spoken either.
            main = threading.current_thread()
            self.assertEqual(process.silent_threads(),
                             [thread.native_id for thread in (main, *threads)])
            threads[0]._target = mock.Mock(__module__="tqdm._monitor")
            self.assertEqual(process.silent_threads(), [main.native_id, threads[1].native_id])
        finally:
            end.set()
            for thread in threads:
                thread.join()


class Connections(unittest.TestCase):
    """What the threads of a rank say of themselves."""

    class Connection:
        questions = ()

        def __init__(self, path, identity, *, is_watcher=False, thread_name=""):
            self.made.append((is_watcher, thread_name))
            self._questions, self.said = iter(self.questions), []

        def receive_question(self):
            return next(self._questions, wire.OVER)

        def send(self, frame):
            self.stacks.append(frame)

        def close(self):
            self.closed.append(self)

    def setUp(self):
        self.Connection.made, self.Connection.stacks, self.Connection.closed = [], [], []
        for target, name, value in (
                (process, "Connection", self.Connection), (process, "_process", process._Process()),
                (process, "_local", threading.local()), (process.atexit, "register", mock.Mock()),
                (process.faulthandler, "register", mock.Mock()),
                (process, "hook_exceptions", mock.Mock())):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.dict(os.environ, {process.SOCKET: "/nowhere"})
        patch.start()
        self.addCleanup(patch.stop)
        process.become(1, 2)

    def end_of_watcher(self):
        process._process.watcher.join(10)

    def test_each_thread_has_one_and_the_process_one_watcher(self):
        own = process.connection()
        self.assertIs(process.connection(), own)
        self.end_of_watcher()
        thread = threading.Thread(target=process.connection, name="loader")
        thread.start()
        thread.join()
        self.assertEqual(self.Connection.made, [(False, ""), (True, "watcher"), (False, "loader")])
        process.atexit.register.assert_called_once_with(process.say_goodbye)
        process.hook_exceptions.assert_called_once_with()

    def test_a_thread_that_has_ended_no_longer_speaks(self):
        process.connection()
        thread = threading.Thread(target=process.connection)
        thread.start()
        thread.join()
        del thread
        gc.collect()
        self.assertEqual(list(process._process.speaking), [threading.current_thread()])

    def test_the_watcher_answers_every_question(self):
        self.Connection.questions = (wire.ASK_STACK, wire.ASK_STACK)
        process.connection()
        self.end_of_watcher()
        self.assertEqual(len(self.Connection.stacks), 2)

    def test_a_forked_process_is_no_rank_and_keeps_nothing_of_its_parents(self):
        own = process.connection()
        self.end_of_watcher()
        process._after_fork_in_child()  # as in the child
        self.assertIn(own, self.Connection.closed)
        self.assertFalse(process.is_simulated())
        with self.assertRaisesRegex(InvalidOperation, "forked from rank 1"):
            process.connection()

    def test_a_process_forked_from_a_launcher_may_become_a_rank(self):
        process._process.identity = None
        process._after_fork_in_child()
        self.assertTrue(process.is_simulated())
        process.become(0, 2)
        process.connection()

    def test_a_program_that_ends_says_goodbye_unless_it_has_failed(self):
        for failed in (False, True):
            process._local = threading.local()
            process._local.connection = own = RecordingConnection()
            if failed:
                process._local.failure = ValueError()
            process.say_goodbye()
            self.assertEqual((len(own.told(wire.BYE)), own.has_ended), (not failed, True))
            process.say_goodbye()
            self.assertEqual(len(own.frames), not failed)


class Exceptions(unittest.TestCase):
    """Those that end a rank or one of its threads."""

    def setUp(self):
        for patch in (mock.patch.dict(os.environ, {process.SOCKET: "/nowhere"}),
                      mock.patch.object(process, "_local", threading.local()),
                      mock.patch.object(process, "_explainers", []),
                      mock.patch.object(sys, "excepthook", mock.Mock()),
                      mock.patch.object(sys, "exit", sys.exit),
                      mock.patch.object(threading, "excepthook", mock.Mock())):
            patch.start()
            self.addCleanup(patch.stop)
        context = recorded(0, 2)
        self.connection = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def told(self):
        """(kind, message, traceback) of each failure."""
        return [(fields.text(), fields.text(), fields.text())
                for fields in self.connection.told(wire.FAILED)]

    def report(self, error):
        try:
            raise error
        except BaseException as raised:
            process.report_failure(type(raised), raised, raised.__traceback__)

    def test_one_is_told_with_its_kind_its_message_and_its_traceback(self):
        self.report(ValueError("the batch is empty"))
        self.report(json.JSONDecodeError("bad", "x", 0))
        (kind, message, trace), (other, _, _) = self.told()
        self.assertEqual((kind, message), ("ValueError", "the batch is empty"))
        self.assertTrue(trace.endswith("\nValueError: the batch is empty\n"), trace)
        self.assertIn("in report", trace)
        self.assertEqual(other, "json.decoder.JSONDecodeError")

    def test_a_message_of_several_lines_is_told_without_indentation_and_traceback(self):
        self.report(ValueError("Errors:\n\tTraceback (most recent call last):\n  F\n\tNo key. "))
        self.assertEqual(self.told()[0][1], "Errors:\nNo key.")

    def test_one_is_told_once_by_whoever_sees_it(self):
        error = ValueError("why")
        self.report(error)
        self.report(error)
        self.assertEqual(len(self.told()), 1)

    def test_an_exit_that_ends_the_process_is_one_unless_something_else_was_told(self):
        with mock.patch.object(process, "is_simulated", lambda: True):
            for status in "34":
                process._report_exit("SystemExit", status, "trace", b"")
        self.assertEqual(self.told(), [("SystemExit", "3", "trace")])

    def test_an_exit_is_told_and_has_no_message_if_it_is_in_good_order(self):
        for code in ("no data", 3):
            self.report(SystemExit(code))
        for code in (None, 0, False, ""):
            self.report(SystemExit(code))
        told = self.told()
        self.assertEqual([one[:2] for one in told[:2]],
                         [("SystemExit", "no data"), ("SystemExit", "3")])
        self.assertEqual(told[2:], [("SystemExit", "", "")] * 4)

    def test_after_an_exit_in_good_order_the_program_says_goodbye(self):
        process._local.connection = self.connection
        self.addCleanup(delattr, process._local, "connection")
        with mock.patch.object(process, "is_simulated", lambda: True):
            for exits in (lambda: self.report(SystemExit(0)),
                          lambda: process._report_exit("SystemExit", "", "", b"")):
                self.connection.has_ended = False
                exits()
                process.say_goodbye()
        self.assertEqual(len(self.told()), 2)
        self.assertEqual(len(self.connection.told(wire.BYE)), 2)

    def test_the_verdict_itself_is_none(self):
        self.report(GangFailure("over"))
        self.connection.has_ended = True
        self.report(ValueError("a consequence of the end"))
        self.assertEqual(self.told(), [])

    def test_what_ends_a_process_of_multiprocessing_is_told_once_by_a_rank(self):
        def fail(error):
            raise error

        for speaks in (False, True):
            process.identity().has_spoken = speaks
            for error in (ValueError("no data"), SystemExit(1)):
                with self.assertRaises(type(error)):
                    process.told(fail)(error)
        self.assertEqual([told[:2] for told in self.told()], [("ValueError", "no data")])
        self.assertEqual(process.told(len)("abc"), 3)

    def test_one_that_ends_a_thread_only_is_not_told(self):
        process.hook_exceptions()

        def leave(status):
            process._process.speaking.add(threading.current_thread())
            sys.exit(status)

        for status in (0, 3):
            thread = threading.Thread(target=leave, args=(status,))
            thread.start()
            thread.join()
        self.assertEqual(self.told(), [])

    def test_of_a_long_traceback_the_end_is_told(self):
        self.report(ValueError("x" * 100_000 + " the end"))
        self.assertTrue(self.told()[0][2].endswith("x the end\n"))

    def test_hooks_tell_and_print(self):
        in_main, in_thread = sys.excepthook, threading.excepthook
        process.hook_exceptions()
        process.hook_exceptions()
        error = ValueError("in main")
        sys.excepthook(ValueError, error, None)
        in_main.assert_called_once_with(ValueError, error, None)

        def fail(speaks):
            if speaks:
                process._process.speaking.add(threading.current_thread())
            raise KeyError("in a thread")

        for speaks in (False, True):
            thread = threading.Thread(target=fail, args=(speaks,))
            thread.start()
            thread.join()
            self.assertEqual([kind for kind, _, _ in self.told()],
                             ["ValueError", *["KeyError"] * speaks])
        self.assertEqual(in_thread.call_count, 2)
        # The one that never spoke is told to whoever asks where the threads are.
        self.assertEqual(len(process._process.thread_failures), 1)
        fields = wire.Fields(memoryview(process._process.thread_failures[0])[5:])
        self.assertEqual(fields.text(), "thread_failed")
        self.assertRegex(fields.text(), r"^Thread Thread-\d+.* of rank 0 ended with an exception "
                                        r"at process_test.py:\d+: KeyError: 'in a thread'$")

    def test_what_is_known_about_one_is_added_once(self):
        process.explain_with(lambda error: "read the manual" if "why" in str(error) else "")
        error = ValueError("why")
        for _ in range(2):
            process.explained(error)
        self.assertEqual(str(error), "why; read the manual")
        self.assertEqual(str(process.explained(ValueError("other"))), "other")

    def test_frames_of_gangsim_are_not_shown_between_those_of_the_program(self):
        def passing(name, function):
            path = str(PACKAGES / "gangsim" / f"{name}.py")
            space = {"function": function}
            exec(compile(f"def {name}():\n    function()", path, "exec"), space)
            return space[name]

        def fail():
            raise ValueError

        def middle():
            passing("c", passing("d", fail))()

        try:
            passing("a", passing("b", middle))()
        except ValueError as error:
            trace, names = process.explained(error).__traceback__, []
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertEqual(names[1:], ["middle", "fail"])


if __name__ == "__main__":
    unittest.main()
