"""SyncBatchNorm in DDP, as one rank computes BatchNorm; needs GPUs, or `--cuda-as-cpu`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(8, 1))


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    alone, inputs = layers(), torch.randn(world * (world + 1) // 2, 3, 2)
    together = nn.SyncBatchNorm.convert_sync_batchnorm(layers()).cuda()
    model = DistributedDataParallel(together, device_ids=[rank])
    begin = rank * (rank + 1) // 2  # rank r has r + 1 of the inputs
    own = slice(begin, begin + rank + 1)
    for _ in range(2):
        x, y = inputs.clone().requires_grad_(), inputs[own].cuda().requires_grad_()
        expected, got = alone(x), model(y)
        assert torch.allclose(got.cpu(), expected[own], atol=1e-5), (got, expected)
        expected.pow(2).sum().backward()
        got.pow(2).sum().backward()
        assert torch.allclose(y.grad.cpu(), x.grad[own], atol=1e-5), (y.grad, x.grad)
    for one, other in zip(alone.parameters(), together.parameters()):
        assert torch.allclose(other.grad.cpu() * world, one.grad, atol=1e-3), (other, one)
    for one, other in zip(alone.buffers(), together.buffers()):
        assert torch.allclose(other.cpu(), one, atol=1e-5), (other, one)
    together.eval()
    alone.eval()
    assert torch.allclose(model(inputs[own].cuda()).cpu(), alone(inputs[own]), atol=1e-5)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
