"""A connection: answers, questions in between, and every way in which it can end."""

import os
import signal
import struct
import unittest

from scripted_conductor import ScriptedConductor, done, over

from gangsim import wire
from gangsim.connection import Connection
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
            connection.call(all_reduce(data), 0)
            self.assertEqual(data, b"wxyz")
            del connection
        self.assertEqual(conductor.heard, [wire.HELLO, wire.CALL, wire.BYE])

    def test_a_plain_answer_is_that_of_its_call(self):
        data = [bytearray(4), bytearray(0), bytearray(4)]
        answers = [done(each, source=wire.NO_RANK, tag=0) for each in (b"wxyz", b"", b"abcd")]
        with ScriptedConductor(*answers) as conductor:
            connection = conductor.connect()
            for each in data:
                connection.call(all_reduce(each), 0)
        self.assertEqual(data, [b"wxyz", b"", b"abcd"])

    def test_an_answer_of_another_size_is_a_protocol_error(self):
        for wrong in (b"", b"abc", b"abcde"):
            with ScriptedConductor(done(wrong, source=wire.NO_RANK, tag=0)) as conductor:
                connection = conductor.connect()
                with self.assertRaises(ProtocolError):
                    connection.call(all_reduce(bytearray(4)), 0)

    def test_the_world_size_and_the_seed_are_the_conductors(self):
        identity = Identity(0, 1)
        with ScriptedConductor() as conductor:
            Connection(conductor.path, identity)
        self.assertEqual((identity.world_size, identity.seed), (2, 7))

    def test_a_message_tells_its_source_and_tag(self):
        data = bytearray(2)
        operation = Operation(0, wire.RECV, PLACE, count=2, outputs=[memoryview(data)])
        with ScriptedConductor(done(b"ab")) as conductor:
            result = conductor.connect().call(operation, 0)
        self.assertEqual((result.source, result.tag, data), (3, 4, b"ab"))

    def test_each_status_is_an_error_of_its_own(self):
        for status, kind in ((1, InvalidArgument), (2, InvalidOperation), (3, NotSupported),
                             (5, GangError), (10, GangFailure)):
            with ScriptedConductor(done(status=status, error="why")) as conductor:
                connection = conductor.connect()
                with self.assertRaisesRegex(kind, "why"):
                    connection.call(all_reduce(bytearray(1)), 0)

    def test_a_wait_for_any_delivers_the_one_that_has_ended(self):
        first = wire.frame(wire.FIRST, struct.pack("<I", 1))
        data = [bytearray(1), bytearray(1)]
        with ScriptedConductor(first, done(b"x")) as conductor:
            connection = conductor.connect()
            pending = [connection.start(all_reduce(each)) for each in data]
            self.assertIs(connection.wait_any(pending, 0, PLACE), pending[1])
            self.assertEqual((data, pending[0].result), ([b"\0", b"x"], None))
        self.assertEqual(conductor.heard[1:5], [wire.START, wire.START, wire.WAIT_ANY, wire.WAIT])

    def test_an_answer_may_come_in_pieces_and_with_a_question_before_it(self):
        question, answer = wire.frame(wire.ASK_STACK), done(b"wxyz")
        data = bytearray(4)
        with ScriptedConductor(question + answer[:7], answer[7:]) as conductor:
            connection = conductor.connect()
            connection.call(all_reduce(data), 0)
        self.assertEqual(data, b"wxyz")
        self.assertEqual(conductor.heard[:3], [wire.HELLO, wire.CALL, wire.STACK])
        self.assertIn(b"connection_test.py", conductor.received[2])

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
            connection.call(Operation(0, wire.BARRIER, PLACE), 0)
        self.assertEqual(conductor.heard[:4], [wire.HELLO, wire.START, wire.DROP, wire.CALL])


class Ends(unittest.TestCase):
    def test_a_run_that_is_over_says_so_for_ever(self):
        with ScriptedConductor(over("the verdict")) as conductor:
            connection = conductor.connect()
            for _ in range(2):
                with self.assertRaisesRegex(GangFailure, "the verdict"):
                    connection.call(all_reduce(bytearray(1)), 0)

    def test_a_conductor_that_is_gone_is_a_connection_error(self):
        with ScriptedConductor(None) as conductor:
            connection = conductor.connect()
            for _ in range(2):
                with self.assertRaisesRegex(GangError, "lost the connection") as caught:
                    connection.call(all_reduce(bytearray(1)), 0)
                self.assertEqual(caught.exception.kind, "connection")

    def test_nobody_listening_is_a_connection_error(self):
        with self.assertRaisesRegex(GangError, "no gangsim conductor is listening at /nowhere"):
            Connection("/nowhere", Identity(0, 1))

    def test_a_refusal_is_told(self):
        refused = wire.frame(wire.REFUSED, wire.text("rank 0 is taken"))
        with ScriptedConductor(welcome=refused) as conductor:
            with self.assertRaisesRegex(InvalidOperation, "rank 0 is taken"):
                conductor.connect()

    def test_another_version_is_not_supported(self):
        welcome = wire.frame(wire.WELCOME, struct.pack("<IiQ", 9, 2, 1))
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
                    connection.call(all_reduce(bytearray(1)), 0)
                with self.assertRaisesRegex(GangError, "interrupted"):
                    connection.call(all_reduce(bytearray(1)), 0)
                connection.close()
        finally:
            signal.signal(signal.SIGALRM, former)


if __name__ == "__main__":
    unittest.main()
