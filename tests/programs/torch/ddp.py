"""Three steps of data-parallel training, with several buckets and a BatchNorm.

    tools/gangsim torch --world 4 tests/programs/torch/ddp.py
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                          nn.BatchNorm1d(64), nn.Linear(64, 5))
    model = DistributedDataParallel(model, bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        torch.manual_seed(100 + step * world + rank)
        x, y = torch.randn(8, 20), torch.randint(0, 5, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    parameters = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    everyones = [torch.empty_like(parameters) for _ in range(world)]
    dist.all_gather(everyones, parameters)
    assert all(torch.equal(everyones[0], each) for each in everyones), "parameters differ"
    if rank == 0:
        print(f"the norm of the parameters is {parameters.norm():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
