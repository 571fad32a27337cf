"""Messages as the conductor hears of them, and those that are refused."""

import array
import unittest

from recording_connection import recorded, result

import gangsim
from gangsim import ANY_RANK, ANY_TAG, Message, wire
from gangsim.errors import InvalidArgument


class Messages(unittest.TestCase):
    def setUp(self):
        context = recorded(0, 3, lambda operation: result(source=2, tag=5))
        self.connection = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.gang = gangsim.Gang(0, "root", range(3), 0)

    def asked(self):
        """(kind, peer, tag, flags) of each."""
        return [(each.kind, each.peer, each.tag, each.flags)
                for each in (made.fields for made in self.connection.operations)]

    def test_a_receive_tells_from_whom_it_may_come(self):
        cell = bytearray(1)
        for source, tag in ((1, 4), (ANY_RANK, 4), (1, ANY_TAG), (ANY_RANK, ANY_TAG)):
            self.assertEqual(self.gang.recv(cell, source, tag), (2, 5))
            self.gang.start_recv(cell, source, tag).wait()
        self.gang.recv(cell)
        expected = [(wire.RECV, 1, 4, 0), (wire.RECV, 0, 4, wire.FROM_ANY),
                    (wire.RECV, 1, 0, wire.WITH_ANY_TAG),
                    (wire.RECV, 0, 0, wire.FROM_ANY | wire.WITH_ANY_TAG)]
        self.assertEqual(self.asked(), [each for each in expected for _ in range(2)] + [
            (wire.RECV, 0, 0, wire.FROM_ANY)])

    def test_types_that_no_gang_reduces_are_sent_as_bytes(self):
        cells = array.array("h", [1, 2, 3])
        self.gang.send(cells, 1, 6)
        self.gang.recv(cells, 1)
        self.assertEqual([(made.fields.data_type, made.fields.count)
                          for made in self.connection.operations], [(wire.U8, 6)] * 2)

    def test_messages_of_a_batch_keep_their_tags_and_peers(self):
        cell = bytearray(1)
        self.gang.batch([Message("send", b"a", 1, 8), Message("recv", cell, ANY_RANK, ANY_TAG),
                         Message("send", b"a", 2)])
        self.assertEqual(self.asked(), [
            (wire.SEND, 1, 8, 0), (wire.RECV, 0, 0, wire.FROM_ANY | wire.WITH_ANY_TAG),
            (wire.SEND, 2, 0, 0)])
        self.assertEqual(self.connection.waits, [[1, 2, 3]])

    def test_nothing_of_a_wrong_call_is_sent(self):
        cell, good = bytearray(1), Message("send", b"a", 1)
        for call in (lambda: self.gang.send(cell, 1, tag=ANY_TAG),
                     lambda: self.gang.send(cell, 3), lambda: self.gang.send(cell, ANY_RANK),
                     lambda: self.gang.recv(cell, 3), lambda: self.gang.recv(cell, -2),
                     lambda: self.gang.recv(b"a", 1),
                     lambda: self.gang.batch([good, Message("isend", cell, 1)]),
                     lambda: self.gang.batch([good, Message("send", cell, 3)]),
                     lambda: self.gang.batch([good, Message("recv", b"a", 1)])):
            with self.assertRaises(InvalidArgument):
                call()
        self.assertEqual(self.connection.operations, [])


if __name__ == "__main__":
    unittest.main()
