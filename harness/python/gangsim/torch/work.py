"""The Work of torch.distributed: one or more operations that a program waits for as one."""

import contextlib
import sys
import threading
from collections import deque
from datetime import timedelta
from typing import List, Optional, Sequence

from torch.distributed import distributed_c10d as c10d

from .. import call_site, process, wire
from ..connection import Pending
from ..errors import Error, error_of
from ..operation import Operation
from . import backward
from .errors import as_torch
from .future import Future
from .tensors import Piece, digest

# Before PyTorch 2.11, C++ keeps only its own half of a Work, and without the Python half its wait()
# never returns. These are the works that C++ asked for.
_kept = deque(maxlen=4096)
_RECENT = 64
_reported = set()
_local = threading.local()
_DDP_FILE = None


@contextlib.contextmanager
def complete_futures():
    """While it lasts, this thread's works are awaited when they are asked for their futures."""
    before, _local.completes_futures = _completes_futures(), True
    try:
        yield
    finally:
        _local.completes_futures = before


def _completes_futures() -> bool:
    return getattr(_local, "completes_futures", False)


def run(operations: Sequence[Operation], outputs: List[Piece]) -> int:
    """Performs the operations, and returns the source of the last one's message when all outputs
    are in place."""
    own, threads = process.connection(), process.silent_threads()
    source = wire.NO_RANK
    try:
        for operation in operations:
            source = own.call(operation, threads).source
    except Error as error:
        raise as_torch(error) from None
    for piece in outputs:
        if piece.staged is not None:
            piece.finish()
    return source


class Work(c10d.Work):
    """Operations that were started; `value` is what its future yields."""

    # Until operations have been started.
    _pending: Sequence[Pending] = ()
    _guarded: Sequence[Piece] = ()  # unchanged until completion
    _outputs: Sequence[Piece] = ()
    _digest: Optional[int] = None
    _error: Optional[Error] = None
    _future: Optional[Future] = None
    _place = b""
    _is_finished = True
    _parent: Optional["Work"] = None
    _adopted: Sequence["Work"] = ()

    def __init__(self, value: List, source: int = wire.NO_RANK):
        super().__init__()
        self._value, self._source = value, source

    # -- Making --

    def start(self, operations: Sequence[Operation], outputs: List[Piece],
              guarded: List[Piece]) -> None:
        own = process.connection()
        self._is_finished, self._pending = False, []
        self._outputs, self._guarded = outputs, guarded
        self._place = operations[0].place if operations else call_site.here()
        try:
            for operation in operations:
                self._pending.append(own.start(operation))
        except Error as error:
            raise as_torch(error) from None
        self._digest = digest(guarded)
        if process.identity().is_stream_ordered:  # this Work lives until then, as NCCL's tensors do
            for each in self._pending:
                each.work = self

    def end_by_order(self) -> None:
        """On a stream, a later operation has ended, and so have these."""
        if not self._is_finished:
            self._finish()

    def adopt(self, works: Sequence["Work"]) -> None:
        """Waits for the operations of `works` from now on."""
        self._is_finished, self._pending = False, []
        for work in works:
            work._parent = self
            self._pending += work._pending
        self._adopted = list(works)
        self._place = call_site.here()

    def keep_for_cpp(self) -> None:
        _kept.append(self)
        if len(_kept) > _RECENT and _kept[-_RECENT]._is_finished:
            _kept[-_RECENT]._value, _kept[-_RECENT]._future = [], None  # frees their tensors

    # -- torch.distributed.Work --

    def wait(self, timeout: Optional[timedelta] = None) -> bool:
        """Returns when all operations have ended and their outputs are in place; raises if
        `timeout` passes first (none, and 0, which C++ says: never). They go on then."""
        if not self._is_finished and not self._finish(_wait_ns(timeout)):
            raise as_torch(error_of(wire.TIMEOUT, f"wait timed out after {timeout}; the operation "
                                                  "has not ended"))
        if self._error is not None:
            raise as_torch(self._error)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        if self._is_finished:
            return True
        own = process.connection()
        try:
            if not all(own.test(each, process.silent_threads()) for each in self._waited_for()):
                return False
        except Error as error:
            raise as_torch(error) from None
        self._finish()
        return True

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self):
        return None if self._error is None else as_torch(self._error)

    def result(self) -> List:
        self.wait()
        return self._value

    def source_rank(self) -> int:
        self.wait()
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future:
        """A future of the outputs. Called by C++, it is complete before C++ can wait for it."""
        if self._future is not None:
            return self._future
        self._future = Future(self.wait)
        if self._is_finished:
            self._complete_future()
        elif _completes_futures():
            self.wait()
        elif backward.is_running() and not backward.is_in_final_callbacks():
            # DDP's reducer waits for this future, or for one chained to it, in a final callback of
            # the backward pass; callbacks run in their order, and ours comes first.
            backward.after(self.wait)
        elif (backward.is_running() or "get_future" not in sys._getframe(1).f_code.co_names
              or call_site.in_file(_ddp_file())):
            self.wait()
        return self._future

    def __del__(self):
        if self._is_finished or sys.is_finalizing():
            return
        for each in self._waited_for():
            each.owner.drop_later(each, self._place)

    # -- Completion --

    def _waited_for(self) -> List[Pending]:
        if self._parent is not None:
            return []
        return [each for each in self._pending if each.result is None]

    def _finish(self, timeout_ns: int = 0) -> bool:
        """Whether they have ended; if not, `timeout_ns` has passed, which is not 0."""
        if self._parent is not None and not self._parent._is_finished:
            return self._parent._finish(timeout_ns)
        works = self._adopted or (self,)
        for work in works:
            work._check_buffers()
        waiting = [each for each in self._pending if each.result is None]
        try:
            if not process.connection().wait(waiting, process.silent_threads(), call_site.here(),
                                             timeout_ns):
                return False
        except Error as error:
            raise as_torch(error) from None
        for work in works:
            work._settle()
        if self._adopted:
            self._error = next((work._error for work in works if work._error), None)
            self._settle()
        return True

    def _settle(self) -> None:
        """Takes the results, now that all operations have ended."""
        self._is_finished = True
        for each in self._pending:
            self._source = each.result.source
            if each.result.status and self._error is None:
                self._error = error_of(each.result.status, each.result.error)
        if self._error is None:
            for piece in self._outputs:
                piece.finish()
        self._outputs, self._guarded, self._pending, self._digest = (), (), (), None
        self._complete_future()

    def _complete_future(self) -> None:
        if self._future is None or self._future.done():
            return
        if self._error is not None:
            self._future.set_exception(as_torch(self._error))
        else:
            self._future.set_result(self._value)

    def _check_buffers(self) -> None:
        """Reports a tensor that was written, or whose memory was given away, while in flight."""
        if self._digest is None:
            return
        lost = [piece for piece in (*self._guarded, *self._outputs) if not piece.is_still_there()]
        if not lost and digest(self._guarded) == self._digest:
            return
        rank = process.identity().rank
        if (rank, self._place) not in _reported:  # ranks may be threads
            _reported.add((rank, self._place))
            what = "freed or resized" if lost else "wrote to"
            process.connection().say(wire.finding(
                "buffer_in_flight", f"{what} a tensor after the call at "
                f"{call_site.text_of(self._place)} and before the wait for it.", [rank],
                self._place))
        if lost:
            raise as_torch(error_of(1, "a tensor was freed or resized while an operation on it was "
                                       "in flight; wait for the operation first"))


def _wait_ns(timeout: Optional[timedelta]) -> int:
    """As wire.wait takes it. Less than 0 is as good as over."""
    return wire.timeout_ns(timeout.total_seconds() if timeout else None)


def _ddp_file() -> str:
    global _DDP_FILE
    if _DDP_FILE is None:
        from torch.nn.parallel import distributed
        _DDP_FILE = distributed.__file__
    return _DDP_FILE
