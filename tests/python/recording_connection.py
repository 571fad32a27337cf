"""A connection that keeps what a program asks for and answers at once: no conductor is needed."""

import contextlib
from unittest import mock

import package  # noqa: F401

from gangsim import process, wire
from gangsim.connection import NOTHING, Pending, raise_if_failed


def result(status=wire.OK, *, source=wire.NO_RANK, tag=0, ranks=(), error=""):
    return wire.Result(status, source, tag, tuple(ranks), error, memoryview(b""))


class RecordingConnection:
    """Gives each operation the result that `answer` has for it; `ended` are the numbers of those
    that have ended before anybody waits for them, `stored` what the store answers."""

    def __init__(self, answer=lambda operation: NOTHING):
        self.answer = answer
        self.operations, self.frames, self.dropped, self.waits = [], [], [], []
        self.ended, self.stored = set(), (0, [])
        self.has_ended = False

    def call(self, operation, threads=0):
        self.operations.append(operation)
        found = self.answer(operation)
        raise_if_failed(found)
        return found

    def start(self, operation):
        self.operations.append(operation)
        return Pending(len(self.operations), operation, None, self)

    def wait(self, pending, threads, place, timeout_ns=0):
        """With a timeout, only what has ended before ends in time."""
        self.waits.append([each.number for each in pending])
        if timeout_ns and not self.ended.issuperset(self.waits[-1]):
            return False
        for each in pending:
            each.result = self.answer(each.operation)
        return True

    def wait_any(self, pending, threads, place):
        """The first ends that is asked for."""
        self.wait(pending[:1], threads, place)

    def test(self, pending, threads):
        return pending.number in self.ended

    def drop_later(self, pending, place):
        self.dropped.append((pending.number, place))

    def send(self, frame):
        self.frames.append(frame)

    say = ask = send

    def store(self, frame):
        self.frames.append(frame)
        return self.stored

    def close(self):
        self.has_ended = True

    def told(self, kind):
        """The fields of the frames of that kind."""
        return [wire.Fields(fields) for each, fields in
                wire.split_frames(b"".join(self.frames)) if each == kind]


@contextlib.contextmanager
def recorded(rank=0, world_size=3, answer=lambda operation: NOTHING):
    """This process is rank `rank` while it lasts; yields its connection."""
    connection = RecordingConnection(answer)
    with mock.patch.object(process, "_process", process._Process()), \
            mock.patch.object(process, "connection", lambda: connection):
        process.become(rank, world_size)
        yield connection
