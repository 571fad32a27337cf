"""A Work that nobody waits for: the program reads the tensor too early."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    x = torch.ones(4)
    dist.all_reduce(x, async_op=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
