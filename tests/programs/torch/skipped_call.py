"""Each step gathers data, clips by the norm and the maximum of the gradients, and takes the mean
loss. Rank 2 does not clip in the first one: its loss meets the norms of the others, unnoticed. With
`fixed`, all clip."""

import sys

import torch
import torch.distributed as dist


def clip(gradients, limit):
    norm, largest = gradients.pow(2).sum(), gradients.abs().max()
    dist.all_reduce(norm)
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    gradients.mul_((limit / norm.sqrt()).clamp(max=1))


def main():
    dist.init_process_group("gloo")
    rank, fixed = dist.get_rank(), "fixed" in sys.argv
    for step in range(3):
        gradients = torch.full((4,), 0.1 if (rank, step) == (2, 0) else 1.0)
        gathered = [torch.empty(4) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, gradients)
        if fixed or gradients.max() > 0.5:
            clip(gradients, 1.0)
        loss = gradients.mean()
        dist.all_reduce(loss)
    if rank == 0:
        print("all well")


if __name__ == "__main__":
    main()
