"""The twin of groups.py in which rank 1 makes the groups in another order."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    lists = [[0, 1], [0, 1, 2]]
    if rank == 1:
        lists.reverse()
    groups = {len(ranks): dist.new_group(ranks) for ranks in lists}
    if rank < 2:
        dist.all_reduce(torch.ones(1), group=groups[2])


if __name__ == "__main__":
    main()
