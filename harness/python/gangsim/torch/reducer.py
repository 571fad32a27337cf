"""What Python asks of DDP's reducer: C++, which waits for works and futures without saying so."""

import functools

import torch.distributed as dist

from . import work


def install() -> None:
    """Makes the reducer's methods take what they will wait for as complete, or keep it."""
    _wrap("_run_allreduce_hook", _running)
    _wrap("_set_forward_pass_work_handle", _keeping)


def _wrap(name: str, make) -> None:
    original = getattr(dist.Reducer, name, None)  # PyTorch 1 has not all of them
    if original is not None:
        setattr(dist.Reducer, name, functools.wraps(original)(make(original)))


def _running(original):
    """For hooks, which may wait at once for the future that they get: one of C++."""

    def run(reducer, bucket):
        with work.complete_futures():
            return original(reducer, bucket)

    return run


def _keeping(original):
    """For Join: C++ asks the work in the backward pass, when Python has let go of it."""

    def keep(reducer, handle, *arguments):
        if isinstance(handle, work.Work):
            handle.keep_for_cpp()
        return original(reducer, handle, *arguments)

    return keep
