"""Operations that were started."""

from typing import List, NamedTuple, Optional, Sequence

from . import call_site, process, wire
from .connection import Pending, raise_if_failed
from .errors import InvalidArgument


class Received(NamedTuple):
    """The source and the tag of the message that a receive got; a rank of the gang."""

    source_rank: int
    tag: int


class Work:
    """Handle of a started operation, or of a batch of them.

    Its tensors belong to the operation until wait() returns, test() is true or wait_any() has
    chosen it: until then the program must not read an output or write any of them. Dropping a Work
    that the program has not waited for is the finding `unwaited_work`.

    Threads: one at a time per Work. Errors: those of the operation (see Gang).
    """

    def __init__(self, pending: List[Pending], keep: object = None):
        self.pending, self._keep = pending, keep
        self._place = call_site.here()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Blocks until the operation is complete, or for at most `timeout` seconds (> 0): then it
        returns false, the operation goes on, and the program may wait again.

        Raises the operation's error, at every call.
        """
        if timeout is not None and not timeout > 0:
            raise InvalidArgument(f"timeout is {timeout} s; must be greater than 0")
        waiting = self.unfinished()
        if waiting and not process.connection().wait(
                waiting, process.silent_threads(), call_site.here(), wire.timeout_ns(timeout)):
            return False
        self._keep = None
        for each in self.pending:
            raise_if_failed(each.result)
        return True

    def test(self) -> bool:
        """Whether the operation is complete; never blocks. Raises its error."""
        if not self._has_ended():
            return False
        self.wait()
        return True

    @staticmethod
    def wait_all(works: Sequence["Work"]) -> None:
        """Blocks until all have ended; then raises the first error in the list's order."""
        waiting = _unfinished(works)
        if waiting:
            process.connection().wait(waiting, process.silent_threads(), call_site.here())
        for work in works:
            work.wait()

    @staticmethod
    def wait_any(works: Sequence["Work"]) -> int:
        """Blocks until at least one is complete or has failed, and returns its index, the lowest if
        there are several; wait() on it then returns, or raises its error, at once.

        InvalidArgument for an empty list.
        """
        if not works:
            raise InvalidArgument("wait_any: the list is empty; must hold one or more works")
        ended = _first_finished(works)
        if ended is not None:  # one before it may have ended, too, and then comes first
            return next((index for index in range(ended) if works[index]._has_ended()), ended)
        while ended is None:
            process.connection().wait_any(_unfinished(works), process.silent_threads(),
                                          call_site.here())
            ended = _first_finished(works)
        return ended

    @property
    def received(self) -> Received:
        """The source and the tag of the message that a receive got. Waits for it."""
        self.wait()
        return Received(self.pending[-1].result.source, self.pending[-1].result.tag)

    def unfinished(self) -> List[Pending]:
        """The operations that the program has not seen end."""
        return [each for each in self.pending if each.result is None]

    def release(self) -> List[Pending]:
        """The operations, which are no longer this Work's to wait for."""
        released, self.pending = self.pending, []
        return released

    def _has_ended(self) -> bool:
        return all(process.connection().test(each, process.silent_threads())
                   for each in self.unfinished())

    def __del__(self):
        for each in self.unfinished():
            each.owner.drop_later(each, self._place)


def _unfinished(works: Sequence[Work]) -> List[Pending]:
    """Those of all works, each once."""
    return list(dict.fromkeys(each for work in works for each in work.unfinished()))


def _first_finished(works: Sequence[Work]) -> Optional[int]:
    return next((index for index, work in enumerate(works) if not work.unfinished()), None)
