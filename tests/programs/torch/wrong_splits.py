"""The twin of all_to_all.py in which rank 1 expects one row too many from rank 0."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    input_splits, output_splits = [1] * world, [1] * world
    if rank == 1:
        output_splits[0] = 2
    dist.all_to_all_single(torch.empty(sum(output_splits)), torch.ones(world), output_splits,
                           input_splits)


if __name__ == "__main__":
    main()
