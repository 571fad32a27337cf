"""How many elements the tensors of a call must have."""

from typing import List, Sequence, Tuple

from ..errors import InvalidArgument
from . import cuda_as_cpu
from .tensors import Piece


def check_parts(call: str, what: str, parts: Sequence[Piece], whole: Piece, size: int) -> None:
    """InvalidArgument unless `parts` are `size` times as large as `whole`: one tensor, or as many
    as there are ranks, each with as many elements."""
    total = sum(part.count for part in parts)
    if total != size * whole.count:
        raise InvalidArgument(f"{call}: {what} has {total} elements; must be {size} * "
                              f"{whole.count}, one part for each rank")
    for part in parts if len(parts) > 1 else ():
        if part.count != whole.count:
            raise InvalidArgument(f"{call}: a tensor of the {what} has {part.count} elements; "
                                  f"must be {whole.count}, the same for every rank")


def gathered_counts(outputs: Sequence[Piece], source: Piece, rank: int, size: int,
                    backend: str) -> Tuple[int, ...]:
    """The elements that an all_gather takes from each rank; () if all ranks give as many.

    NCCL accepts outputs of different sizes; others do not: InvalidArgument.
    """
    counts = [output.count for output in outputs]
    if len(counts) != size or len(set(counts)) == 1:
        check_parts("all_gather", "output", outputs, source, size)
        return ()
    if backend_of_tensors(backend) != "nccl":
        raise InvalidArgument(
            f"all_gather: the output tensors have {_listed(counts)} elements; with "
            f"{backend_of_tensors(backend)} all must have as many, and every rank's input too: "
            "pad them to the largest. Only nccl gathers tensors of different sizes")
    if counts[rank] != source.count:
        raise InvalidArgument(f"all_gather: output tensor {rank} has {counts[rank]} elements; must "
                              f"be {source.count}, as many as the input of this rank")
    return tuple(counts)


def are_scattered_unevenly(parts: Sequence[Piece], output: Piece, rank: int, size: int,
                           backend: str) -> bool:
    """Whether a reduce_scatter gives the ranks different numbers of elements, as only NCCL can.

    InvalidArgument if it cannot, or if `output` does not take this rank's part.
    """
    counts = [part.count for part in parts]
    is_even = len(counts) != size or len(set(counts)) == 1
    if is_even or backend_of_tensors(backend) != "nccl":
        check_parts("reduce_scatter", "input", parts, output, size)
        return False
    if counts[rank] != output.count:
        raise InvalidArgument(f"reduce_scatter: input tensor {rank} has {counts[rank]} elements; "
                              f"must be {output.count}, as many as the output of this rank")
    return True


def backend_of_tensors(asked: str) -> str:
    """The backend for the tensors of a group for which the program `asked` for "nccl", or for
    "cpu:gloo,cuda:nccl", which is also what PyTorch 2 takes if nothing is asked for."""
    device = "cuda" if cuda_as_cpu.is_asked_for() else "cpu"
    asked = asked.lower()
    if not asked or asked == "undefined":
        asked = "cpu:gloo,cuda:nccl"
    if ":" not in asked:
        return asked
    return dict(part.split(":", 1) for part in asked.split(",")).get(device, "gloo")


def _listed(counts: List[int]) -> str:
    """"1, 2 and 3", but not all of many."""
    most = 8
    if len(counts) > most:
        return ", ".join(map(str, counts[:most])) + ", ..."
    return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"
