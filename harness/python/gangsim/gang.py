"""The Gang: a set of ranks that perform collective operations together."""

from typing import TYPE_CHECKING, List, Optional, Sequence

from . import process, wire
from .collectives import Collectives
from .connection import NOTHING
from .errors import InvalidArgument, InvalidOperation
from .operation import Operation
from .point_to_point import PointToPoint
from .work import Received, Work

if TYPE_CHECKING:
    from .gangs import Gangs

NO_COLOR = -1
NOBODY = Received(NOTHING.source, NOTHING.tag)  # of what is not a receive


class Gang(Collectives, PointToPoint):
    """A set of ranks that perform collective operations together.

    Ranks passed to a method are always this gang's ranks. Every operation but the point-to-point
    ones is collective: all members call it, and the k-th call of one member matches the k-th call
    of every other. Operations have a blocking form, which returns when the result is in place, and
    a start_ form, which returns a Work at once.

    Tensors are contiguous and on the CPU: numpy arrays, torch tensors, array.array, anything with
    the buffer protocol, __array_interface__ or DLPack. Zero elements are legal. `label` is shown in
    reports; two members that give one must give the same.

    Errors of every operation: InvalidArgument (the call itself is wrong; nothing was sent),
    InvalidOperation (the gang is closed), NotSupported (nothing was sent), GangError (kind timeout,
    peer_failed, mismatch or aborted: the gang is broken), GangFailure (the run has ended with a
    verdict, which is the message).
    """

    def __init__(self, number: int, name: str, ranks: Sequence[int], rank: int):
        self._number, self._name, self._ranks = number, name, tuple(ranks)
        self._rank, self._size = rank, len(ranks)
        self._is_closed = False

    @property
    def rank(self) -> int:
        """This member's rank in the gang."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of members."""
        return self._size

    @property
    def name(self) -> str:
        """What reports call it."""
        return self._name

    @property
    def device(self) -> str:
        """Where its tensors are: always "cpu"."""
        return "cpu"

    @property
    def ranks(self) -> List[int]:
        """The members as ranks of the root gang."""
        return list(self._ranks)

    @property
    def is_closed(self) -> bool:
        """Whether this rank has closed its side."""
        return self._is_closed

    def __repr__(self) -> str:
        return f"{self._name}[{','.join(map(str, self._ranks))}] rank {self._rank}"

    # -- Groups and lifetime --

    def create_gang(self, ranks: Sequence[int], name: str = "") -> Optional["Gang"]:
        """A gang of `ranks` of this gang: member ranks[i] gets rank i; the others get None.

        Collective over all members of this gang, which pass the same list.
        """
        ranks = [self._member("ranks", rank) for rank in ranks]
        if not ranks or len(set(ranks)) != len(ranks):
            raise InvalidArgument(f"ranks are {ranks}; they must be unique, and at least one")
        return self._made(wire.CREATE_GANG, name, first=ranks)

    make_gang = create_gang

    def split(self, color: int = NO_COLOR, key: int = 0, name: str = "") -> Optional["Gang"]:
        """One gang per color (>= 0; NO_COLOR gives None), ordered by (key, rank here).

        Collective. Costs O(size) in total, so this is how to build a mesh at scale.
        """
        return self._made(wire.SPLIT, name, first=(color, key))

    def shrink(self, grace: Optional[float] = None, name: str = "") -> "Gang":
        """A gang of the members that are still there, with which survivors of a GangError continue.

        Every member that is there calls it. Blocks until each other member has called it or is
        known to be gone, or until `grace` seconds (> 0) have passed.
        """
        if grace is not None and grace <= 0:
            raise InvalidArgument(f"grace is {grace} s; must be greater than 0")
        return self._made(wire.SHRINK, name, first=() if grace is None else (int(grace * 1e9),))

    def parallel_gangs(self, tp: int = 1, pp: int = 1, **others: int) -> "Gangs":
        """Gangs of the mesh (pp, dp, tp) over this gang; see create_parallel_gangs."""
        from .gangs import create_parallel_gangs
        return create_parallel_gangs(self, tp=tp, pp=pp, **others)

    def abort(self) -> None:
        """Breaks the gang now: pending and later operations on it fail on every member."""
        process.connection().send(wire.abort(self._number))

    def close(self) -> None:
        """Closes this rank's side of the gang. Idempotent; using it afterwards is an error."""
        if not self._is_closed:
            self._is_closed = True
            process.connection().send(wire.close(self._number))

    # -- Operations on their way --

    def _open(self) -> int:
        """Its number. InvalidOperation if it is closed."""
        if self._is_closed:
            raise InvalidOperation(f"the gang {self._name} is closed")
        return self._number

    def _run(self, operation: Operation) -> Received:
        result = process.connection().call(operation, process.silent_threads())
        return NOBODY if result is NOTHING else Received(result.source, result.tag)

    def _begin(self, operation: Operation, keep: object = None) -> Work:
        """`keep` owns the memory of the operation's views."""
        return Work([process.connection().start(operation)], keep)

    def _member(self, what: str, rank: int) -> int:
        if not 0 <= rank < self._size:
            raise InvalidArgument(
                f"{what} has rank {rank}; the ranks of {self._name} are 0 to {self._size - 1}")
        return rank

    def _made(self, kind: int, name: str, first: Sequence[int]) -> Optional["Gang"]:
        own = process.identity()
        number = next(own.numbers)
        operation = Operation(self._open(), kind, first=tuple(first), label=name, result=number)
        result = process.connection().call(operation, process.silent_threads())
        if not result.ranks:
            return None
        return Gang(number, name or f"{self._name}.{number}", result.ranks,
                    result.ranks.index(own.rank))


def root_gang() -> Gang:
    """The gang of all ranks of the run, in a process that gangsim has started.

    InvalidOperation in any other process.
    """
    own = process.identity()
    process.connection()
    return Gang(0, "root", range(own.world_size), own.rank)


wait_all, wait_any = Work.wait_all, Work.wait_any
