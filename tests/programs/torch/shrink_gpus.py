"""Ranks that go on without one that dies: torch.distributed.shrink_group, which needs NCCL. With
`gangsim torch --cuda-as-cpu`, on the CPU. PyTorch 2.14.

Rank 1 is the one that may die, as a plan of faults says. With the argument `leaves` it ends by
itself.
"""

import sys

import torch
import torch.distributed as dist

STEPS = 4


def sum_of_step(rank, step):
    """What the ranks that are there compute: the sum of their numbers in the run, and the step."""
    value = torch.tensor([rank, step], device="cuda")
    dist.all_reduce(value)
    return value[0].item(), value[1].item() // dist.get_world_size()


def train(rank):
    """The results of all steps."""
    results = []
    while len(results) < STEPS:
        try:
            results.append(sum_of_step(rank, len(results)))
        except RuntimeError:
            dist.shrink_group([1], shrink_flags=dist.distributed_c10d.SHRINK_ABORT)
    return results


def check_new_numbers(rank, survivors, old):
    """After the default group has been shrunk: of one in which ranks are counted anew."""
    assert dist.get_rank() == survivors.index(rank)
    assert old not in dist.distributed_c10d._world.pg_map  # no other group is left
    last_two = dist.new_group([1, 2])
    if dist.get_rank() in (1, 2):
        both = torch.tensor([rank], device="cuda")
        dist.all_reduce(both, group=last_two)
        assert both.item() == survivors[1] + survivors[2]


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    old = dist.new_group([0, 1])
    survivors = [each for each in range(world) if each != 1]
    assert sum_of_step(rank, 7) == (sum(range(world)), 7)
    if "leaves" in sys.argv[1:]:
        if rank == 1:
            return
        dist.shrink_group([1])
    for step, (total, same) in enumerate(train(rank)):
        assert same == step and total in (sum(range(world)), sum(survivors))
    if dist.get_world_size() < world:
        assert total == sum(survivors)
        check_new_numbers(rank, survivors, old)
    dist.barrier()
    if rank == 0:
        print(f"all well with {dist.get_world_size()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
