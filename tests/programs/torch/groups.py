"""Groups of some ranks, used one after the other."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, world - 1, 2)]
    everyone = dist.new_group(list(range(world)), backend="gloo")
    x = torch.ones(1)
    dist.all_reduce(x, group=pairs[rank // 2])
    assert x == 2 and dist.get_rank(pairs[rank // 2]) == rank % 2
    dist.monitored_barrier(everyone)
    dist.destroy_process_group(everyone)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
