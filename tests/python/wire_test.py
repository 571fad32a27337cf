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
        (kind, fields), = wire.split_frames(wire.call(11, described, (b"da", b"ta"), 4, [70, 80]))
        read = wire.Fields(fields)
        self.assertEqual(kind, wire.CALL)
        self.assertEqual(read.unpack(struct.Struct("<QIBBBBiiQQI")),
                         (11, 3, wire.ALL_TO_ALL, wire.F32, 2, 4, -1, 5, 6, 8, 9))
        self.assertEqual(read.unpack(struct.Struct("<IqqIq")), (2, 1, 2, 1, 3))
        self.assertEqual(read.text(), "x")
        self.assertEqual((read.text(), read.number("I"), read.text()), ("train.py", 41, "step"))
        self.assertEqual((bytes(read.blob()), list(read.ranks())), (b"data", [70, 80]))
        read.end()

    def test_start_is_call_without_the_threads(self):
        (_, called), = wire.split_frames(wire.call(1, b"described", (b"x",), 1, ()))
        (_, started), = wire.split_frames(wire.start(1, b"described", (b"x",), 1))
        self.assertEqual(bytes(called[:-4]), bytes(started))

    def test_every_frame_has_the_fields_of_the_protocol(self):
        place = wire.site("a.py", 3, "f")
        for frame, kind, fields in (
                (wire.hello(1, 4, 70, 71, True, "w"), wire.HELLO,
                 struct.pack("<IiiIIB", wire.VERSION, 1, 4, 70, 71, 1) + wire.text("w")),
                (wire.hello(1, 4, 70, 71, False, ""), wire.HELLO,
                 struct.pack("<IiiIIBI", wire.VERSION, 1, 4, 70, 71, 0, 0)),
                (wire.group(5, "tp", "role", [0, 2], 1 << 40, place), wire.GROUP,
                 struct.pack("<I", 5) + wire.text("tp") + wire.text("role")
                 + struct.pack("<Iiiq", 2, 0, 2, 1 << 40) + place),
                (wire.wait([1, 1 << 40], [70, 80], place), wire.WAIT,
                 struct.pack("<IQQqIII", 2, 1, 1 << 40, 0, 2, 70, 80) + place),
                (wire.wait([], [], place, wire.timeout_ns(1.5)), wire.WAIT,
                 struct.pack("<IqI", 0, 1500000000, 0) + place),
                (wire.wait_any([3], [70], place), wire.WAIT_ANY,
                 struct.pack("<IQII", 1, 3, 1, 70) + place),
                (wire.test(1 << 40, [70]), wire.TEST, struct.pack("<QII", 1 << 40, 1, 70)),
                (wire.drop(1 << 40, place), wire.DROP, struct.pack("<Q", 1 << 40) + place),
                (wire.abort(6), wire.ABORT, struct.pack("<I", 6)),
                (wire.block(6, 1 << 40), wire.BLOCK, struct.pack("<IQ", 6, 1 << 40)),
                (wire.store(wire.ADD, place, number=-2, keys=[b"k"], values=[b"v", b""],
                            timeout_ns=1 << 40, threads=[70]), wire.STORE,
                 struct.pack("<BqIIcIIcIqII", wire.ADD, -2, 1, 1, b"k", 2, 1, b"v", 0, 1 << 40, 1,
                             70) + place),
                (wire.output("x", wire.F32, 1, b"abcd"), wire.OUTPUT,
                 wire.text("x") + struct.pack("<BQI4s", wire.F32, 1, 4, b"abcd")),
                (wire.failed("KeyError", "why", "trace", place), wire.FAILED,
                 wire.text("KeyError") + wire.text("why") + wire.text("trace") + place),
                (wire.finding("id", "why", [2, 0], place), wire.FINDING,
                 wire.text("id") + wire.text("why") + struct.pack("<Iii", 2, 2, 0) + place),
                (wire.new_group(1 << 20, "7", [2, 0], place), wire.NEW_GROUP,
                 struct.pack("<I", 1 << 20) + wire.text("7") + struct.pack("<Iii", 2, 2, 0)
                 + place),
                (wire.stacks([(7, "main", [("a.py", 3, "f")]), (0, "t", [])]), wire.STACK,
                 struct.pack("<II", 2, 7) + wire.text("main") + struct.pack("<I", 1) + place
                 + struct.pack("<I", 0) + wire.text("t") + struct.pack("<I", 0))):
            self.assertEqual(frame, struct.pack("<IB", len(fields) + 1, kind) + fields, kind)

    def test_the_sizes_of_the_types_are_those_of_their_names(self):
        self.assertEqual({name: wire.SIZE_BYTES[getattr(wire, name)] for name in (
            "BOOL", "U8", "I8", "I32", "U32", "I64", "U64", "F16", "BF16", "F32", "F64")}, {
                "BOOL": 1, "U8": 1, "I8": 1, "I32": 4, "U32": 4, "I64": 8, "U64": 8, "F16": 2,
                "BF16": 2, "F32": 4, "F64": 8})

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

    def test_answers_have_their_whole_numbers(self):
        seed = (1 << 64) - 1
        for read, fields, expected in (
                (wire.read_welcome, struct.pack("<IiQB", 1, 4, seed, 1), (1, 4, seed, True)),
                (wire.read_stored, struct.pack("<BqIIcI", 4, -1 << 62, 1, 1, b"v", 0),
                 (4, -1 << 62, [b"v"], "")),
                (wire.read_first, struct.pack("<I", 7), 7),
                (wire.read_over, b"\x0a" + wire.text("why"), (10, "why")),
                (wire.read_text, wire.text("why"), "why")):
            self.assertEqual(read(memoryview(fields)), expected)
            with self.assertRaises(ProtocolError):
                read(memoryview(fields + b"\0"))

    def test_whole_frames_are_split_off(self):
        data = wire.frame(wire.BYE) + wire.frame(wire.TEST, b"ab") + wire.frame(wire.BYE)
        self.assertEqual([(kind, bytes(fields)) for kind, fields in wire.split_frames(data)],
                         [(wire.BYE, b""), (wire.TEST, b"ab"), (wire.BYE, b"")])
        self.assertEqual(len(list(wire.split_frames(data[:-1]))), 2)

    def test_impossible_sizes_are_refused(self):
        for size in (1, wire.MAX_FRAME_BYTES):
            self.assertEqual(wire.frame_size(struct.pack("<I", size), 0), size)
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
