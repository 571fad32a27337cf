"""FSDP as scripts for GPUs use it; with `gangsim torch --cuda-as-cpu`, on the CPU. PyTorch 2."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import (CPUOffload, FullStateDictConfig, FullyShardedDataParallel,
                                    MixedPrecision, StateDictType)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = FullyShardedDataParallel(
        nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)),
        auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=torch.cuda.current_device(),
        sync_module_states=True, cpu_offload=CPUOffload(offload_params=True),
        mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(8, 8, device="cuda")).float().square().mean().backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()
    with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT,
            FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        state = model.state_dict()
    if dist.get_rank() == 0:
        assert sum(value.numel() for value in state.values()) == 8 * 16 + 16 + 16 * 2 + 2
        assert all(bool(value.isfinite().all()) for value in state.values())
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
