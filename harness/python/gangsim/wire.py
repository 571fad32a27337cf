"""Frames of the protocol between a rank's process and the conductor, version 4.

Every function makes or reads bytes; nothing here knows a socket. All numbers are little-endian and
unaligned. A frame is a u32 size, a u8 kind, and size - 1 bytes of fields.
"""

import struct
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .errors import ProtocolError

VERSION = 5
MAX_FRAME_BYTES = 64 << 20
NEVER_NS = 2 ** 63 - 1  # the longest timeout

# Kinds of frames that a client sends.
HELLO, GROUP, START, CALL, WAIT, TEST, DROP, CLOSE = range(1, 9)
ABORT, BLOCK, STORE, OUTPUT, FAILED, FINDING, BYE, STACK, NEW_GROUP, WAIT_ANY = range(9, 19)

# Kinds of frames that the conductor sends.
WELCOME, REFUSED, DONE, TESTED, STORED, ASK_STACK, OVER, FIRST = range(128, 136)

# Kinds of operations.
(ALL_REDUCE, REDUCE, REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL, BROADCAST, BARRIER,
 MONITORED_BARRIER, CREATE_GANG, SPLIT, SEND, RECV, SHRINK, SCAN, EXCLUSIVE_SCAN) = range(17)

# Data types and their sizes.
BOOL, U8, I8, I32, U32, I64, U64, F16, BF16, F32, F64 = range(11)
SIZE_BYTES = (1, 1, 1, 4, 4, 8, 8, 2, 2, 4, 8)

# Reductions, by the names that programs use.
REDUCTIONS = {"sum": 0, "mean": 1, "product": 2, "min": 3, "max": 4, "band": 5, "bor": 6, "bxor": 7}

# Flags of operations.
FROM_ANY, WITH_ANY_TAG, ALL_MISSING = 1, 2, 4

# Functions of the store.
SET, GET, ADD, WAIT_KEYS, CHECK, DELETE, COUNT, COMPARE_SET, APPEND = range(9)

# How an operation ended.
(OK, INVALID_ARGUMENT, INVALID_OPERATION, NOT_SUPPORTED, TIMEOUT, PEER_FAILED, MISMATCH, ABORTED,
 CONNECTION, CORRUPT, RUN_OVER, FAILED_OTHERWISE) = range(12)

NO_RANK = -2  # the source of what is not a message

_U32 = struct.Struct("<I")
_HEAD = struct.Struct("<IB")
_OPERATION = struct.Struct("<IBBBBiiQQI")
_OPERATION_HEAD = struct.Struct("<IBQ")
_RESULT = struct.Struct("<BiiI")
_TWO_U32 = struct.Struct("<II")

pack_u32 = _U32.pack


class Result(NamedTuple):
    """What one operation came to. `data` is valid until the next frame is received."""

    status: int
    source: int
    tag: int
    ranks: Tuple[int, ...]
    error: str
    data: memoryview


class OperationFields(NamedTuple):
    """An operation without its data. `place` is an encoded site."""

    group: int
    kind: int
    place: bytes
    data_type: int
    count: int
    reduction: int
    peer: int
    label: str
    first: Tuple[int, ...]
    second: Tuple[int, ...]
    flags: int
    tag: int
    result: int


def frame(kind: int, *fields: bytes) -> bytes:
    body = b"".join(fields)
    return _HEAD.pack(len(body) + 1, kind) + body


def text(value: str) -> bytes:
    data = value.encode("utf-8", "replace")
    return pack_u32(len(data)) + data


def blob(value: bytes) -> bytes:
    return pack_u32(len(value)) + value


def blobs(values: Sequence[bytes]) -> bytes:
    return pack_u32(len(values)) + b"".join([pack_u32(len(v)) + v for v in values])


def numbers(code: str, values: Sequence[int]) -> bytes:
    """A list of numbers; `code` is struct's: i for i32, I for u32, q for i64, Q for u64."""
    return struct.pack(f"<I{len(values)}{code}", len(values), *values)


_NO_THREADS = numbers("I", ())


def site(file: str, line: int, function: str) -> bytes:
    return text(file) + pack_u32(line) + text(function)


def operation(fields: OperationFields) -> bytes:
    """The fields of an operation without a block, up to its data."""
    return b"".join((
        _OPERATION.pack(fields.group, fields.kind, fields.data_type, fields.reduction, fields.flags,
                        fields.peer, fields.tag, fields.count, fields.result, 0),
        numbers("q", fields.first), numbers("q", fields.second), text(fields.label), fields.place))


def in_block(described: bytes, block: int) -> bytes:
    """The same fields, of an operation whose data is in that block."""
    end = _OPERATION.size
    return b"".join((described[:end - 4], pack_u32(block), described[end:]))


def start(number: int, described: bytes, data: Sequence[bytes], size: int) -> bytes:
    """`data`: parts of `size` bytes in all."""
    return b"".join((_OPERATION_HEAD.pack(13 + len(described) + size, START, number), described,
                     pack_u32(size), *data))


def call(number: int, described: bytes, data: Sequence[bytes], size: int,
         threads: Sequence[int]) -> bytes:
    """`data`: parts of `size` bytes in all."""
    silent = numbers("I", threads) if threads else _NO_THREADS
    return b"".join((_OPERATION_HEAD.pack(13 + len(described) + size + len(silent), CALL, number),
                     described, pack_u32(size), *data, silent))


def hello(rank: int, world_size: int, process: int, thread: int, is_watcher: bool,
          thread_name: str) -> bytes:
    return frame(HELLO, struct.pack("<IiiIIB", VERSION, rank, world_size, process, thread,
                                    is_watcher), text(thread_name))


def group(number: int, name: str, role: str, ranks: Sequence[int], timeout_ns: int,
          place: bytes) -> bytes:
    return frame(GROUP, pack_u32(number), text(name), text(role), numbers("i", ranks),
                 struct.pack("<q", timeout_ns), place)


def timeout_ns(seconds: Optional[float]) -> int:
    """What a frame says of a timeout > 0; of None, 0."""
    return 0 if seconds is None else max(1, int(min(seconds * 1e9, NEVER_NS)))


def wait(ids: Sequence[int], threads: Sequence[int], place: bytes, timeout_ns: int = 0) -> bytes:
    """`timeout_ns`: 0 for as long as it takes."""
    return frame(WAIT, numbers("Q", ids), struct.pack("<q", timeout_ns), numbers("I", threads),
                 place)


def wait_any(ids: Sequence[int], threads: Sequence[int], place: bytes) -> bytes:
    """`ids`: at least one, all different."""
    return frame(WAIT_ANY, numbers("Q", ids), numbers("I", threads), place)


def test(number: int, threads: Sequence[int]) -> bytes:
    return frame(TEST, struct.pack("<Q", number), numbers("I", threads))


def drop(number: int, place: bytes) -> bytes:
    return frame(DROP, struct.pack("<Q", number), place)


def close(number: int) -> bytes:
    return frame(CLOSE, pack_u32(number))


def abort(number: int) -> bytes:
    return frame(ABORT, pack_u32(number))


def block(number: int, size_bytes: int) -> bytes:
    return frame(BLOCK, struct.pack("<IQ", number, size_bytes))


def store(function: int, place: bytes, *, number: int = 0, keys: Sequence[bytes] = (),
          values: Sequence[bytes] = (), timeout_ns: int = 0,
          threads: Sequence[int] = ()) -> bytes:
    return frame(STORE, struct.pack("<Bq", function, number), blobs(keys), blobs(values),
                 struct.pack("<q", timeout_ns), numbers("I", threads), place)


def output(name: str, data_type: int, count: int, values: bytes) -> bytes:
    return frame(OUTPUT, text(name), struct.pack("<BQ", data_type, count), blob(values))


def failed(kind: str, message: str, traceback: str, place: bytes) -> bytes:
    return frame(FAILED, text(kind), text(message), text(traceback), place)


def finding(identifier: str, message: str, ranks: Sequence[int], place: bytes) -> bytes:
    """`message`: a sentence; or, beginning with a small letter, what `ranks` did."""
    return frame(FINDING, text(identifier), text(message), numbers("i", ranks), place)


def new_group(init: int, name: str, ranks: Sequence[int], place: bytes) -> bytes:
    return frame(NEW_GROUP, pack_u32(init), text(name), numbers("i", ranks), place)


def stacks(threads) -> bytes:
    """`threads`: for each one its native id, or 0, its name and its frames, (file, line, function),
    innermost first."""
    fields = [pack_u32(len(threads))]
    for number, name, frames in threads:
        fields += (pack_u32(number), text(name), pack_u32(len(frames)),
                   *(site(*place) for place in frames))
    return frame(STACK, *fields)


class Fields:
    """Reads the fields of one frame in their order."""

    def __init__(self, view: memoryview):
        self._view = view
        self._at = 0

    def unpack(self, layout: struct.Struct) -> tuple:
        at = self._at
        self._at = at + layout.size
        if self._at > len(self._view):
            raise ProtocolError(f"a frame of {len(self._view)} bytes ends within a field")
        return layout.unpack_from(self._view, at)

    def number(self, code: str) -> int:
        return self.unpack(struct.Struct("<" + code))[0]

    def blob(self) -> memoryview:
        size, = self.unpack(_U32)
        at = self._at
        self._at = at + size
        if self._at > len(self._view):
            raise ProtocolError(f"a frame of {len(self._view)} bytes has a field of {size}")
        return self._view[at:self._at]

    def text(self) -> str:
        return str(self.blob(), "utf-8", "replace")

    def blobs(self) -> List[bytes]:
        return [bytes(self.blob()) for _ in range(self._count(4))]

    def ranks(self) -> Tuple[int, ...]:
        return self.unpack(struct.Struct(f"<{self._count(4)}i"))

    def _count(self, least_bytes: int) -> int:
        count, = self.unpack(_U32)
        if count * least_bytes > len(self._view) - self._at:
            raise ProtocolError(f"a frame of {len(self._view)} bytes has a list of {count}")
        return count

    def end(self) -> None:
        if self._at != len(self._view):
            raise ProtocolError(f"a frame has {len(self._view) - self._at} bytes too many")


def read_done(view: memoryview) -> List[Result]:
    fields = Fields(view)
    results = []
    count, = fields.unpack(_U32)
    for _ in range(count):
        status, source, tag, members = fields.unpack(_RESULT)
        ranks = fields.unpack(struct.Struct(f"<{members}i")) if members else ()
        results.append(Result(status, source, tag, ranks, fields.text(), fields.blob()))
    fields.end()
    return results


# A frame `done` with one result that has no ranks and no error, up to its data: its head, then
# count, status, source, tag, numbers of ranks and of bytes of the error and the data.
_DONE_HEAD = struct.Struct("<IBIBiiIII")


def done_head(result: Result, size: int) -> bytes:
    """How a `done` begins that tells `result`, which has no ranks and no error, and `size` bytes of
    data; they follow."""
    return _DONE_HEAD.pack(_DONE_HEAD.size - 4 + size, DONE, 1, result.status, result.source,
                           result.tag, 0, 0, size)


def read_stored(view: memoryview) -> Tuple[int, int, List[bytes], str]:
    """Status, number, values and error."""
    fields = Fields(view)
    answer = (fields.number("B"), fields.number("q"), fields.blobs(), fields.text())
    fields.end()
    return answer


def read_welcome(view: memoryview) -> Tuple[int, int, int, bool]:
    """Version, world size, seed, and whether operations are in a stream's order."""
    fields = Fields(view)
    answer = (fields.number("I"), fields.number("i"), fields.number("Q"), fields.number("B") != 0)
    fields.end()
    return answer


def read_first(view: memoryview) -> int:
    fields = Fields(view)
    answer = fields.number("I")
    fields.end()
    return answer


def read_over(view: memoryview) -> Tuple[int, str]:
    fields = Fields(view)
    answer = (fields.number("B"), fields.text())
    fields.end()
    return answer


def read_text(view: memoryview) -> str:
    fields = Fields(view)
    answer = fields.text()
    fields.end()
    return answer


def split_frames(data: bytes) -> Iterable[Tuple[int, memoryview]]:
    """The whole frames in `data`, as kind and fields; for tests and tools."""
    view, at = memoryview(data), 0
    while at + 5 <= len(view):
        size = frame_size(view, at)
        if at + 4 + size > len(view):
            return
        yield view[at + 4], view[at + 5:at + 4 + size]
        at += 4 + size


def frame_size(view, at: int) -> int:
    """The size that the frame at `at` names. Throws ProtocolError if no frame has it."""
    size, = _U32.unpack_from(view, at)
    if not 1 <= size <= MAX_FRAME_BYTES:
        raise ProtocolError(f"the conductor sent a frame of {size} bytes; must be 1 byte to 64 MiB")
    return size
