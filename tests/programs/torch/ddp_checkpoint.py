"""A model that rank 0 saves and all ranks load.

After "Getting Started with Distributed Data Parallel" (pytorch.org/tutorials/intermediate/ddp).
"""

import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
    optimizer.step()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    path = [os.path.join(tempfile.mkdtemp(), "model.checkpoint") if rank == 0 else ""]
    dist.broadcast_object_list(path, 0)
    model = DistributedDataParallel(ToyModel())
    train(model)
    if rank == 0:
        torch.save(model.state_dict(), path[0])
    dist.barrier()  # rank 0 has saved it

    loaded = DistributedDataParallel(ToyModel())
    loaded.load_state_dict(torch.load(path[0], map_location="cpu"))
    assert all(torch.equal(one, other) for one, other in zip(
        model.state_dict().values(), loaded.state_dict().values()))
    train(loaded)
    dist.barrier()  # all have loaded it
    if rank == 0:
        os.remove(path[0])
        os.rmdir(os.path.dirname(path[0]))
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
