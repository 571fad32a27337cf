"""The gangs of a parallel layout: root, dp, rdp, sdp, tp, pp."""

from dataclasses import dataclass, field, replace
from typing import Dict, Optional

from .errors import InvalidArgument
from .fake_gang import FakeGang
from .gang import Gang


@dataclass(frozen=True)
class Gangs:
    """The gangs of one rank. Every field is set; rank 0 of the root is rank 0 in all of them.

    An axis of size 1 is a FakeGang of size 1; an axis of the root's size is the root itself.
    """

    root: Gang
    dp: Gang  # data parallel
    rdp: Gang  # replicated data parallel, over which sharded gradients are reduced
    sdp: Gang  # sharded data parallel
    tp: Gang  # tensor parallel
    pp: Gang  # pipeline parallel
    others: Dict[str, Gang] = field(default_factory=dict)  # other named axes: cp, ep, ...

    def at(self, name: str) -> Gang:
        """The gang called `name`. InvalidArgument lists the names."""
        named = {"root": self.root, "dp": self.dp, "rdp": self.rdp, "sdp": self.sdp,
                 "tp": self.tp, "pp": self.pp, **self.others}
        if name not in named:
            raise InvalidArgument(f"there is no gang {name!r}; there are: {', '.join(named)}")
        return named[name]

    def close(self) -> None:
        """Closes every gang, the root last. Idempotent."""
        for gang in (*self.others.values(), self.pp, self.tp, self.sdp, self.rdp, self.dp,
                     self.root):
            gang.close()


def create_parallel_gangs(root: Gang, *, tp: int = 1, pp: int = 1, **others: int) -> Gangs:
    """Gangs of the mesh (pp, dp, *others, tp) over `root`, where dp gets the ranks that are left;
    rdp = dp, sdp has size 1.

    With 8 ranks and tp=2: tp gangs [0,1][2,3][4,5][6,7], dp gangs [0,2,4,6][1,3,5,7]. Collective
    over `root`. InvalidArgument, with nothing sent, unless each size is at least 1 and their
    product divides the size of `root`.
    """
    sizes = {"pp": pp, **others, "tp": tp}
    product = 1
    for name, size in sizes.items():
        if size < 1:
            raise InvalidArgument(f"{name} is {size}; must be at least 1")
        product *= size
    if root.size % product:
        raise InvalidArgument(f"{' * '.join(f'{n} {s}' for n, s in sizes.items())} = {product} "
                              f"does not divide the {root.size} ranks of {root.name}")
    axes = {"pp": pp, "dp": root.size // product, **others, "tp": tp}
    made, stride = {}, root.size
    for name, size in axes.items():
        stride //= size
        made[name] = _axis(root, name, size, stride)
    return Gangs(root=root, dp=made["dp"], rdp=made["dp"], sdp=FakeGang(name="sdp"),
                 tp=made["tp"], pp=made["pp"], others={name: made[name] for name in others})


def create_fsdp_gangs(gangs: Gangs, intra_node_size: Optional[int] = None) -> Gangs:
    """`gangs` with sdp and rdp for fully sharded data parallelism: without `intra_node_size`,
    sdp = dp and rdp has size 1; with n, sdp is n consecutive dp ranks and rdp every n-th dp rank.

    Collective over dp. InvalidArgument, with nothing sent, unless n > 1 and n divides dp's size.
    """
    dp = gangs.dp
    if intra_node_size is None:
        return replace(gangs, sdp=dp, rdp=FakeGang(name="rdp"))
    if intra_node_size <= 1 or dp.size % intra_node_size:
        raise InvalidArgument(f"intra_node_size is {intra_node_size}; must be greater than 1 and "
                              f"divide the {dp.size} ranks of dp")
    return replace(gangs, rdp=_axis(dp, "rdp", dp.size // intra_node_size, intra_node_size),
                   sdp=_axis(dp, "sdp", intra_node_size, 1))


def create_fake_gangs() -> Gangs:
    """One FakeGang of size 1 in every field."""
    return Gangs(*(FakeGang(name=name) for name in ("root", "dp", "rdp", "sdp", "tp", "pp")))


def _axis(parent: Gang, name: str, size: int, stride: int) -> Gang:
    """The gang of the ranks of `parent` that differ from this one in one axis only."""
    if size == 1:
        return FakeGang(name=name)
    if size == parent.size:
        return parent
    coordinate = parent.rank // stride % size
    return parent.split(color=parent.rank - coordinate * stride, key=coordinate, name=name)
