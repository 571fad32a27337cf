"""A script written for GPUs; runs on the CPU with `gangsim torch --cuda-as-cpu`."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    device = torch.device("cuda", local_rank)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        x, y = torch.randn(8, 8).cuda(non_blocking=True), torch.randint(0, 2, (8,)).to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    total = torch.tensor([loss.item()], device=f"cuda:{local_rank}")
    dist.all_reduce(total)
    torch.cuda.synchronize()
    if not torch.__version__.startswith("1."):
        train_in_backward(device)
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


def train_in_backward(device):
    """What DDP does in a hook of its own, which waits for the reduced gradients there."""
    from torch.distributed.optim import _apply_optimizer_in_backward
    model = nn.Linear(4, 1, bias=False, device=device)
    nn.init.zeros_(model.weight)
    _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": 1.0})
    model = DistributedDataParallel(model, device_ids=[device.index])
    model(torch.full((1, 4), float(dist.get_rank()), device=device)).sum().backward()
    assert model.module.weight[0, 0].item() == -(dist.get_world_size() - 1) / 2


if __name__ == "__main__":
    main()
