"""FSDP as scripts for GPUs use it; with `gangsim torch --cuda-as-cpu`, on the CPU. PyTorch 2."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import fsdp
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def train(model):
    """The losses; all ranks have the same batches."""
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for step in range(3):
        torch.manual_seed(step)
        loss = model(torch.randn(8, 8, device="cuda")).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def saved(model):
    """The whole state on rank 0, otherwise nothing."""
    with fsdp.FullyShardedDataParallel.state_dict_type(
            model, fsdp.StateDictType.FULL_STATE_DICT,
            fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        return model.state_dict()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    expected = torch.tensor(train(network()))
    model = fsdp.FullyShardedDataParallel(
        network(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
        device_id=torch.cuda.current_device(), sync_module_states=True,
        cpu_offload=fsdp.CPUOffload(offload_params=True),
        mixed_precision=fsdp.MixedPrecision(param_dtype=torch.bfloat16))
    assert torch.allclose(torch.tensor(train(model)), expected, rtol=0.05)
    state = saved(model)
    if dist.get_rank() == 0:
        assert sum(value.numel() for value in state.values()) == 8 * 16 + 16 + 16 * 2 + 2
        assert all(bool(value.isfinite().all()) for value in state.values())
    if hasattr(fsdp, "fully_shard"):  # FSDP 2
        model = network().cuda()
        for module in (model[0], model[2], model):
            fsdp.fully_shard(module)
        assert torch.allclose(torch.tensor(train(model)), expected)
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
