"""Fully sharded training (FSDP 1; and FSDP 2 where PyTorch runs it on the CPU). PyTorch 2."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, 5))


def train(model, clip):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        torch.manual_seed(100 + step * dist.get_world_size() + dist.get_rank())
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 20)), torch.randint(0, 5, (8,)))
        loss.backward()
        norm = clip(model)
        optimizer.step()
    total = loss.detach().reshape(1)
    dist.all_reduce(total)
    return f"loss {total.item():.6f}, gradient norm {float(norm):.6f}"


def sharded(strategy):
    def shard(module):
        return FullyShardedDataParallel(module, sharding_strategy=strategy,
                                        device_id=torch.device("cpu"))

    model = network()
    model[0], model[2] = shard(model[0]), shard(model[2])
    return shard(model)


def fully_sharded(shape, names):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    model = network()
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    return model


def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    texts = [train(sharded(strategy), lambda model: model.clip_grad_norm_(1.0))
             for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP,
                              ShardingStrategy.NO_SHARD)]
    if "2" in sys.argv[1:]:
        for shape, names in (((world,), ("dp",)), ((2, world // 2), ("rdp", "sdp"))):
            texts.append(train(fully_sharded(shape, names), lambda model: (
                nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor())))
    assert len(set(texts)) == 1, texts
    if dist.get_rank() == 0:
        print(texts[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
