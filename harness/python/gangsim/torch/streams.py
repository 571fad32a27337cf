"""Streams and events of a GPU that is the CPU: all is complete at once."""

import threading

import torch


class Stream:
    """A stream on which everything is complete; as a context, the thread's current one."""

    device = torch.device("cpu")
    cuda_stream = stream_id = priority = device_index = 0

    def __init__(self, *_, **__):
        """Any arguments: which device does not matter."""

    @staticmethod
    def priority_range() -> tuple:
        return 0, -1

    def _nothing(self, *_, **__) -> None:
        """There is nothing to wait for."""

    wait_stream = wait_event = synchronize = record = wait = _nothing

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:  # a CUDA graph
        return False

    def record_event(self, event=None):
        return event or Event()

    def __enter__(self):
        _of_thread.before = [*getattr(_of_thread, "before", ()), current()]
        set_current(self)
        return self

    def __exit__(self, *_) -> None:
        set_current(_of_thread.before.pop())


DEFAULT = Stream()
_of_thread = threading.local()


def current(*_):
    return getattr(_of_thread, "current", DEFAULT)


def set_current(stream) -> None:
    _of_thread.current = stream


class StreamContext:
    """`with torch.cuda.stream(s)`: the thread's current stream is `s`, or remains if that is None.

    A class, since torch.compile asks of objects whether they are one.
    """

    def __init__(self, stream=None):
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *raised) -> None:
        if self.stream is not None:
            self.stream.__exit__(*raised)


class Event(Stream):
    def elapsed_time(self, _) -> float:
        return 0.0
