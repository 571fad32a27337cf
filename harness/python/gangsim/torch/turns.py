"""Turns of ranks that are threads of one process: which of them computes."""

import contextlib
import random
import sys
import threading
import time

import torch

# A rank that holds the turn for so long, while the process hardly computes, waits for something
# outside of its gangs: a lock, a file, a thread. The others go on without it.
_PATIENCE_SECONDS = 0.2
_BUSY_SHARE = 0.05


class ProcessState:
    """What a process has only once, and each rank its own of: random numbers and __main__."""

    def __init__(self):
        numpy = sys.modules.get("numpy")
        self._torch, self._random = torch.get_rng_state(), random.getstate()
        self._numpy = numpy.random.get_state() if numpy is not None else None
        self._main = sys.modules.get("__main__")

    def restore(self) -> None:
        torch.set_rng_state(self._torch)
        random.setstate(self._random)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
        sys.modules["__main__"] = self._main


class Turn:
    """The right to compute, of which there is one, as the thread `owner` takes it and gives it
    away. Does nothing in other threads: those of a rank compute when they can."""

    def __init__(self, owner: threading.Thread):
        self._owner = owner
        self._state = ProcessState()

    def take(self) -> None:
        if threading.current_thread() is self._owner:
            _baton.acquire()
            with _guard:
                _holding.turn, _holding.since = self, time.monotonic()
            self._state.restore()

    def give_away(self) -> None:
        if threading.current_thread() is self._owner:
            self._lose()

    def _lose(self) -> None:
        with _guard:
            if _holding.turn is not self:
                return  # it was taken away
            self._state = ProcessState()
            _holding.turn = None
            _baton.release()


class _Holding:
    """Who has the turn, and since when."""

    turn = None
    since = 0.0


_baton, _guard, _holding = threading.Lock(), threading.Lock(), _Holding()
_watcher = None


@contextlib.contextmanager
def given_away():
    """While it lasts, others may have the turn of the calling thread, which will block."""
    turn = _holding.turn
    if turn is None or turn._owner is not threading.current_thread():
        yield
        return
    turn.give_away()
    try:
        yield
    finally:
        turn.take()


def watch() -> None:
    """From now on, takes the turn away from a rank that is blocked outside of its gangs."""
    global _watcher
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_take_away_from_the_blocked, name="gangsim turns",
                                    daemon=True)
        _watcher.start()


def _take_away_from_the_blocked() -> None:
    while True:
        used, begin = time.process_time(), time.monotonic()
        time.sleep(_PATIENCE_SECONDS)
        turn, passed = _holding.turn, time.monotonic() - begin
        if turn is not None and _holding.since < begin and (
                time.process_time() - used < _BUSY_SHARE * passed):
            turn._lose()
