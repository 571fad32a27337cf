"""Two groups used in another order on half of the ranks: each waits for the other's."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    order = [rows[rank // 2], columns[rank % 2]]
    if rank in (0, 3):
        order.reverse()
    for group in order:
        dist.all_reduce(torch.ones(1024), group=group)


if __name__ == "__main__":
    main()
