"""Operations that are started as one, and functional collectives. PyTorch 2."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def check_blocks(world):
    tensors = [torch.ones(2), torch.ones(3)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    assert tensors[1][0] == world
    with dist.distributed_c10d._coalescing_manager(device=torch.device("cpu"), async_ops=True) as m:
        for tensor in tensors:
            dist.broadcast(tensor, 0)
    m.wait()
    outputs = [torch.empty(2 * world), torch.empty(3 * world)]
    with dist.distributed_c10d._coalescing_manager():
        for output, tensor in zip(outputs, tensors):
            dist.all_gather_into_tensor(output, tensor)
    assert outputs[1][0] == world


def check_functions(rank, world):
    group = dist.group.WORLD
    assert (functional.all_reduce(torch.ones(3), "sum", group) + 0)[0] == world
    gathered = functional.all_gather_tensor(torch.full((1, 2), float(rank)), 0, group)
    assert (gathered + 0)[-1, 0] == world - 1
    part = functional.reduce_scatter_tensor(torch.ones(world, 2), "sum", 0, group)
    assert (part + 0)[0, 0] == world
    exchanged = functional.all_to_all_single(torch.full((world,), float(rank)), None, None, group)
    assert (exchanged + 0)[-1] == world - 1


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    check_blocks(world)
    check_functions(rank, world)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
