"""torch.distributed begun, ended and begun again, and what a second beginning says."""

import torch
import torch.distributed as dist


def check(rank, world):
    pair = dist.new_group([0, 1])
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == world
    if rank < 2:
        dist.all_reduce(x, group=pair)
        assert x.item() == 2 * world


def main():
    assert not dist.is_initialized()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    try:
        dist.init_process_group("gloo")
    except (RuntimeError, ValueError) as error:
        assert "twice" in str(error), error
    else:
        raise AssertionError("a second init_process_group was accepted")
    check(rank, world)
    for _ in range(2):
        dist.barrier()
        dist.destroy_process_group()
        assert not dist.is_initialized()
        dist.init_process_group("gloo")
        check(rank, world)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
