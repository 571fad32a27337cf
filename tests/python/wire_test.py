"""Frames: what is written is read, and what is malformed is refused."""

import random
import struct
import unittest

import package  # noqa: F401

from gangsim import wire
from gangsim.errors import ProtocolError


def done(*results):
    parts = [struct.pack("<I", len(results))]
    for status, source, tag, ranks, error, data in results:
        parts += [struct.pack("<Bii", status, source, tag), wire.numbers("i", ranks),
                  wire.text(error), wire.blob(data)]
    return memoryview(b"".join(parts))


class Writing(unittest.TestCase):
    def test_a_frame_is_its_size_its_kind_and_its_fields(self):
        self.assertEqual(wire.frame(wire.BYE), b"\x01\0\0\0\x0f")
        self.assertEqual(wire.close(7), b"\x05\0\0\0\x08\x07\0\0\0")

    def test_a_call_has_the_fields_of_the_protocol_in_their_order(self):
        place = wire.site("train.py", 41, "step")
        described = wire.in_block(wire.operation(wire.OperationFields(
            group=3, kind=wire.ALL_TO_ALL, place=place, data_type=wire.F32, count=6, reduction=2,
            peer=-1, label="x", first=(1, 2), second=(3,), flags=4, tag=5, result=8)), 9)
        (kind, fields), = wire.split_frames(wire.call(11, described, (b"da", b"ta"), 4, 2))
        read = wire.Fields(fields)
        self.assertEqual(kind, wire.CALL)
        self.assertEqual(read.unpack(struct.Struct("<QIBBBBiiQQI")),
                         (11, 3, wire.ALL_TO_ALL, wire.F32, 2, 4, -1, 5, 6, 8, 9))
        self.assertEqual(read.unpack(struct.Struct("<IqqIq")), (2, 1, 2, 1, 3))
        self.assertEqual(read.text(), "x")
        self.assertEqual((read.text(), read.number("I"), read.text()), ("train.py", 41, "step"))
        self.assertEqual((bytes(read.blob()), read.number("I")), (b"data", 2))
        read.end()

    def test_start_is_call_without_the_number_of_threads(self):
        (_, called), = wire.split_frames(wire.call(1, b"described", (b"x",), 1, 0))
        (_, started), = wire.split_frames(wire.start(1, b"described", (b"x",), 1))
        self.assertEqual(bytes(called[:-4]), bytes(started))

    def test_text_that_is_not_unicode_is_replaced(self):
        self.assertEqual(wire.text("\udc80"), wire.text("?"))


class Reading(unittest.TestCase):
    def test_results_are_read_as_they_were_written(self):
        results = wire.read_done(done((0, 2, 7, [4, 5], "", b"abc"), (6, -1, 0, [], "why", b"")))
        self.assertEqual(results[0][:5], (0, 2, 7, (4, 5), ""))
        self.assertEqual(bytes(results[0].data), b"abc")
        self.assertEqual((results[1].status, results[1].error), (6, "why"))

    def test_a_plain_answer_begins_as_known_before(self):
        result = wire.Result(wire.OK, wire.NO_RANK, 0, (), "", b"")
        self.assertEqual(wire.done_head(result, 4) + b"abcd",
                         wire.frame(wire.DONE, done((0, -2, 0, [], "", b"abcd"))))

    def test_frames_that_end_early_or_late_are_refused(self):
        whole = bytes(done((0, 2, 7, [4, 5], "e", b"abc")))
        for size in range(len(whole)):
            with self.assertRaises(ProtocolError):
                wire.read_done(memoryview(whole[:size]))
        with self.assertRaisesRegex(ProtocolError, "too many"):
            wire.read_done(memoryview(whole + b"\0"))

    def test_impossible_sizes_are_refused(self):
        for size in (0, wire.MAX_FRAME_BYTES + 1, 2**32 - 1):
            with self.assertRaisesRegex(ProtocolError, "1 byte to 64 MiB"):
                wire.frame_size(struct.pack("<I", size), 0)
        with self.assertRaisesRegex(ProtocolError, "list of"):
            wire.read_stored(memoryview(struct.pack("<BqI", 0, 0, 2**31)))

    def test_no_bytes_break_the_reader(self):
        draw = random.Random(1)
        readers = (wire.read_done, wire.read_stored, wire.read_welcome, wire.read_over,
                   wire.read_first, wire.read_text)
        for _ in range(5000):
            data = bytearray(done((0, 1, 2, [3], "text", b"data")))
            for _ in range(draw.randrange(4)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            del data[draw.randrange(len(data) + 1):]
            for reader in readers:
                try:
                    reader(memoryview(data))
                except ProtocolError:
                    pass


if __name__ == "__main__":
    unittest.main()
