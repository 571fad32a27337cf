"""Rank 0 writes a tensor between a call and the wait for it."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    if dist.get_rank() == 0:
        x.zero_()
    work.wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
