"""Whether this thread is inside a backward pass, where every wait must be reported."""

import threading

import torch

_local = threading.local()
_has_static_graph = False


if hasattr(torch._C, "_current_graph_task_id") and hasattr(torch._C, "_current_autograd_node"):

    def is_running() -> bool:
        return torch._C._current_graph_task_id() != -1

    def is_in_final_callbacks() -> bool:
        return torch._C._current_autograd_node() is None

    def install() -> None:
        """Nothing is needed: the engine can be asked."""

else:  # PyTorch 1: asking the engine costs a C++ exception outside of a backward pass

    def is_running() -> bool:
        return getattr(_local, "depth", 0) > 0

    def is_in_final_callbacks() -> bool:
        return _has_static_graph

    def install() -> None:
        """Notes the beginning and the end of backward passes, and static graphs."""
        from torch.nn.parallel import DistributedDataParallel
        torch.autograd.backward = _noting(torch.autograd.backward)
        torch.autograd.grad = _noting(torch.autograd.grad)
        set_static_graph = DistributedDataParallel._set_static_graph

        def noting_static_graph(model):
            global _has_static_graph
            _has_static_graph = True
            return set_static_graph(model)

        DistributedDataParallel._set_static_graph = noting_static_graph

    def _noting(function):
        def call(*arguments, **named):
            _local.depth = getattr(_local, "depth", 0) + 1
            try:
                return function(*arguments, **named)
            finally:
                _local.depth -= 1

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        call.__wrapped__ = function
        return call


def after(callback) -> None:
    """Calls `callback` after the last node of the running backward pass, before what was asked
    for later."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)
