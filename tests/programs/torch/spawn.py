"""Starts its ranks itself: `tools/gangsim torch -- python3 tests/programs/torch/spawn.py`."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def work(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29512"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    x = torch.full((2,), float(rank))
    dist.all_reduce(x)
    assert x[0] == world * (world - 1) / 2
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, args=(3,), nprocs=3)
