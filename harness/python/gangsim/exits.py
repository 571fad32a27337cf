"""Tells that sys.exit has ended this process: Python tells no hook of that."""

import sys
import threading
import traceback
from typing import Callable

from . import call_site


class _Exit(SystemExit):
    """What sys.exit raises. The interpreter drops it when no code of the program is left to run."""

    tell: Callable = None
    place = b""
    stack = ""

    def __del__(self):
        ends = sys._getframe().f_back is None and (
            threading.current_thread() is threading.main_thread())
        if ends and self.tell and not sys.is_finalizing():
            status = str(self.code) if self.code else ""
            self.tell("SystemExit", status, f"{self.stack}SystemExit: {status}\n" if status else "",
                      self.place)


_Exit.__name__ = _Exit.__qualname__ = "SystemExit"
_Exit.__module__ = "builtins"


def _ends_every_process(caller) -> bool:
    """Whether this frame is multiprocessing's, which calls sys.exit after the work is done."""
    return caller.f_globals.get("__name__", "").startswith("multiprocessing.")


def install(tell: Callable[[str, str, str, bytes], None]) -> None:
    """From now on, `tell(kind, message, traceback, place)` is called where sys.exit ends this
    process and not only a thread or a block that catches it. Where it does so in good order, with
    status 0 or none, `message` and `traceback` are empty; a process of multiprocessing that has
    done its work ends so by itself, and that is not told."""

    def exit(status=None, /):
        """Exits the interpreter by raising SystemExit(status)."""
        error = _Exit() if status is None else _Exit(status)
        if status or not _ends_every_process(sys._getframe(1)):
            frames = "".join(traceback.format_stack(sys._getframe(1)))
            error.stack = f"Traceback (most recent call last):\n{frames}"
            error.place = call_site.here()
            error.tell = tell
        try:
            raise error
        finally:
            del error  # its traceback has this frame, so that nothing would drop it

    sys.exit = exit
