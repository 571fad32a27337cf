"""Ranks as threads of this process, for tests and debuggers. PyTorch 2.

One rank at a time computes; the others wait for an answer or for their turn. Each has its own
torch.distributed, random numbers (of torch, random and numpy), __main__ module and connection.
What a process has only once is shared: os.environ, default data types, globals of other modules.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from typing import Any, Callable, List, Sequence

import torch
import torch.distributed as dist

from .. import process, runner
from ..conductor import Conductor
from ..errors import Error, GangFailure, InvalidArgument, NotSupported
from ..gang import root_gang
from ..rank_output import OutputOfThread
from . import hook, turns

_GRACE_SECONDS = 1.0  # for ranks that have not ended when the run has


def run(function: Callable, world: int = 4, *, seed: int = None, schedule: str = "round_robin",
        options: Sequence[str] = ()) -> List[Any]:
    """Calls function(gang) in `world` threads of this process; their results in rank order.

    `gang` is the gang of all ranks; a function without parameters gets none. It may use
    torch.distributed as a script does: init_process_group() knows its rank.

    Raises GangFailure with the explanation if the run has a finding or a rank fails; NotSupported
    on PyTorch 1, which keeps its groups in globals.
    """
    if world < 1:
        raise InvalidArgument(f"world is {world}; must be at least 1")
    if torch.__version__.startswith("1."):
        raise NotSupported(f"ranks as threads need PyTorch 2; this is {torch.__version__}")
    hook.install()
    arguments = ["--world", str(world), "--schedule", schedule, "--seed",
                 str(runner.default_seed if seed is None else seed), *options]
    folder = tempfile.mkdtemp(prefix="gangsim-")
    try:
        with Conductor(folder, arguments) as conductor:
            ranks = _run_ranks(function, world, conductor.socket)
            status, explanation = conductor.wait(30), conductor.explanation()
            found = conductor.report()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    failed = [rank for rank in ranks if rank.error is not None]
    if status or failed:
        own = [rank.error for rank in failed if not isinstance(rank.error, Error)]
        raise GangFailure(explanation.rstrip(), found, status or 1) from next(iter(own), None)
    return [rank.value for rank in ranks]


def run_script(script, world: int) -> bool:
    """Runs a Script in `world` threads of this process, which a conductor has started; whether all
    of them ended well. Each thread finds its own RANK and LOCAL_RANK in os.environ."""
    os.environ.update({"WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)})
    for name in _EnvironmentOfThread.names:
        os.environ.setdefault(name, "0")
    os.environ.__class__ = _EnvironmentOfThread
    sys.stdout, sys.stderr = OutputOfThread(sys.stdout), OutputOfThread(sys.stderr)
    ranks = _run_ranks(script.run, world, os.environ[process.SOCKET])
    sys.stdout.end_lines()
    sys.stderr.end_lines()
    return all(rank.has_ended_well for rank in ranks)


def _run_ranks(function: Callable, world: int, path: str) -> List["_Rank"]:
    with _ThreadWorlds(path):
        ranks = [_Rank(function, rank, world) for rank in range(world)]
        for rank in ranks:
            rank.start()
        _await(ranks)
    return ranks


def _await(ranks: List["_Rank"]) -> None:
    """Returns when all have ended, or soon after the end of the run: one may be stuck."""
    deadline = None
    for rank in ranks:
        while rank.is_alive() and (deadline is None or time.monotonic() < deadline):
            rank.join(0.1)
            if deadline is None and any(each.knows_end for each in ranks):
                deadline = time.monotonic() + _GRACE_SECONDS


class _EnvironmentOfThread(type(os.environ)):
    """os.environ with the numbers of this thread's rank."""

    names = ("RANK", "LOCAL_RANK")

    def __getitem__(self, name: str) -> str:
        if name in self.names:
            rank = getattr(threading.current_thread(), "gangsim_rank", None)
            if rank is not None:
                return str(rank.rank)
        return super().__getitem__(name)


class _Rank(threading.Thread):
    def __init__(self, function: Callable, rank: int, world: int):
        super().__init__(name=f"rank {rank}", daemon=True)
        self._function, self._identity = function, process.Identity(rank, world)
        self.turn = turns.Turn(self)
        self.value, self.error = None, None

    @property
    def knows_end(self) -> bool:
        return self._identity.knows_end

    @property
    def has_ended_well(self) -> bool:
        status = getattr(self.error, "code", 1) if self.error is not None else 0
        return not self.is_alive() and status in (None, 0)

    def run(self) -> None:
        own = self._identity
        process.become_thread(own)
        self.turn.take()
        own.turn = self.turn
        try:
            with torch.autograd.set_multithreading_enabled(False):
                gang = root_gang()
                takes_gang = runner.takes_argument(self._function)
                self.value = self._function(gang) if takes_gang else self._function()
        except BaseException as error:
            self.error = process.explained(error)
            process.report_failure(type(error), error, error.__traceback__)
        finally:
            process.say_goodbye()
            own.turn = None
            self.turn.give_away()


class _ThreadWorlds:
    """While it lasts, each rank's threads have a torch.distributed of their own."""

    def __init__(self, path: str):
        self._path = path

    def __enter__(self) -> None:
        c10d = dist.distributed_c10d
        self._world, self._start = c10d._world, threading.Thread.start
        self._join = threading.Thread.join
        self._state = turns.ProcessState()
        turns.watch()
        c10d._world = _WorldOfRank(self._world)
        torch._C._distributed_c10d._set_thread_isolation_mode(True)
        os.environ[process.SOCKET] = self._path
        start, join = self._start, self._join

        def inheriting_start(thread):
            process.inherit_rank(thread)
            start(thread)

        def yielding_join(thread, timeout=None):
            with turns.given_away():
                join(thread, timeout)

        threading.Thread.start, threading.Thread.join = inheriting_start, yielding_join

    def __exit__(self, *_) -> None:
        threading.Thread.start, threading.Thread.join = self._start, self._join
        del os.environ[process.SOCKET]
        process.forget_watcher()
        torch._C._distributed_c10d._set_thread_isolation_mode(False)
        dist.distributed_c10d._world = self._world
        self._state.restore()


class _WorldOfRank:
    """Stands for the state of torch.distributed: that of the rank whose thread looks at it."""

    def __init__(self, world):
        vars(self).update(_kind=_kind_of(world), _worlds={})

    def __getattr__(self, name: str):
        return getattr(self._own(), name)

    def __setattr__(self, name: str, value) -> None:
        setattr(self._own(), name, value)

    def _own(self):
        rank = getattr(threading.current_thread(), "gangsim_rank", None)
        known = self._worlds.get(rank)
        return known if known is not None else self._worlds.setdefault(rank, self._kind())


def _kind_of(world):
    """A class like that of `world`, the state of torch.distributed, without any group."""
    kinds, computed = {}, {}
    for name, value in vars(type(world)).items():
        if isinstance(value, property):
            try:
                kinds[name] = type(getattr(world, name))
            except (RuntimeError, ValueError):  # made of the others, and there is no group yet
                computed[name] = value

    def initialize(own) -> None:
        for name, kind in kinds.items():
            setattr(own, name, kind() if kind in (dict, list, int, str) else None)

    return type("WorldOfRank", (), {"__init__": initialize, **computed})
