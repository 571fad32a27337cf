"""Where in the program a call comes from, and the stacks of its threads."""

import functools
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Callable, Dict, Optional, Tuple

from . import wire

_STANDARD = os.path.dirname(os.__file__) + os.sep

# Code that only passes calls on. The first frame outside of it is the program's own.
_inner: Tuple[str, ...] = (
    os.path.dirname(os.path.abspath(__file__)) + os.sep, "<frozen ", "<eval_with_key>",
    *(_STANDARD + name for name in (
        "contextlib.py", "functools.py", "threading.py", "runpy.py", "weakref.py",
        "concurrent" + os.sep, "multiprocessing" + os.sep, "asyncio" + os.sep)))

# By the id of a code object and the position in it: the site, None where the code only passes calls
# on, and the object itself, so that its id stays its own.
_sites: Dict[Tuple[int, int], Tuple[Optional[bytes], CodeType]] = {}
_MOST_SITES = 16384


def skip(path: str) -> None:
    """From now on, frames in files that begin with `path` are not the program's own."""
    global _inner
    if path not in _inner:
        _inner += (path,)
        _sites.clear()


def here(depth: int = 1) -> bytes:
    """The encoded site of the innermost frame that is the program's own; the `depth` innermost are
    known to be others. In a thread that a library has started for itself, where it was started."""
    frame = outermost = sys._getframe(depth)
    while frame is not None:
        key = (id(frame.f_code), frame.f_lasti)
        site, _ = _sites.get(key) or _noted(key, frame)
        if site is not None:
            return site
        outermost, frame = frame, frame.f_back
    return getattr(threading.current_thread(), "gangsim_started_at", None) or _encoded(outermost)


def note_where_threads_start(told: Optional[Callable[[threading.Thread], None]] = None) -> None:
    """From now on, threads know where they were started, and `told` of each. Idempotent."""
    start = threading.Thread.start
    if getattr(start, "notes_where", False):
        return

    @functools.wraps(start)
    def noting_start(thread):
        thread.gangsim_started_at = here()
        if told is not None:
            told(thread)
        return start(thread)

    noting_start.notes_where = True
    threading.Thread.start = noting_start


def _noted(key: Tuple[int, int], frame: FrameType) -> Tuple[Optional[bytes], CodeType]:
    if len(_sites) >= _MOST_SITES:
        _sites.clear()
    code = frame.f_code
    is_inner = code.co_filename.startswith(_inner)
    found = _sites[key] = (None if is_inner else _encoded(frame), code)
    return found


def _encoded(frame: FrameType) -> bytes:
    code = frame.f_code
    return wire.site(code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name))


def line_of(place: bytes) -> int:
    fields = wire.Fields(memoryview(place))
    fields.text()
    return fields.number("I")


def text_of(place: bytes) -> str:
    """An encoded site as reports show it, "train.py:41"."""
    fields = wire.Fields(memoryview(place))
    return f"{os.path.basename(fields.text())}:{fields.number('I')}"


def of_traceback(trace) -> bytes:
    """The encoded site where an exception left the program's own code: the innermost such frame, or
    that of a library if all are."""
    libraries = _libraries()
    outermost = of_library = own = None
    while trace is not None:
        code = trace.tb_frame.f_code
        place = (code.co_filename, trace.tb_lineno or 0, getattr(code, "co_qualname", code.co_name))
        outermost = outermost or place
        if not code.co_filename.startswith(_inner):
            of_library = place
            if not code.co_filename.startswith(libraries):
                own = place
        trace = trace.tb_next
    return wire.site(*(own or of_library or outermost or ("", 0, "")))


def _libraries() -> Tuple[str, ...]:
    """Where installed packages and the standard library are."""
    import site
    import sysconfig
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages() if hasattr(site, "getusersitepackages") else None)
    return tuple(folder.rstrip(os.sep) + os.sep for folder in folders if folder)


def is_gangsim(code) -> bool:
    """Whether `code` is of this package or starts programs."""
    return code.co_filename.startswith(_inner[:2])


def without_own_lines(text: str) -> str:
    """`text` without its lines that are frames of this package or of what starts programs, as C++
    adds them to the message of an exception that a callback has raised: "FILE(LINE): FUNCTION"."""
    hidden = (*_inner[:2], _STANDARD + "runpy.py")
    if "\n  " not in text or not any(path in text for path in hidden):
        return text
    return "".join(line for line in text.splitlines(keepends=True)
                   if not line.strip().startswith(hidden))


def in_file(path: str) -> bool:
    """Whether a caller's frame is in the file at `path`."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return frame is not None


def stacks(watcher_ident: int) -> bytes:
    """The stacks of all threads of this process except the watcher, main thread first, encoded.

    A stack ends where the program's own code has called a library: that is where to look.
    """
    known = {thread.ident: (thread.native_id or 0, thread.name)
             for thread in threading.enumerate()}
    main = threading.main_thread().ident
    frames = sorted(sys._current_frames().items(), key=lambda item: (item[0] != main, item[0]))
    return wire.stacks([(*known.get(ident, (0, str(ident))),
                         _without_libraries(_program_frames(frame)))
                        for ident, frame in frames if ident != watcher_ident])


def own_stack() -> bytes:
    """The stack of the calling thread, encoded."""
    thread = threading.current_thread()
    return wire.stacks([(thread.native_id or 0, thread.name, _program_frames(sys._getframe(1)))])


def _without_libraries(frames):
    """The frames from the innermost one of the program's own on; all if there is none."""
    libraries = _libraries()
    for index, (file, _, _) in enumerate(frames):
        if not file.startswith((*_inner, *libraries)):
            return frames[index:]
    return frames


def _program_frames(frame):
    """(file, line, function), innermost first, without frames of gangsim and runpy."""
    frames = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((*_inner[:2], _STANDARD + "runpy.py")):
            frames.append((code.co_filename, frame.f_lineno or 0,
                           getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    while len(frames) > 1 and frames[-1][0] == threading.__file__:
        frames.pop()  # what every thread begins with
    return frames
