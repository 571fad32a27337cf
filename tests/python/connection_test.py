"""A connection: answers, questions in between, and every way in which it can end."""

import os
import signal
import struct
import time
import unittest

from scripted_conductor import ScriptedConductor, done, over

from gangsim import wire
from gangsim.connection import Connection, Pending
from gangsim.errors import (GangError, GangFailure, InvalidArgument, InvalidOperation,
                            NotSupported, ProtocolError)
from gangsim.operation import Operation
from gangsim.process import Identity

PLACE = wire.site("train.py", 1, "step")


def all_reduce(data):
    view = memoryview(data).cast("B")
    return Operation(0, wire.ALL_REDUCE, PLACE, count=len(view), inputs=(view,), outputs=(view,))


class Answers(unittest.TestCase):
    def test_a_call_puts_the_answer_into_the_tensor(self):
        data = bytearray(b"abcd")
        with ScriptedConductor(done(b"wxyz")) as conductor:
            connection = conductor.connect()
            connection.call(all_reduce(data), ())
            self.assertEqual(data, b"wxyz")
            del connection
        self.assertEqual(conductor.heard, [wire.HELLO, wire.CALL, wire.BYE])

    def test_a_plain_answer_is_that_of_its_call(self):
        data = [bytearray(4), bytearray(0), bytearray(4)]
        answers = [done(each, source=wire.NO_RANK, tag=0) for each in (b"wxyz", b"", b"abcd")]
        with ScriptedConductor(*answers) as conductor:
            connection = conductor.connect()
            for each in data:
                connection.call(all_reduce(each), ())
        self.assertEqual(data, [b"wxyz", b"", b"abcd"])

    def test_an_answer_of_another_size_is_a_protocol_error(self):
        for wrong in (b"", b"abc", b"abcde"):
            with ScriptedConductor(done(wrong, source=wire.NO_RANK, tag=0)) as conductor:
                connection = conductor.connect()
                with self.assertRaises(ProtocolError):
                    connection.call(all_reduce(bytearray(4)), ())

    def test_the_world_size_and_the_seed_are_the_conductors(self):
        identity = Identity(0, 1)
        with ScriptedConductor() as conductor:
            Connection(conductor.path, identity)
        self.assertEqual((identity.world_size, identity.seed), (2, 7))

    def test_a_message_tells_its_source_and_tag(self):
        data = bytearray(2)
        operation = Operation(0, wire.RECV, PLACE, count=2, outputs=[memoryview(data)])
        with ScriptedConductor(done(b"ab")) as conductor:
            result = conductor.connect().call(operation, ())
        self.assertEqual((result.source, result.tag, data), (3, 4, b"ab"))

    def test_each_status_is_an_error_of_its_own(self):
        for status, kind in ((1, InvalidArgument), (2, InvalidOperation), (3, NotSupported),
                             (5, GangError), (10, GangFailure)):
            with ScriptedConductor(done(status=status, error="why")) as conductor:
                connection = conductor.connect()
                with self.assertRaisesRegex(kind, "why"):
                    connection.call(all_reduce(bytearray(1)), ())

    def test_a_wait_for_any_delivers_the_one_that_has_ended(self):
        first = wire.frame(wire.FIRST, struct.pack("<I", 1))
        data = [bytearray(1), bytearray(1)]
        with ScriptedConductor(first, done(b"x")) as conductor:
            connection = conductor.connect()
            pending = [connection.start(all_reduce(each)) for each in data]
            self.assertIs(connection.wait_any(pending, (), PLACE), pending[1])
            self.assertEqual((data, pending[0].result), ([b"\0", b"x"], None))
        self.assertEqual(conductor.heard[1:5], [wire.START, wire.START, wire.WAIT_ANY, wire.WAIT])

    def test_an_answer_may_come_in_pieces_and_with_a_question_before_it(self):
        question, answer = wire.frame(wire.ASK_STACK), done(b"wxyz")
        data = bytearray(4)
        with ScriptedConductor(question + answer[:7], answer[7:]) as conductor:
            connection = conductor.connect()
            connection.call(all_reduce(data), ())
        self.assertEqual(data, b"wxyz")
        self.assertEqual(conductor.heard[:3], [wire.HELLO, wire.CALL, wire.STACK])
        self.assertIn(b"connection_test.py", conductor.received[2])

    def test_every_question_before_an_answer_is_answered(self):
        question, data = wire.frame(wire.ASK_STACK), bytearray(4)
        with ScriptedConductor(question + question, question + done(b"wxyz")) as conductor:
            connection = conductor.connect()
            connection.call(all_reduce(data), ())
            self.assertEqual(data, b"wxyz")
            connection.close()
        self.assertEqual(conductor.heard, [wire.HELLO, wire.CALL] + 3 * [wire.STACK])

    def test_an_answer_that_begins_as_expected_is_awaited_to_its_end(self):
        whole, data = done(b"wxyz", source=wire.NO_RANK, tag=0), bytearray(4)
        for size in (len(whole) - 4, len(whole) - 1):
            with ScriptedConductor((whole[:size], whole[size:])) as conductor:
                conductor.connect().call(all_reduce(data), ())
            self.assertEqual(data, b"wxyz")

    def test_a_large_answer_may_begin_behind_a_small_one(self):
        big, question = os.urandom(100_000), wire.frame(wire.ASK_STACK)
        stored = wire.frame(wire.STORED, struct.pack("<Bq", 0, 5), wire.blobs([big]), wire.text(""))
        with ScriptedConductor(question + stored[:50_000], stored[50_000:]) as conductor:
            self.assertEqual(conductor.connect().store(wire.store(wire.COUNT, PLACE)), (5, [big]))

    def test_the_end_of_the_run_may_come_right_behind_an_answer(self):
        data = bytearray(4)
        with ScriptedConductor(done(b"wxyz") + over("the verdict")) as conductor:
            connection = conductor.connect()
            connection.call(all_reduce(data), ())
            self.assertEqual(data, b"wxyz")
            connection._socket.settimeout(10)  # fails instead of waiting for ever
            with self.assertRaisesRegex(GangFailure, "the verdict"):
                connection.call(all_reduce(data), ())

    def test_an_answer_larger_than_the_buffer_is_read(self):
        big = os.urandom(300_000)
        values = wire.frame(wire.STORED, struct.pack("<Bq", 0, 5), wire.blobs([big]), wire.text(""))
        with ScriptedConductor(values) as conductor:
            number, found = conductor.connect().store(wire.store(wire.GET, PLACE, keys=[b"k"]))
        self.assertEqual((number, found), (5, [big]))

    def test_what_was_dropped_is_told_with_the_next_request(self):
        with ScriptedConductor(done()) as conductor:
            connection = conductor.connect()
            pending = connection.start(Operation(0, wire.BARRIER, PLACE))
            connection.drop_later(pending, PLACE)
            connection.call(Operation(0, wire.BARRIER, PLACE), ())
        self.assertEqual(conductor.heard[:4], [wire.HELLO, wire.START, wire.DROP, wire.CALL])

    def test_what_was_dropped_is_told_once_and_at_the_latest_with_the_end(self):
        with ScriptedConductor(done(), done()) as conductor:
            connection = conductor.connect()
            for number in (1, 2):
                connection.drop_later(connection.start(Operation(0, wire.BARRIER, PLACE)), PLACE)
                if number == 1:
                    for _ in range(2):
                        connection.call(Operation(0, wire.BARRIER, PLACE), ())
            del connection
        self.assertEqual(conductor.heard, [
            wire.HELLO, wire.START, wire.DROP, wire.CALL, wire.CALL, wire.START, wire.DROP,
            wire.BYE])
        self.assertEqual([fields for kind, fields in zip(conductor.heard, conductor.received)
                          if kind == wire.DROP],
                         [struct.pack("<Q", number) + PLACE for number in (1, 4)])

    def test_an_operation_that_has_not_ended_is_not_complete(self):
        tested = [wire.frame(wire.TESTED, bytes([value])) for value in (0, 1)]
        with ScriptedConductor(b"", *tested) as conductor:
            connection = conductor.connect()
            pending = connection.start(Operation(0, wire.BARRIER, PLACE))
            time.sleep(0.01)
            self.assertEqual([connection.test(pending, ()) for _ in tested], [False, True])

    def test_each_operation_of_a_wait_has_its_own_result(self):
        two = wire.frame(wire.DONE, struct.pack("<I", 2), done(b"a")[9:], done(
            status=wire.ABORTED, error="why")[9:])
        data = [bytearray(1), bytearray(1)]
        with ScriptedConductor(two) as conductor:
            connection = conductor.connect()
            pending = [Pending(number, all_reduce(each), None, connection)
                       for number, each in enumerate(data)]
            self.assertTrue(connection.wait(pending, (), PLACE))
            self.assertEqual([each.result.status for each in pending], [wire.OK, wire.ABORTED])
        self.assertEqual(data, [b"a", b"\0"])

    def test_on_a_stream_what_was_started_before_ends_with_it(self):
        welcome = wire.frame(wire.WELCOME, struct.pack("<IiQB", wire.VERSION, 2, 7, 1))
        answers = [done(letter) for letter in (b"b", b"a", b"d", b"c", b"f")]
        data = {letter: bytearray(1) for letter in "abcdef"}
        with ScriptedConductor(*answers, welcome=welcome) as conductor:
            connection = conductor.connect()
            first, second, third = (connection.start(all_reduce(data[letter])) for letter in "abc")
            self.assertTrue(connection.wait([second], (), PLACE))
            self.assertEqual((first.result.status, third.result), (wire.OK, None))
            connection.call(all_reduce(data["d"]), ())
            self.assertEqual(third.result.status, wire.OK)
            connection.drop_later(connection.start(all_reduce(data["e"])), PLACE)
            connection.call(all_reduce(data["f"]), ())
        self.assertEqual(data, {**{each: each.encode() for each in "abcdf"}, "e": b"\0"})
        self.assertEqual(conductor.heard[1:], [
            wire.START, wire.START, wire.START, wire.WAIT, wire.WAIT, wire.CALL, wire.WAIT,
            wire.START, wire.DROP, wire.CALL])

    def test_a_wait_whose_time_has_passed_has_no_results(self):
        too_late = wire.frame(wire.TESTED, b"\0")
        with ScriptedConductor(too_late, done()) as conductor:
            connection = conductor.connect()
            pending = [Pending(7, Operation(0, wire.BARRIER, PLACE), None, connection)]
            self.assertFalse(connection.wait(pending, (), PLACE, 1500))
            self.assertIsNone(pending[0].result)
            self.assertTrue(connection.wait(pending, (), PLACE))
            self.assertEqual(pending[0].result.status, wire.OK)
        self.assertEqual([struct.unpack_from("<IQq", each) for each in conductor.received[-2:]],
                         [(1, 7, 1500), (1, 7, 0)])

    def test_an_error_of_the_store_is_raised(self):
        stored = wire.frame(wire.STORED, struct.pack("<Bq", wire.TIMEOUT, 0), wire.blobs([]),
                            wire.text("no such key"))
        with ScriptedConductor(stored) as conductor:
            with self.assertRaisesRegex(GangError, "no such key") as caught:
                conductor.connect().store(wire.store(wire.GET, PLACE, keys=[b"k"]))
        self.assertEqual(caught.exception.kind, "timeout")


class Memory(unittest.TestCase):
    """Tensors that are too large for a frame."""

    large = 100_000

    def blocks(self, conductor):
        """The numbers of the blocks that were announced."""
        return [struct.unpack_from("<I", fields)[0] for kind, fields
                in zip(conductor.heard, conductor.received) if kind == wire.BLOCK]

    def test_a_block_serves_one_operation_after_the_other(self):
        answers = [b"", *[done() for _ in range(3)]]
        with ScriptedConductor(*answers) as conductor:
            connection = conductor.connect()
            descriptors = len(os.listdir("/proc/self/fd"))
            first = connection.start(all_reduce(bytearray(self.large)))
            time.sleep(0.05)
            connection.call(all_reduce(bytearray(self.large)), ())
            connection.wait([first], (), PLACE)
            connection.call(all_reduce(bytearray(self.large)), ())
            # Python's mmap keeps one of its own for each.
            self.assertLessEqual(len(os.listdir("/proc/self/fd")), descriptors + 2)
        self.assertEqual(self.blocks(conductor), [1, 2])

    def test_a_block_stays_with_its_connection_whoever_waits(self):
        with ScriptedConductor(b"", done(), done()) as first:
            starter = first.connect()
            pending = starter.start(all_reduce(bytearray(self.large)))
            with ScriptedConductor(done(), done()) as second:
                waiter = second.connect()
                waiter.wait([pending], (), PLACE)
                waiter.call(all_reduce(bytearray(self.large)), ())
            time.sleep(0.05)
            starter.call(all_reduce(bytearray(self.large)), ())
        self.assertEqual((self.blocks(first), self.blocks(second)), ([1], [1]))

    def test_there_is_room_for_an_input_without_an_output(self):
        view = memoryview(bytearray(self.large))
        for kind in (wire.REDUCE, wire.SEND, wire.BROADCAST, wire.GATHER):
            with ScriptedConductor(done()) as conductor:
                conductor.connect().call(Operation(0, kind, PLACE, inputs=(view,)), ())
            size, = [struct.unpack_from("<IQ", fields)[1] for kind, fields
                     in zip(conductor.heard, conductor.received) if kind == wire.BLOCK]
            self.assertGreaterEqual(size, self.large)

    def test_the_threads_of_a_call_are_told_whatever_its_size(self):
        for size in (1, self.large):
            with ScriptedConductor(done(bytes(size) if size == 1 else b"")) as conductor:
                conductor.connect().call(all_reduce(bytearray(size)), [70])
            called = conductor.received[conductor.heard.index(wire.CALL)]
            self.assertEqual(called[-8:], struct.pack("<II", 1, 70))


class Turns(unittest.TestCase):
    """Ranks that are threads give their turn away while they wait."""

    class Turn:
        def __init__(self):
            self.taken = []

        def give_away(self):
            self.taken.append(False)

        def take(self):
            self.taken.append(True)

    def test_the_turn_comes_back_with_every_answer(self):
        identity = Identity(0, 2)
        with ScriptedConductor(done(b"x"), done(), over("the verdict")) as conductor:
            connection = Connection(conductor.path, identity)
            self.assertFalse(identity.knows_end)
            identity.turn = self.Turn()
            connection.call(all_reduce(bytearray(1)), ())
            connection.call(all_reduce(bytearray(100_000)), ())
            with self.assertRaises(GangFailure):
                connection.call(all_reduce(bytearray(1)), ())
            self.assertEqual(identity.turn.taken, 3 * [False, True])
        self.assertTrue(identity.knows_end)


class Ends(unittest.TestCase):
    def test_a_run_that_is_over_says_so_for_ever(self):
        with ScriptedConductor(over("the verdict")) as conductor:
            connection = conductor.connect()
            for _ in range(2):
                with self.assertRaisesRegex(GangFailure, "the verdict"):
                    connection.call(all_reduce(bytearray(1)), ())

    def test_a_conductor_that_is_gone_is_a_connection_error(self):
        with ScriptedConductor(None) as conductor:
            connection = conductor.connect()
            for _ in range(2):
                with self.assertRaisesRegex(GangError, "lost the connection") as caught:
                    connection.call(all_reduce(bytearray(1)), ())
                self.assertEqual(caught.exception.kind, "connection")

    def test_nobody_listening_is_a_connection_error(self):
        with self.assertRaisesRegex(GangError, "no gangsim conductor is listening at /nowhere"):
            Connection("/nowhere", Identity(0, 1))

    def test_a_choice_that_was_not_offered_is_a_protocol_error(self):
        for index, count in ((1, 1), (5, 2)):
            first = wire.frame(wire.FIRST, struct.pack("<I", index))
            with ScriptedConductor(first, done()) as conductor:
                connection = conductor.connect()
                pending = [Pending(number, Operation(0, wire.BARRIER, PLACE), None, connection)
                           for number in range(count)]
                with self.assertRaises(ProtocolError):
                    connection.wait_any(pending, (), PLACE)
                with self.assertRaises(ProtocolError):  # one result for two
                    connection.wait(2 * pending, (), PLACE)

    def test_a_forked_process_does_not_say_goodbye(self):
        with ScriptedConductor(done()) as conductor:
            connection = conductor.connect()
            child = os.fork()
            if child == 0:
                del connection
                os._exit(0)
            os.waitpid(child, 0)
            connection.call(Operation(0, wire.BARRIER, PLACE), ())
            connection.close()
        self.assertEqual(conductor.heard, [wire.HELLO, wire.CALL])

    def test_a_refusal_is_told(self):
        refused = wire.frame(wire.REFUSED, wire.text("rank 0 is taken"))
        with ScriptedConductor(welcome=refused) as conductor:
            with self.assertRaisesRegex(InvalidOperation, "rank 0 is taken"):
                conductor.connect()

    def test_another_version_is_not_supported(self):
        welcome = wire.frame(wire.WELCOME, struct.pack("<IiQB", 9, 2, 1, 0))
        with ScriptedConductor(welcome=welcome) as conductor:
            with self.assertRaisesRegex(NotSupported, "version 9"):
                conductor.connect()

    def test_garbage_is_a_protocol_error(self):
        for garbage in (b"\0\0\0\0\0", b"\xff" * 16, wire.frame(200), done(b"too long"),
                        wire.frame(wire.DONE, b"\x01")):
            with ScriptedConductor(garbage) as conductor:
                connection = conductor.connect()
                with self.assertRaises(ProtocolError):
                    connection.call(Operation(0, wire.SEND, PLACE, count=0,
                                              outputs=[memoryview(bytearray(9))]), 0)

    def test_an_interrupted_wait_ends_the_connection(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        former = signal.signal(signal.SIGALRM, interrupt)
        try:
            with ScriptedConductor(b"\x01") as conductor:
                connection = conductor.connect()
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with self.assertRaises(KeyboardInterrupt):
                    connection.call(all_reduce(bytearray(1)), ())
                with self.assertRaisesRegex(GangError, "interrupted"):
                    connection.call(all_reduce(bytearray(1)), ())
                connection.close()
        finally:
            signal.signal(signal.SIGALRM, former)


if __name__ == "__main__":
    unittest.main()
