"""Distributed checkpoints of plain and sharded tensors, saved and loaded. PyTorch 2.5 or newer."""

import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


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

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole = torch.arange(32.0).reshape(8, 4)
    parts = distribute_tensor(whole, mesh, [Shard(0)])
    pending = checkpoint.async_save({"parts": parts}, checkpoint_id=folder[0] + "/sharded")
    pending.result()
    dist.barrier()
    other = {"parts": distribute_tensor(torch.zeros(8, 4), mesh, [Shard(1)])}  # another layout
    checkpoint.load(other, checkpoint_id=folder[0] + "/sharded")
    assert torch.equal(other["parts"].full_tensor(), whole)
    if rank == 0:
        shutil.rmtree(folder[0])
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
