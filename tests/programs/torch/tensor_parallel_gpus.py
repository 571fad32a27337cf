"""Tensor-parallel attention on what torch.accelerator says; with `gangsim torch --cuda-as-cpu`, on
the CPU. PyTorch 2.6."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)


class Attention(nn.Module):
    def __init__(self, features=16, heads=4):
        super().__init__()
        self.head_size = features // heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, -1, self.head_size).transpose(1, 2)
            for part in (self.query, self.key, self.value))
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


def network(device):
    torch.manual_seed(0)
    return Attention().to(device)


def train(model, device):
    """The losses; all ranks have the same batches."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(3):
        torch.manual_seed(step)
        loss = model(torch.randn(2, 5, 16, device=device)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return torch.tensor(losses)


def main():
    accelerator = torch.accelerator.current_accelerator()
    rank = int(os.environ["LOCAL_RANK"])
    assert torch.accelerator.is_available() and rank < torch.accelerator.device_count()
    torch.accelerator.set_device_index(rank)
    device = torch.device(f"{accelerator}:{rank}")
    dist.init_process_group(dist.get_default_backend_for_device(device))
    expected = train(network(device), device)
    mesh = init_device_mesh(accelerator.type, (dist.get_world_size(),))
    sharded = ColwiseParallel(use_local_output=False)
    model = parallelize_module(network(device), mesh, {
        "query": sharded, "key": sharded, "value": sharded, "out": RowwiseParallel()})
    assert torch.allclose(train(model, device), expected, rtol=1e-4)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
