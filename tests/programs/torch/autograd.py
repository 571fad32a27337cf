"""torch.distributed.nn: collectives that gradients flow through."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as functional


def gradient_of(function, value, count=1):
    x = torch.full((count,), float(value), requires_grad=True)
    y = function(x)
    y.sum().backward()
    return y.detach(), x.grad


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    y, gradient = gradient_of(functional.all_reduce, rank)
    assert y.item() == sum(range(world)) and gradient.item() == world

    y, gradient = gradient_of(lambda x: torch.stack(functional.all_gather(x)), rank)
    assert y.reshape(-1).tolist() == list(range(world)) and gradient.item() == world

    y, gradient = gradient_of(lambda x: functional.broadcast(x, 1), rank)
    assert y.item() == 1 and gradient.item() == (world if rank == 1 else 0)

    def exchange(x):
        received = torch.empty(world)
        return functional.all_to_all_single(received, x) * (rank + 1)

    y, gradient = gradient_of(exchange, rank, world)
    assert y.tolist() == [r * (rank + 1) for r in range(world)]
    assert gradient.tolist() == list(range(1, world + 1))

    y, gradient = gradient_of(lambda x: functional.reduce(x, 0) * 3, rank)
    assert gradient.item() == 3 and (rank or y.item() == 3 * sum(range(world)))
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
