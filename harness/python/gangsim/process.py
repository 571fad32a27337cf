"""Which rank this process is, and its threads' connections.

A process becomes a rank by RANK and WORLD_SIZE in its environment, or by what it passes to
init_process_group. A process forked from a rank is not a rank.
"""

import atexit
import faulthandler
import functools
import itertools
import os
import signal
import sys
import threading
import traceback
import weakref
from typing import Callable, List, Optional, Sequence

from . import call_site, exits, wire
from .connection import Connection
from .errors import Error, GangFailure, InvalidArgument, InvalidOperation

SOCKET = "GANGSIM_SOCKET"

# Threads of libraries that never call a collective; anything else may.
_BACKGROUND = ("tqdm.", "tensorboard.", "tensorboardX.", "torch.utils.", "torch._inductor.",
               "multiprocessing.", "wandb.", "gangsim.")


class Identity:
    """A rank. `numbers` are those of its groups, operations and results."""

    def __init__(self, rank: int, world_size: int):
        if not 0 <= rank < world_size:
            raise InvalidArgument(
                f"rank {rank} of {world_size}; rank must be 0 to the world size - 1")
        self.rank, self.world_size, self.seed = rank, world_size, 0
        self.numbers = itertools.count(1)
        self.is_stream_ordered = False
        self.started = {}  # operations on a stream that nothing has waited for yet, oldest first
        self.has_spoken = False
        self.knows_end = False  # has been told that the run is over
        self.turn = None  # where ranks are threads, of which one at a time computes
        self.helpers = weakref.WeakSet()  # threads that its threads have started
        self.has_root = False  # whether a process group is the gang of all ranks
        self.inits = 0  # of torch.distributed


class _Process:
    """What all threads of this process share."""

    def __init__(self):
        self.identity: Optional[Identity] = None
        self.connections = weakref.WeakSet()
        self.speaking = weakref.WeakSet()  # threads that have made a call
        self.watcher: Optional[threading.Thread] = None
        self.own_threads = 1  # the main thread and the watcher
        self.has_started_threads = False  # since the last call
        self.forked_from: Optional[int] = None
        self.has_hooks = False
        self.thread_failures = []  # findings, of threads that never called
        self.has_thread_ranks = False
        self.lock = threading.Lock()


_process = _Process()
_explainers: List[Callable[[BaseException], str]] = []
_local = threading.local()


def is_simulated() -> bool:
    """Whether this process was started under a conductor and may be a rank of it."""
    return SOCKET in os.environ and _process.forked_from is None


def is_rank() -> bool:
    """Whether this process, or this thread where ranks are threads, knows which rank it is."""
    return _identity() is not None or ("RANK" in os.environ and "WORLD_SIZE" in os.environ)


def become(rank: int, world_size: int) -> Identity:
    """Makes this process rank `rank`. InvalidArgument if it already is another one."""
    known = _identity()
    if known is None:
        known = _process.identity = Identity(rank, world_size)
    elif (known.rank, known.world_size) != (rank, world_size):
        raise InvalidArgument(f"this process is rank {known.rank} of {known.world_size} and cannot "
                              f"become rank {rank} of {world_size}")
    return known


def become_thread(rank: Identity) -> None:
    """Makes this thread, and the threads that it starts, the rank `rank`."""
    threading.current_thread().gangsim_rank = rank
    _process.has_thread_ranks = True


def has_thread_ranks() -> bool:
    return _process.has_thread_ranks


def inherit_rank(thread: threading.Thread) -> None:
    """`thread`, which this thread starts, belongs to the same rank."""
    rank = getattr(threading.current_thread(), "gangsim_rank", None)
    if rank is not None:
        thread.gangsim_rank = rank
        rank.helpers.add(thread)


def forget_watcher() -> None:
    """The run that was watched is over; the next one has a watcher of its own."""
    _process.watcher, _process.own_threads = None, 1


def identity() -> Identity:
    """The rank that this thread belongs to, from the environment if need be."""
    found = _identity()
    if found is None:
        found = become(*_rank_of_environment())
    return found


def connection() -> Connection:
    """This thread's connection, made at its first call."""
    try:
        return _local.connection
    except AttributeError:
        pass  # what _connect raises is not a consequence of this
    return _connect()


def silent_threads() -> Sequence[int]:
    """The native ids of the Python threads of this rank that have made no request yet, but might;
    and 0 for those that have been started since the last call, and may have ended."""
    if _process.has_thread_ranks:
        threads = [thread for thread in list(_identity().helpers) if thread.is_alive()]
    elif _process.has_started_threads:
        _process.has_started_threads = False
        return [0, *_native_ids(threading.enumerate())]
    elif threading.active_count() <= _process.own_threads:
        return ()
    else:
        threads = threading.enumerate()
    return _native_ids(threads)


def _native_ids(threads: Sequence[threading.Thread]) -> List[int]:
    return [thread.native_id for thread in threads
            if thread.native_id is not None and thread not in _process.speaking
            and not _is_background(thread)]


def _note_started(thread: threading.Thread) -> None:
    if not _is_background(thread):
        _process.has_started_threads = True


def report_failure(kind, error, trace) -> None:
    """Tells the conductor that the exception `error` is about to end this process."""
    if kind is None or issubclass(kind, GangFailure) or not is_simulated():
        return
    if getattr(_local, "failure", None) is error:
        return  # already reported by a hook
    if issubclass(kind, SystemExit) and not error.code:
        _tell_failure("SystemExit", "", "", call_site.of_traceback(trace))
        return
    name = kind.__qualname__ if kind.__module__ == "builtins" else (
        f"{kind.__module__}.{kind.__qualname__}")
    text = "".join(traceback.format_exception(kind, error, trace))
    _local.failure = error
    _tell_failure(name, str(error), text, call_site.of_traceback(trace))


def _tell_failure(kind: str, message: str, text: str, place: bytes) -> None:
    try:
        own = connection() if is_rank() else None
    except Error:
        own = None
    if own is None or own.has_ended:
        return
    own.say(wire.failed(kind, _without_trace(message), text[-32768:], place))


def _without_trace(message: str) -> str:
    """`message` without indentation, and without the traceback of another process or thread that it
    passes on, as a DataLoader's does: that is in its own traceback."""
    lines = [line.strip() for line in message.strip().splitlines()]
    for index, line in enumerate(lines):
        if line.endswith("Traceback (most recent call last):"):
            return "\n".join(lines[:index] + lines[-1:])
    return "\n".join(lines)


def _report_exit(kind: str, message: str, text: str, place: bytes) -> None:
    """Tells the conductor of a call of sys.exit that has ended this process."""
    if is_simulated() and not hasattr(_local, "failure"):
        if message:
            _local.failure = None
        _tell_failure(kind, message, text, place)


def told(function: Callable) -> Callable:
    """`function`, which is all that a process runs, where nobody else tells what ends it."""

    @functools.wraps(function)
    def tell(*arguments, **named):
        try:
            return function(*arguments, **named)
        except BaseException as error:
            rank = _process.identity
            if rank is not None and rank.has_spoken and not hasattr(_local, "failure"):
                explained(error)
                report_failure(type(error), error, error.__traceback__)
            raise

    return tell


def without_own_frames(trace):
    """`trace` without gangsim's frames, unless there are no others."""
    while trace is not None and trace.tb_next is not None and (
            call_site.is_gangsim(trace.tb_frame.f_code)):
        trace = trace.tb_next
    last = trace
    while last is not None and last.tb_next is not None:
        if call_site.is_gangsim(last.tb_next.tb_frame.f_code):
            last.tb_next = last.tb_next.tb_next
        else:
            last = last.tb_next
    return trace


def explain_with(explain: Callable[[BaseException], str]) -> None:
    """`explain` returns more about an exception that ends this process, or ""."""
    _explainers.append(explain)


def explained(error: BaseException) -> BaseException:
    """`error`, with what is known about it added to its message, and without gangsim's frames."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (call_site.without_own_lines(error.args[0]),)
    for explain in _explainers:
        more = explain(error)
        if more and more not in str(error):
            error.args = (f"{str(error).rstrip('.')}; {more}",)
    error.__traceback__ = without_own_frames(error.__traceback__)
    return error


def say_goodbye() -> None:
    """Tells the conductor that this program has ended normally; nothing may follow."""
    own = getattr(_local, "connection", None)
    if own is not None and not hasattr(_local, "failure") and not own.has_ended:
        own.say(wire.frame(wire.BYE))
    if own is not None:
        own.close()


def _identity() -> Optional[Identity]:
    if _process.has_thread_ranks:
        rank = getattr(threading.current_thread(), "gangsim_rank", None)
        if rank is not None:
            return rank
    return _process.identity


def _rank_of_environment():
    values = []
    for name, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")):
        value = os.environ.get(name)
        if value is None and other in os.environ:
            raise InvalidOperation(f"{other} is set to {os.environ[other]!r} and {name} is not "
                                   "set; a rank needs both")
        if value is None:
            raise InvalidOperation(
                "this process does not know its rank: neither RANK nor WORLD_SIZE is set; start "
                "the program with `gangsim python --world N` or `gangsim torch --world N`")
        if not value.isdigit():
            raise InvalidOperation(f"{name} is {value!r}; must be a number")
        values.append(int(value))
    return values


def _connect() -> Connection:
    if _process.forked_from is not None:
        raise InvalidOperation(
            f"process {os.getpid()} was forked from rank {_process.forked_from} and is not a rank: "
            "a DataLoader worker or another forked process cannot call collectives")
    path = os.environ.get(SOCKET)
    if path is None:
        raise InvalidOperation(
            f"this process was not started by gangsim: {SOCKET} is not set; start the program with "
            "`gangsim python --world N` or `gangsim torch --world N`")
    rank = identity()
    thread = threading.current_thread()
    with _process.lock:
        is_first, rank.has_spoken = not rank.has_spoken, True
    made = Connection(path, rank, thread_name="" if is_first else thread.name)
    _process.connections.add(made)
    _process.speaking.add(thread)
    _local.connection = made
    with _process.lock:
        if _process.watcher is None:
            _start_watching(path, rank)
    return made


def _start_watching(path: str, rank: Identity) -> None:
    """Starts the thread that reports stacks, and hooks the end of the process."""
    _process.watcher = threading.Thread(target=_watch, args=(path, rank), name="gangsim watcher",
                                        daemon=True)
    _process.own_threads = 2
    _process.watcher.start()
    call_site.note_where_threads_start(_note_started)
    try:
        faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)
    except (AttributeError, OSError, RuntimeError, ValueError):
        pass  # no standard error to write to
    atexit.register(say_goodbye)
    hook_exceptions()


def _watch(path: str, rank: Identity) -> None:
    try:
        own = Connection(path, rank, is_watcher=True, thread_name="watcher")
        _process.connections.add(own)
        ident = threading.get_ident()
        while own.receive_question() == wire.ASK_STACK:
            for failure in _process.thread_failures:
                own.send(failure)
            own.send(call_site.stacks(ident))
    except Error:
        pass  # the conductor is gone; the next call reports that


def hook_exceptions() -> None:
    """Tells the conductor of exceptions that end this process or a thread that calls. Idempotent.
    """
    if _process.has_hooks:
        return
    _process.has_hooks = True
    in_main, in_thread = sys.excepthook, threading.excepthook

    def main_hook(kind, error, trace):
        trace = explained(error).__traceback__
        report_failure(kind, error, trace)
        in_main(kind, error, trace)

    def thread_hook(arguments):
        if issubclass(arguments.exc_type, SystemExit):
            pass  # it ends the thread only
        elif threading.current_thread() in _process.speaking:
            report_failure(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
        else:
            _keep_thread_failure(arguments)
        in_thread(arguments)

    sys.excepthook, threading.excepthook = main_hook, thread_hook
    exits.install(_report_exit)


def _keep_thread_failure(arguments) -> None:
    """Keeps what ended a thread that never called, in case that others hang without it."""
    rank, kind = _identity(), arguments.exc_type
    if rank is None or issubclass(kind, (SystemExit, GangFailure)):
        return
    place = call_site.of_traceback(arguments.exc_traceback)
    name = arguments.thread.name if arguments.thread is not None else "(unknown)"
    error = "".join(traceback.format_exception_only(kind, arguments.exc_value)).strip()
    _process.thread_failures.append(wire.finding(
        "thread_failed",
        f"Thread {name} of rank {rank.rank} ended with an exception at {call_site.text_of(place)}: "
        f"{error.splitlines()[-1][:1000]}", [rank.rank], place))


def _is_background(thread: threading.Thread) -> bool:
    module = type(thread).__module__ + "."
    if module == "threading.":
        module = getattr(getattr(thread, "_target", None), "__module__", None) or ""
        module += "."
    return module.startswith(_BACKGROUND)


def _after_fork_in_child() -> None:
    global _process, _local
    parent, rank = _process, _identity()
    if rank is None and not parent.speaking:
        return
    for inherited in list(parent.connections):
        inherited.close()
    _process, _local = _Process(), threading.local()
    _process.forked_from = rank.rank if rank else 0


os.register_at_fork(after_in_child=_after_fork_in_child)
