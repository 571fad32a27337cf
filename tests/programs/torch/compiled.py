"""torch.compile of a DDP model and of a function with collectives. PyTorch 2.

The backend `aot_eager` traces and differentiates as the default one, and needs no C++ compiler.
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@torch.compile(backend="aot_eager")
def mean_of_ranks(data):
    with torch.no_grad():
        total = data * 2
        dist.all_reduce(total)
        return total / dist.get_world_size()


def train(rank, size):
    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)
    model = torch.nn.Sequential(*layers).to(DEVICE)
    net = DistributedDataParallel(model, device_ids=[rank] if DEVICE == "cuda" else None)
    compiled = torch.compile(net, backend="aot_eager")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = compiled(torch.full((3, 4), rank + 1.0, device=DEVICE)).sub(1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    weights = [torch.empty_like(model[0].weight) for _ in range(size)]
    dist.all_gather(weights, model[0].weight.detach())
    assert all(torch.equal(weights[0], other) for other in weights)
    return losses[-1]


def main():
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    if DEVICE == "cuda":
        torch.cuda.set_device(rank)
    mean = mean_of_ranks(torch.full((3,), float(rank), device=DEVICE))
    assert torch.equal(mean.cpu(), torch.full((3,), size - 1.0)), mean
    loss = train(rank, size)
    if rank == 0:
        print("loss", loss)
    dist.destroy_process_group()


main()
