"""Which calls of torch.distributed wait for their Work at once."""

import os
import sys
from types import FrameType

from torch import overrides
from torch.distributed import distributed_c10d as c10d

_FILE = c10d.__file__
_TORCH = os.path.dirname(os.path.dirname(_FILE)) + os.sep
_WRAPPERS = frozenset((_FILE.replace("distributed_c10d.py", "c10d_logger.py"),
                       overrides.__file__))
_WITH_ASYNC_OP = frozenset((
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor",
    "_all_gather_base", "gather", "scatter", "reduce_scatter", "reduce_scatter_tensor",
    "_reduce_scatter_base", "all_to_all", "all_to_all_single", "barrier"))
_ALWAYS = frozenset(("send", "recv"))
# Functions of PyTorch that drop a Work, or leave it to C++, which may never wait for it.
_LEFT = frozenset(("notify_join_context", "_check_global_requires_backward_grad_sync",
                   "_match_unused_params_allreduce"))


def is_blocking_call(caller: FrameType) -> bool:
    """Whether `caller`, which called a process group, waits before it does anything else.

    Then one message to the conductor does for starting and waiting.
    """
    code = caller.f_code
    name = code.co_name
    if code.co_filename != _FILE:
        return name in _LEFT and code.co_filename.startswith(_TORCH)
    if name in _WITH_ASYNC_OP:
        return caller.f_locals.get("async_op", True) is False or _outer_name(caller) in _LEFT
    if name in ("isend", "irecv"):  # from PyTorch 2.6, send calls isend
        return _outer_name(caller) in _ALWAYS
    return name in _ALWAYS


def method_called_by(caller: FrameType) -> str:
    """The method of a process group that `caller` has called, from within that call."""
    frame = sys._getframe(1)
    while frame.f_back is not caller:
        frame = frame.f_back
    return frame.f_code.co_name


def _outer_name(frame: FrameType) -> str:
    """The function that called this one, without what wraps it.

    PyTorch 2.14 asks torch function modes, too, which then call the function again.
    """
    outer = frame.f_back
    while outer is not None and (
            outer.f_code is frame.f_code or outer.f_code.co_name == "__torch_function__"
            or outer.f_code.co_filename in _WRAPPERS):
        outer = outer.f_back
    if outer is None or not outer.f_code.co_filename.startswith(_TORCH):
        return ""
    return outer.f_code.co_name
