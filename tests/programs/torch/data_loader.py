"""Training with the worker processes of a DataLoader, which are forked from the ranks."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    data = TensorDataset(torch.arange(4.0 * world))
    sampler = DistributedSampler(data, shuffle=False)
    total = torch.zeros(1)
    for batch, in DataLoader(data, batch_size=2, sampler=sampler, num_workers=2):
        part = batch.sum()
        dist.all_reduce(part)
        total += part
    assert total == sum(range(4 * world))
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
