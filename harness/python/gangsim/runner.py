"""Runs a function on N ranks, each a process, from a test or a notebook."""

import functools
import inspect
import os
import pickle
import selectors
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from . import process
from .conductor import Conductor
from .errors import Error, GangFailure, InvalidArgument
from .gang import root_gang
from .torch import hook
from .zygote import end_with_parent

_GRACE_SECONDS = 30  # for the conductor, once all ranks have ended
default_seed = 1  # the pytest plugin's --gangsim-seed replaces it


def run(function: Callable, world: int = 4, *, seed: Optional[int] = None,
        schedule: str = "round_robin", faults: Optional[str] = None,
        report: Optional[str] = None, timeout: Optional[float] = None,
        options: Sequence[str] = ()) -> List[Any]:
    """Calls function(gang) in `world` processes forked from this one; their results in rank order.

    `gang` is the gang of all ranks; a function that takes no argument gets none, and may use
    torch.distributed as in a script. `schedule`, `seed` and `faults` (a plan's name or file) are
    those of `gangsim python`, as are further `options`; `report` is an HTML file to write. Results
    must be picklable.

    Raises GangFailure with the explanation if the run has a finding, a rank fails, or `timeout`
    seconds pass; NotSupported if the gangsim program is not found.
    """
    __tracebackhide__ = True
    if world < 1:
        raise InvalidArgument(f"world is {world}; must be at least 1")
    folder = tempfile.mkdtemp(prefix="gangsim-")
    arguments = ["--world", str(world), "--seed", str(default_seed if seed is None else seed),
                 "--schedule", schedule, *options]
    for name, value in (("--faults", faults), ("--report", report)):
        if value is not None:
            arguments += [name, os.fspath(value)]
    ranks: List[_Rank] = []
    try:
        with Conductor(folder, arguments) as conductor:
            ranks = [_fork(function, rank, world, conductor.socket) for rank in range(world)]
            answers = _listen(ranks, timeout)
            status = conductor.wait(_GRACE_SECONDS if answers is not None else 0)
            explanation, found = conductor.explanation(), conductor.report()
    finally:
        for rank in ranks:
            rank.end()
        shutil.rmtree(folder, ignore_errors=True)
    if answers is None:
        raise GangFailure(f"the ranks did not end within {timeout} s\n{explanation}", found)
    deaths = [rank.death for rank in ranks if rank.death]
    return _results(answers, status, "\n".join([explanation.rstrip(), *deaths]), found)


def ranks(world: int, **options: Any) -> Callable:
    """Decorates a test, `@gangsim.ranks(4)`: its parameter `gang` is the gang of all ranks.

    Other parameters are pytest's. `options` are those of `run`.
    """
    if not isinstance(world, int):
        raise InvalidArgument(f"ranks({world!r}); give the number of ranks: @gangsim.ranks(4)")

    def decorate(test):
        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name != "gang"]

        @functools.wraps(test)
        def call(*arguments, **named):
            __tracebackhide__ = True
            if len(others) == len(signature.parameters):
                return_value = run(lambda: test(*arguments, **named), world, **options)
            else:
                return_value = run(lambda gang: test(*arguments, gang=gang, **named), world,
                                   **options)
            if any(value is not None for value in return_value):
                raise InvalidArgument(f"{test.__name__} returns a value; a test returns None")

        call.__signature__ = signature.replace(parameters=others)
        return call

    return decorate


class _Rank:
    """A forked process, and the pipe that its answer comes through."""

    def __init__(self, rank: int, process_id: int, pipe: int):
        self.rank, self.process, self.pipe = rank, process_id, pipe
        self.death = ""  # how it ended, unless normally

    def end(self) -> None:
        os.close(self.pipe)
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if not ended:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        elif os.WIFSIGNALED(status):
            self.death = (f"Rank {self.rank}'s process was killed by signal "
                          f"{os.WTERMSIG(status)}.")
        elif os.WEXITSTATUS(status):
            self.death = (f"Rank {self.rank}'s process exited with status "
                          f"{os.WEXITSTATUS(status)}.")


class _Answer(NamedTuple):
    value: Any = None
    error: Optional[BaseException] = None
    traceback: str = ""


def _fork(function: Callable, rank: int, world: int, path: str) -> _Rank:
    reading, writing = os.pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(writing)
        return _Rank(rank, child, reading)
    try:
        os.close(reading)
        end_with_parent(parent)
        os.environ.update({
            process.SOCKET: path, "RANK": str(rank), "WORLD_SIZE": str(world),
            "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29500"})
        hook.install()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_answer(function))
    finally:
        os._exit(0)


def _answer(function: Callable) -> bytes:
    """Calls the function in a rank; the pickled answer."""
    try:
        gang = root_gang()
        answer = _Answer(function(gang) if takes_argument(function) else function())
        for thread in threading.enumerate():
            if thread not in (threading.main_thread(), threading.current_thread()) and (
                    not thread.daemon):
                thread.join()
        process.say_goodbye()
    except BaseException as error:
        trace = process.explained(error).__traceback__
        process.report_failure(type(error), error, trace)
        answer = _Answer(None, error, "".join(traceback.format_exception(
            type(error), error, trace)))
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return pickle.dumps(answer)
    except Exception as error:
        if answer.error is not None:
            return pickle.dumps(_Answer(None, Error(str(answer.error)), answer.traceback))
        return pickle.dumps(_Answer(None, Error(f"the result cannot be pickled: {error}"), ""))


def takes_argument(function: Callable) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:
        return True


def _listen(ranks: Sequence[_Rank], timeout: Optional[float]) -> Optional[Dict[int, _Answer]]:
    """What the ranks answer, where they do, once all have ended; None after `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    data = {rank.pipe: b"" for rank in ranks}
    with selectors.DefaultSelector() as selector:
        for pipe in data:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            for key, _ in selector.select(left):
                part = os.read(key.fd, 1 << 16)
                data[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
    return {index: pickle.loads(data[rank.pipe]) for index, rank in enumerate(ranks)
            if data[rank.pipe]}


def _results(answers: Dict[int, _Answer], status: int, explanation: str,
             found: dict) -> List[Any]:
    __tracebackhide__ = True
    failed = {rank: answer for rank, answer in answers.items() if answer.error is not None}
    # A rank's own exception comes before errors that report another rank's.
    own = {rank: answer for rank, answer in failed.items() if not isinstance(answer.error, Error)}
    first = min(own or failed, default=None)
    if status == 0 and first is None:
        return [answers[rank].value for rank in sorted(answers)]
    if status == 0:  # the run was good, and yet a rank had no answer
        explanation = f"Rank {first}: {failed[first].error}"
    if own and failed[first].traceback.strip() not in explanation:
        explanation += f"\n\nThe traceback of rank {first}:\n\n{failed[first].traceback}"
    raise GangFailure(explanation.rstrip(), found, status or 1)
