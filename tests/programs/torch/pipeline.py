"""Pipeline schedules of torch.distributed.pipelining, a stage on each rank. PyTorch 2.5 or newer.

With PyTorch 2.6, Schedule1F1B drops a send that nobody waits for, and this program hangs on real
Gloo: under gangsim it is the finding `unwaited_work` at the line that calls step(). With the
argument `gpipe` or `interleaved`, only a schedule that has no such fault runs. On GPUs, and with
`gangsim torch --cuda-as-cpu`, all messages of a step are one work, and it is waited for.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (PipelineStage, Schedule1F1B, ScheduleGPipe,
                                          ScheduleInterleaved1F1B)


DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def stage_of(index, stages):
    torch.manual_seed(index)
    module = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU()).to(DEVICE)
    return PipelineStage(module, index, stages, DEVICE)


def interleaved(rank, world):
    """Two stages on each rank."""
    stages = [stage_of(rank + world * turn, 2 * world) for turn in range(2)]
    return ScheduleInterleaved1F1B(stages, n_microbatches=world, loss_fn=nn.functional.mse_loss)


def step(schedule, rank, world):
    generator = torch.Generator().manual_seed(5)
    x, y = (torch.randn(8, 16, generator=generator).to(DEVICE) for _ in range(2))
    losses = []
    if rank == 0:
        schedule.step(x)
    elif rank == world - 1:
        schedule.step(target=y, losses=losses)
        print(f"loss {torch.stack(losses).mean().item():.6f}")
    else:
        schedule.step()


def main():
    dist.init_process_group("gloo" if DEVICE.type == "cpu" else "nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    if DEVICE.type == "cuda":
        torch.cuda.set_device(rank)
    if "interleaved" in sys.argv[1:]:
        step(interleaved(rank, world), rank, world)
    schedules = {"gpipe": [ScheduleGPipe], "interleaved": []}.get(
        "".join(sys.argv[1:]), [ScheduleGPipe, Schedule1F1B])
    for schedule in schedules:
        step(schedule(stage_of(rank, world), n_microbatches=4, loss_fn=nn.functional.mse_loss),
             rank, world)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
