"""Uneven inputs: ranks that have finished shadow the collectives of those that have not.

After "Distributed Training with Uneven Inputs Using the Join Context Manager"
(pytorch.org/tutorials/advanced/generic_join): a counter of its own, DDP and ZeRO together.
"""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


class CounterJoinHook(JoinHook):
    def __init__(self, counter):
        self.counter = counter

    def main_hook(self):
        dist.all_reduce(torch.zeros(1))

    def post_hook(self, is_last_joiner):
        """The rank that finished last tells the others the count."""
        rank = dist.get_rank()
        last = torch.tensor([rank if is_last_joiner else -1])
        dist.all_reduce(last, op=dist.ReduceOp.MAX)
        total = torch.tensor([float(self.counter.total)])
        dist.broadcast(total, int(last))
        self.counter.total = int(total)


class Counter(Joinable):
    """Counts the calls of all ranks."""

    def __init__(self):
        super().__init__()
        self.total = 0

    def __call__(self):
        Join.notify_join_context(self)
        one = torch.ones(1)
        dist.all_reduce(one)
        self.total += int(one)

    def join_hook(self, **_):
        return CounterJoinHook(self)

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def count(rank):
    counter = Counter()
    with Join([counter]):
        for _ in range(5 + rank):
            counter()
    return counter.total


def train(rank, finds_unused):
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(1, 1), find_unused_parameters=finds_unused)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    steps = 0
    with Join([model, optimizer]):
        for _ in range(5 + rank):
            model(torch.ones(1)).sum().backward()
            optimizer.step()
            steps += 1
    return steps


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    assert count(rank) == sum(5 + each for each in range(world))
    assert train(rank, finds_unused=False) == train(rank, finds_unused=True) == 5 + rank
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
