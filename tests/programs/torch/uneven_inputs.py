"""Rank 1 has one batch fewer than the others, whose last backward pass waits for it for ever."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(batches):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)))
    train(model, batches=3 if dist.get_rank() == 1 else 4)


if __name__ == "__main__":
    main()
