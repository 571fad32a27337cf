"""One thread's connection to the conductor."""

import os
import socket
import threading
from collections import deque
from typing import Dict, List, Optional, Sequence, Tuple

from . import call_site, wire
from .errors import Error, GangError, InvalidOperation, NotSupported, ProtocolError, error_of
from .memory import Block, Blocks
from .operation import Operation

INLINE_BYTES = 4096
_IN_PLACE = frozenset((wire.ALL_REDUCE, wire.BROADCAST, wire.REDUCE))


class Pending:
    """An operation on its way. `result` is set once it has ended; its data is delivered by then.

    On a stream, `work.end_by_order()` is called when a later operation has ended, if there is one.
    """

    __slots__ = ("number", "operation", "block", "owner", "result", "work")

    def __init__(self, number: int, operation: Operation, block: Optional[Block], owner):
        self.number, self.operation, self.block, self.owner = number, operation, block, owner
        self.result: Optional[wire.Result] = None
        self.work = None


class Connection:
    """Requests and answers. Used by its thread only, except for `drop_later`.

    Errors of every request: GangFailure once the run is over, GangError connection when the
    conductor is gone.
    """

    def __init__(self, path: str, identity, *, is_watcher: bool = False, thread_name: str = ""):
        self._identity = identity
        self._process = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX)
        self._buffer = bytearray(64 << 10)
        self._view = memoryview(self._buffer)
        self._begin = self._end = 0
        self._ended: Optional[Tuple[int, str]] = None  # status and text, for every later request
        self._drops = deque()
        self._blocks = Blocks()
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise GangError(f"no gangsim conductor is listening at {path}: {error.strerror}",
                            "connection") from None
        kind, answer = self.request(wire.hello(
            identity.rank, identity.world_size, self._process, threading.get_native_id(),
            is_watcher, thread_name))
        if kind == wire.REFUSED:
            self._socket.close()
            raise InvalidOperation(wire.read_text(answer))
        if kind != wire.WELCOME:
            raise ProtocolError(f"the conductor answered hello with a frame of kind {kind}")
        version, identity.world_size, identity.seed, identity.is_stream_ordered = (
            wire.read_welcome(answer))
        if version != wire.VERSION:
            raise NotSupported(f"the conductor speaks version {version} of the protocol; "
                               f"this package speaks version {wire.VERSION}")

    # -- Operations --

    def call(self, operation: Operation, threads: Sequence[int]) -> wire.Result:
        """Performs `operation` and returns when its outputs are in place. Raises its error."""
        if self._identity.is_stream_ordered:
            result = self._perform(operation, threads)
            self._end_started()
            return result
        return self._perform(operation, threads)

    def _perform(self, operation: Operation, threads: Sequence[int]) -> wire.Result:
        inputs, outputs = operation.inputs, operation.outputs
        in_bytes = len(inputs[0]) if len(inputs) == 1 else sum(map(len, inputs))
        out_bytes = in_bytes if outputs is inputs else sum(map(len, outputs))
        number = next(self._identity.numbers)
        if in_bytes > INLINE_BYTES or out_bytes > INLINE_BYTES:
            block = self._write(operation, in_bytes, out_bytes)
            described = wire.in_block(operation.described(), block.number)
            frame = wire.call(number, described, (), 0, threads)
            return self._end_of([Pending(number, operation, block, self)], *self.request(frame))[0]
        frame = wire.call(number, operation.described(), inputs, in_bytes, threads)
        if self._identity.turn is not None:
            return self._end_of([Pending(number, operation, None, self)], *self.request(frame))[0]
        self.send(frame)
        if not self._end:  # else the end of the run has come behind an answer
            self._read()
        good = _good_heads.get(out_bytes) or _good_head(out_bytes)
        if self._end == len(good) + out_bytes and self._buffer.startswith(good):
            self._end = 0
            if out_bytes:
                _deliver(operation, self._view[len(good):len(good) + out_bytes])
            return NOTHING
        return self._end_of([Pending(number, operation, None, self)], *self._answer())[0]

    def start(self, operation: Operation) -> Pending:
        """Starts `operation`; its views must stay valid until it has ended."""
        in_bytes = sum(map(len, operation.inputs))
        out_bytes = sum(map(len, operation.outputs))
        number, block = next(self._identity.numbers), None
        if in_bytes <= INLINE_BYTES and out_bytes <= INLINE_BYTES:
            frame = wire.start(number, operation.described(), operation.inputs, in_bytes)
        else:
            block = self._write(operation, in_bytes, out_bytes)
            frame = wire.start(number, wire.in_block(operation.described(), block.number), (), 0)
        self.send(frame)
        pending = Pending(number, operation, block, self)
        if self._identity.is_stream_ordered:
            self._identity.started[pending] = None
        return pending

    def wait(self, pending: Sequence[Pending], threads: Sequence[int], place: bytes,
             timeout_ns: int = 0) -> bool:
        """Waits until all have ended, which then have their results, failed ones included; false
        if `timeout_ns`, unless that is 0, has passed first."""
        if not pending:
            return True
        frame = wire.wait([each.number for each in pending], threads, place, timeout_ns)
        kind, answer = self.request(frame)
        if kind == wire.TESTED and timeout_ns:
            return False
        self._end_of(pending, kind, answer, raises=False)
        if self._identity.is_stream_ordered:
            self._end_started(max(each.number for each in pending))
        return True

    def _end_started(self, before: Optional[int] = None) -> None:
        """On a stream, what this rank has started before an operation that has ended is complete:
        all, or those with numbers less than `before`."""
        started = self._identity.started  # to which other threads add
        for each in list(started):
            if each.result is None and before is not None and each.number >= before:
                continue
            started.pop(each, None)
            if each.result is not None:
                continue
            if each.work is not None:
                each.work.end_by_order()
            else:
                self.wait([each], (), call_site.here())

    def wait_any(self, pending: Sequence[Pending], threads: Sequence[int],
                 place: bytes) -> Pending:
        """Waits until one of `pending` (at least one, all different) has ended, and returns it with
        its result, be it an error; the first in the list if several have."""
        frame = wire.wait_any([each.number for each in pending], threads, place)
        kind, answer = self.request(frame)
        if kind != wire.FIRST:
            raise ProtocolError(f"the conductor answered wait_any with a frame of kind {kind}")
        index = wire.read_first(answer)
        if index >= len(pending):
            raise ProtocolError(f"the conductor chose operation {index} of {len(pending)}")
        self.wait([pending[index]], threads, place)
        return pending[index]

    def test(self, pending: Pending, threads: Sequence[int]) -> bool:
        """Whether a `wait` for it would return at once."""
        kind, answer = self.request(wire.test(pending.number, threads))
        if kind != wire.TESTED or len(answer) != 1:
            raise ProtocolError(f"the conductor answered test with a frame of kind {kind}")
        return answer[0] != 0

    def drop_later(self, pending: Pending, place: bytes) -> None:
        """Reports with the next request that the program has dropped it. For any thread."""
        self._drops.append(wire.drop(pending.number, place))
        pending.result = NOTHING

    def ask(self, frame: bytes) -> None:
        """A request that is answered by a `done` of its own. Raises its error."""
        kind, answer = self.request(frame)
        for result in _results(kind, answer):
            raise_if_failed(result)

    def store(self, frame: bytes) -> Tuple[int, List[bytes]]:
        """A request to the store; the number and the values of the answer. Raises its error."""
        kind, answer = self.request(frame)
        if kind != wire.STORED:
            raise ProtocolError(f"the conductor answered store with a frame of kind {kind}")
        status, number, values, error = wire.read_stored(answer)
        if status:
            raise error_of(status, error)
        return number, values

    # -- Frames --

    def request(self, frame: bytes) -> Tuple[int, memoryview]:
        """Sends `frame` and returns the kind and the fields of its answer."""
        self.send(frame)
        turn = self._identity.turn
        if turn is None:
            return self._answer()
        turn.give_away()
        try:
            return self._answer()
        finally:
            turn.take()

    def _answer(self) -> Tuple[int, memoryview]:
        kind, answer = self._receive()
        while kind == wire.ASK_STACK:
            self.send(call_site.own_stack())
            kind, answer = self._receive()
        if kind == wire.OVER:
            self._identity.knows_end = True
            self._ended = wire.read_over(answer)
            raise error_of(*self._ended)
        return kind, answer

    def send(self, frame: bytes) -> None:
        if self._ended is not None:
            raise error_of(*self._ended)
        if self._drops:
            frame = b"".join((*_all_of(self._drops), frame))
        try:
            self._socket.sendall(frame)
        except OSError as error:
            self._lose(error.strerror)

    def say(self, frame: bytes) -> None:
        """Sends `frame`, which has no answer, if anybody still listens."""
        try:
            self._socket.sendall(b"".join((*_all_of(self._drops), frame)))
        except OSError:
            pass

    def receive_question(self) -> int:
        """The kind of the next frame, whenever it comes: for a watcher."""
        return self._receive()[0]

    def close(self) -> None:
        self._socket.close()

    @property
    def has_ended(self) -> bool:
        return self._ended is not None

    def __del__(self):
        if getattr(self, "_process", None) == os.getpid() and self._socket.fileno() >= 0:
            self.say(wire.frame(wire.BYE))
            self._socket.close()

    def _receive(self) -> Tuple[int, memoryview]:
        while True:
            begin, end = self._begin, self._end
            if end - begin >= 5:
                size = 4 + wire.frame_size(self._buffer, begin)
                if end - begin >= size:
                    if begin + size == end:
                        self._begin = self._end = 0
                    else:
                        self._begin = begin + size
                    return self._buffer[begin + 4], self._view[begin + 5:begin + size]
                self._make_room(size)
            if self._end == len(self._buffer):
                self._make_room(5)
            self._read()

    def _read(self) -> None:
        try:
            count = self._socket.recv_into(self._view[self._end:] if self._end else self._buffer)
        except OSError as error:
            self._lose(error.strerror)
        except BaseException:  # of a signal handler: the answer is still to come
            self._ended = (8, "this thread was interrupted while waiting for an answer")
            raise
        if not count:
            self._lose("the conductor closed it")
        self._end += count

    def _make_room(self, size: int) -> None:
        """Moves what was received to the front of a buffer that holds a frame of `size` bytes."""
        if len(self._buffer) - self._begin >= size:
            return
        received = bytes(self._view[self._begin:self._end])
        if size > len(self._buffer):
            self._buffer = bytearray(size + (64 << 10))
            self._view = memoryview(self._buffer)
        self._buffer[:len(received)] = received
        self._begin, self._end = 0, len(received)

    def _lose(self, reason: str) -> None:
        self._ended = (8, f"lost the connection to the gangsim conductor: {reason}")
        raise error_of(*self._ended) from None

    # -- Results --

    def _write(self, operation: Operation, in_bytes: int, out_bytes: int) -> Block:
        """A block with the input, and with room for the output."""
        size_bytes = max(in_bytes, _output_at(operation, in_bytes) + out_bytes)
        block, is_new = self._blocks.take(size_bytes)
        if is_new:
            self._announce(block)
        at = 0
        for view in operation.inputs:
            block.view[at:at + len(view)] = view
            at += len(view)
        return block

    def _announce(self, block: Block) -> None:
        frame = wire.block(block.number, block.size_bytes)
        if self._ended is not None:
            raise error_of(*self._ended)
        try:
            sent = socket.send_fds(self._socket, [frame], [block.descriptor])
            self._socket.sendall(frame[sent:])
        except OSError as error:
            self._lose(error.strerror)
        finally:
            block.close_descriptor()

    def _end_of(self, pending: Sequence[Pending], kind: int, answer: memoryview,
                raises: bool = True) -> List[wire.Result]:
        results = _results(kind, answer)
        if len(results) != len(pending):
            raise ProtocolError(
                f"the conductor sent {len(results)} results for {len(pending)} operations")
        for index, (each, result) in enumerate(zip(pending, results)):
            if result.status == wire.OK and each.operation.outputs:
                _deliver(each.operation, result.data if each.block is None else
                         _output_in(each.block, each.operation))
            if each.block is not None:
                each.owner._blocks.give_back(each.block)
                each.block = None
            each.result = results[index] = result._replace(data=_EMPTY)
        if raises:
            for result in results:
                raise_if_failed(result)
        return results


_EMPTY = memoryview(b"")
NOTHING = wire.Result(wire.OK, wire.NO_RANK, 0, (), "", _EMPTY)  # of what gets no message
_good_heads: Dict[int, bytes] = {}  # what comes before the data, by their size


def _good_head(size: int) -> bytes:
    return _good_heads.setdefault(size, wire.done_head(NOTHING, size))


def raise_if_failed(result: wire.Result) -> None:
    if result.status != wire.OK:
        raise error_of(result.status, result.error)


def _results(kind: int, answer: memoryview) -> List[wire.Result]:
    if kind != wire.DONE:
        raise ProtocolError(f"the conductor answered a call with a frame of kind {kind}")
    return wire.read_done(answer)


def _output_at(operation: Operation, in_bytes: int) -> int:
    return 0 if operation.kind in _IN_PLACE else (in_bytes + 63) & ~63


def _output_in(block: Block, operation: Operation) -> memoryview:
    at = _output_at(operation, sum(map(len, operation.inputs)))
    return block.view[at:at + sum(map(len, operation.outputs))]


def _deliver(operation: Operation, data: memoryview) -> None:
    outputs, at = operation.outputs, 0
    if len(outputs) == 1 and len(data) == len(outputs[0]) > 0:
        outputs[0][:] = data
        return
    if len(data) != sum(map(len, outputs)):
        raise ProtocolError(f"the conductor sent {len(data)} bytes for outputs of "
                            f"{sum(map(len, outputs))}")
    for view in outputs:
        size = len(view)
        if size:
            view[:] = data[at:at + size]
        at += size


def _all_of(queue: deque) -> List[bytes]:
    frames = []
    while queue:
        frames.append(queue.popleft())
    return frames


__all__ = ["Connection", "Operation", "Pending", "Error", "raise_if_failed"]
