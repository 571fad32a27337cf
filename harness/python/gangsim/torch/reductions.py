"""Which of gangsim's reductions a call of torch.distributed asks for."""

from typing import Dict, List, Sequence

import torch
import torch.distributed as dist

from .. import wire
from ..errors import NotSupported
from ..operation import Operation
from .sizes import backend_of_tensors
from .tensors import Piece

_REDUCTIONS = [(getattr(dist.ReduceOp, name), ours) for name, ours in (
    ("SUM", "sum"), ("AVG", "mean"), ("PRODUCT", "product"), ("MIN", "min"), ("MAX", "max"),
    ("BAND", "band"), ("BOR", "bor"), ("BXOR", "bxor")) if hasattr(dist.ReduceOp, name)]
# Comparing ReduceOps takes microseconds; their hash is their number.
_BY_NUMBER = {hash(known): name for known, name in _REDUCTIONS}
_OF_BOOL = {"sum": "bor", "max": "bor", "product": "band", "min": "band"}
# Since PyTorch 2.8, Gloo averages, too.
_HAS_GLOO_AVG = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 8)


def reduction_name(opts, kind: torch.dtype, backend: str) -> str:
    """The reduction that `opts` (None, a ReduceOp, or options with one) names, for tensors of that
    type in a group for which `backend` was asked. NotSupported for PREMUL_SUM, and for AVG where
    this PyTorch's Gloo refuses it."""
    asked = dist.ReduceOp.SUM if opts is None else getattr(opts, "reduceOp", opts)
    name = _BY_NUMBER.get(hash(asked)) or next((ours for op, ours in _REDUCTIONS if op == asked), 0)
    if name == "mean" and not _HAS_GLOO_AVG and backend_of_tensors(backend) == "gloo":
        raise NotSupported("Cannot use ReduceOp.AVG with Gloo before PyTorch 2.8 (this is "
                           f"{torch.__version__}): sum, then divide by the number of ranks; or "
                           "use nccl, which averages")
    if name:
        return _OF_BOOL.get(name, name) if kind is torch.bool else name
    raise NotSupported(f"the reduction {asked} is not supported; supported are: "
                       f"{', '.join(name for _, name in _REDUCTIONS)}")


def reduces(group: int, rank: int, parts: Sequence[Piece], output: Piece, scale: int,
            named: Dict[str, int]) -> List[Operation]:
    """A reduce of each part to its rank: how PyTorch scatters parts of different sizes on NCCL."""
    return [Operation(group, wire.REDUCE, peer=root, count=scale * part.count, inputs=[part.view],
                      outputs=[output.view] if root == rank else (), **named)
            for root, part in enumerate(parts)]
