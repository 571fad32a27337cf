"""A device mesh, distributed tensors and tensor parallelism. PyTorch 2.5 or newer."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
    reference = Layers()
    layers = parallelize_module(Layers(), mesh["tp"],
                                {"up": ColwiseParallel(), "down": RowwiseParallel()})
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(7))
    layers(x).sum().backward()
    reference(x).sum().backward()
    assert torch.allclose(layers.up.weight.grad.full_tensor(), reference.up.weight.grad, atol=1e-5)

    whole = torch.arange(64.0).reshape(8, 8)
    parts = distribute_tensor(whole, mesh, [Shard(0), Shard(1)])
    assert torch.equal(parts.redistribute(mesh, [Replicate(), Replicate()]).to_local(), whole)
    assert torch.equal((parts @ parts).full_tensor(), whole @ whole)
    assert torch.equal(parts.redistribute(mesh, [Shard(1), Shard(0)]).full_tensor(), whole)
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
