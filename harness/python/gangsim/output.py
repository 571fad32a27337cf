"""Named values of a rank, compared between runs and backends."""

import os

from . import process, wire
from .tensor_view import moved, tensor_view

_FOLDER = "GANGSIM_OUTPUTS"  # where the ranks of a run without gangsim leave their outputs


def output(name: str, tensor: object) -> None:
    """Registers the values of `tensor`, as they are now, as this rank's output called `name`.

    `gangsim torch --compare` runs a script simulated and without gangsim, and compares the outputs.
    Otherwise nothing happens in a process that is not a rank of gangsim, so that a script runs
    unchanged without it.
    """
    if not is_wanted():
        return
    found = moved(tensor_view(tensor))
    frame = wire.output(name, found.data_type, found.count, bytes(found.view))
    if process.is_simulated():
        process.connection().send(frame)
    else:
        with open(os.path.join(os.environ[_FOLDER], os.environ["RANK"]), "ab") as file:
            file.write(frame)


def is_wanted() -> bool:
    """Whether anybody compares: under gangsim, and in the run that it is compared with."""
    if process.is_simulated():
        return process.is_rank()
    return _FOLDER in os.environ and "RANK" in os.environ
