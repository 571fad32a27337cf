"""A distributed checkpoint, saved and loaded. PyTorch 2.2 or newer."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    torch.manual_seed(0)
    saved = nn.Linear(4, 4).state_dict()
    checkpoint.save({"model": saved}, checkpoint_id=folder[0])
    loaded = {"model": nn.Linear(4, 4).state_dict()}
    checkpoint.load(loaded, checkpoint_id=folder[0])
    assert all(torch.equal(saved[name], loaded["model"][name]) for name in saved)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
