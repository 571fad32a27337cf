"""Operations that were started."""

from typing import List

from . import call_site, process
from .connection import Pending, raise_if_failed


class Work:
    """Handle of a started operation.

    Its tensors belong to the operation until wait() returns or test() is true: until then the
    program must not read an output or write any of them. Dropping a Work that nobody has waited for
    is the finding `unwaited_work`.
    """

    def __init__(self, pending: List[Pending], keep: object = None):
        self.pending, self._keep = pending, keep
        self._place = call_site.here()

    def wait(self) -> None:
        """Blocks until the operation is complete. Raises its error, at every call."""
        waiting = self.unfinished()
        if waiting:
            process.connection().wait(waiting, process.silent_threads(), call_site.here())
        self._keep = None
        for each in self.pending:
            raise_if_failed(each.result)

    def test(self) -> bool:
        """Whether the operation is complete; never blocks. Raises its error."""
        for each in self.unfinished():
            if not process.connection().test(each):
                return False
        self.wait()
        return True

    @property
    def received(self):
        """The source and the tag of the message that a complete receive got."""
        from .point_to_point import Received
        self.wait()
        return Received(self.pending[-1].result.source, self.pending[-1].result.tag)

    def unfinished(self) -> List[Pending]:
        return [each for each in self.pending if each.result is None]

    def release(self) -> List[Pending]:
        """The operations, which are no longer this Work's to wait for."""
        released, self.pending = self.pending, []
        return released

    def __del__(self):
        for each in self.unfinished():
            each.owner.drop_later(each, self._place)
