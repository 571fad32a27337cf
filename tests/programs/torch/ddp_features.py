"""The ways to use DistributedDataParallel: what each changes in its communication."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


class Branches(nn.Module):
    """Uses one half of its parameters on even ranks, the other half on odd ones."""

    def __init__(self):
        super().__init__()
        self.even, self.odd = nn.Linear(20, 5), nn.Linear(20, 5)

    def forward(self, x):
        return self.odd(x) if dist.get_rank() % 2 else self.even(x)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))


def train(model, batches=2, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in range(batches):
        torch.manual_seed(10 * batch + dist.get_rank())
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 20)), torch.randint(0, 5, (8,)))
        loss.backward()
        optimizer.step()
    return model


def check_equal(model):
    own = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    everyones = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, own)
    assert all(torch.equal(everyones[0], each) for each in everyones), "parameters differ"


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    check_equal(train(DistributedDataParallel(Branches(), find_unused_parameters=True)))
    check_equal(train(DistributedDataParallel(network(), static_graph=True)))
    check_equal(train(DistributedDataParallel(network(), gradient_as_bucket_view=True)))

    model = DistributedDataParallel(network())
    with model.no_sync():
        model(torch.randn(4, 20)).sum().backward()
    model(torch.randn(4, 20)).sum().backward()

    for state, hook in ((None, default_hooks.allreduce_hook),
                        (None, default_hooks.fp16_compress_hook),
                        (powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1,
                                                     start_powerSGD_iter=2),
                         powerSGD_hook.powerSGD_hook)):
        model = DistributedDataParallel(network())
        model.register_comm_hook(state, hook)
        check_equal(train(model, batches=4))

    model = DistributedDataParallel(network())
    with model.join():
        train(model, batches=2 + dist.get_rank())

    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with model.join(divide_by_initial_world_size=False):
        for _ in range(2 + dist.get_rank()):
            model.zero_grad()
            model(torch.full((1, 1), 3.0)).sum().backward()
            assert model.module.weight.grad.item() == 3.0  # the mean of the ranks still there

    averager = averagers.PeriodicModelAverager(period=2, warmup_steps=0)
    model = network()
    for _ in range(4):
        train(model, batches=1)
        averager.average_parameters(model.parameters())
    averager = averagers.PeriodicModelAverager(period=1, warmup_steps=0)
    averager.average_parameters(model.parameters())
    check_equal(model)

    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam,
                                        lr=0.01)
    check_equal(train(model, optimizer=optimizer))
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
