"""Groups in every way in which torch.distributed makes them, with ranks of their own."""

import torch
import torch.distributed as dist


def total(group, value):
    x = torch.tensor([float(value)])
    dist.all_reduce(x, group=group)
    return x.item()


def check_enumeration(rank, world):
    own, groups = dist.new_subgroups_by_enumeration(
        [list(range(0, world, 2)), list(range(1, world, 2))], backend="gloo")
    assert len(groups) == 2 and dist.get_rank(own) == rank // 2
    assert total(own, rank) == sum(range(rank % 2, world, 2))


def check_members_only(rank, world):
    """Ranks that are not members get a group that they must not use."""
    group = dist.new_group([world - 1, 0])  # in any order: ranks are sorted
    member = rank in (0, world - 1)
    assert dist.get_rank(group) == ((0 if rank == 0 else 1) if member else -1)
    assert (group != dist.GroupMember.NON_GROUP_MEMBER) == member
    if member:
        assert total(group, rank + 1) == world + 1
        x = torch.tensor([float(rank)])
        dist.broadcast(x, world - 1, group=group)  # the source is a rank of the world
        assert x.item() == world - 1
        dist.destroy_process_group(group)


def check_same_ranks_twice(rank, world):
    """Two groups of the same ranks do not mix."""
    first, second = dist.new_group(), dist.new_group()
    x, y = torch.ones(1), torch.full((1,), 2.0)
    works = [dist.all_reduce(x, group=first, async_op=True),
             dist.all_reduce(y, group=second, async_op=True)]
    for work in works:
        work.wait()
    assert (x.item(), y.item()) == (world, 2 * world)


def check_split(rank, world):
    half = world // 2
    own = dist.split_group(split_ranks=[list(range(half)), list(range(half, world))])
    assert dist.get_process_group_ranks(own) == (
        list(range(half)) if rank < half else list(range(half, world)))
    assert total(own, 1) == len(dist.get_process_group_ranks(own))
    inner = dist.split_group(own, [[0]])  # ranks of the group that is split
    assert (inner is None) == (rank not in (0, half))


def check_local_synchronization(rank, world):
    """Only the members call new_group."""
    if rank < 2:
        group = dist.new_group([0, 1], use_local_synchronization=True)
        assert total(group, rank + 1) == 3


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    check_members_only(rank, world)
    check_same_ranks_twice(rank, world)
    if int(torch.__version__.split(".")[0]) >= 2:
        check_enumeration(rank, world)  # PyTorch 1 wants CUDA for it
        check_local_synchronization(rank, world)
    if hasattr(dist, "split_group"):
        check_split(rank, world)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
