"""An all-reduce made of messages, and training without DDP.

After "Writing Distributed Applications with PyTorch" (pytorch.org/tutorials/intermediate/
dist_tuto).
"""

import torch
import torch.distributed as dist
from torch import nn


def ring_all_reduce(value):
    """The sum over the ranks, by size - 1 steps around the ring."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total, passed = value.clone(), [value.clone(), torch.zeros_like(value)]
    for step in range(size - 1):
        sent, received = passed[step % 2], passed[(step + 1) % 2]
        request = dist.isend(sent, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
        total += received
        request.wait()
    return total


def average_gradients(model):
    size = float(dist.get_world_size())
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad.data, op=dist.ReduceOp.SUM)
        parameter.grad.data /= size


def train(part, targets):
    torch.manual_seed(1234)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(part), targets).backward()
        average_gradients(model)
        optimizer.step()
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    assert ring_all_reduce(torch.full((3,), rank + 1.0)).tolist() == [size * (size + 1) / 2] * 3

    data = torch.randn(8 * size, 4, generator=torch.Generator().manual_seed(7))
    own = train(data[8 * rank:8 * (rank + 1)], data[8 * rank:8 * (rank + 1)].sum(1, keepdim=True))
    everyones = [torch.empty_like(own) for _ in range(size)]
    dist.all_gather(everyones, own)
    assert all(torch.equal(each, own) for each in everyones)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
