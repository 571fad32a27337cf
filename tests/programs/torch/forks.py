"""A rank forks a process, which is not a rank: its calls are refused, the rank goes on."""

import os

import torch
import torch.distributed as dist


def call_in_child():
    reading, writing = os.pipe()
    if os.fork() == 0:
        text = "nothing was refused"
        try:
            dist.all_reduce(torch.ones(1))
        except RuntimeError as error:
            text = str(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.wait()
    return text


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    text = call_in_child()
    assert f"forked from rank {rank}" in text, text
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == world
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
