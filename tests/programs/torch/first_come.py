"""A server that takes one result from whichever worker is first, and then one of each other worker.

It takes for granted who comes first, so it hangs only when another one does. `fixed` asks who it
was.
"""

import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    result = torch.full((1,), float(rank))
    if rank == 0:
        first = dist.recv(result)
        if "fixed" not in sys.argv:
            first = world - 1  # the last worker has the least to do
        for worker in range(1, world):
            if worker != first:
                dist.recv(result, worker)
    else:
        dist.send(result, 0)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
