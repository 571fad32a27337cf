"""Every collective of torch.distributed; with the argument `nccl`, also what Gloo cannot do."""

import sys

import torch
import torch.distributed as dist


def check_reductions(rank, world):
    total = world * (world - 1) // 2
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8,
                 torch.uint8, torch.int32, torch.int64):
        x = torch.full((3,), rank, dtype=kind)
        dist.all_reduce(x)
        assert x.tolist() == [total] * 3, kind
    x = torch.full((2, 3), rank + 1.0)
    dist.reduce(x, 1, op=dist.ReduceOp.MAX)
    assert x[0, 0] == (world if rank == 1 else rank + 1)
    part = torch.empty(2)
    dist.reduce_scatter(part, [torch.full((2,), float(r)) for r in range(world)])
    assert part[0] == rank * world
    x = torch.tensor([rank == 0, True])
    dist.all_reduce(x, op=dist.ReduceOp.MIN)
    assert x.tolist() == [False, True]
    x = torch.tensor([complex(rank, 1)])
    dist.all_reduce(x)
    assert x[0] == complex(total, world)
    x = torch.arange(6.0).reshape(2, 3).t()  # not contiguous
    dist.all_reduce(x)
    assert x[2, 1] == 5 * world
    x = torch.tensor(float(rank))  # without dimensions
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    assert x == world - 1
    dist.all_reduce(torch.empty(0))
    x = torch.sparse_coo_tensor([[0, rank]], [1.0, 2.0], (world,))
    dist.all_reduce(x)
    assert x.to_dense()[1] == 2


def check_gathers(rank, world):
    everyone = [torch.empty(2, dtype=torch.int16) for _ in range(world)]
    dist.all_gather(everyone, torch.full((2,), rank, dtype=torch.int16))
    assert [x[0].item() for x in everyone] == list(range(world))
    whole = torch.empty(2 * world)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(rank)))
    assert whole[-1] == world - 1
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * world))
    assert part[0] == 2 * rank * world
    parts = [torch.empty(2) for _ in range(world)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), parts, dst=0)
    assert rank != 0 or parts[-1][0] == world - 1
    dist.scatter(part, [torch.full((2,), float(r)) for r in range(world)] if rank == 0 else None)
    assert part[0] == rank
    x = torch.full((2,), rank, dtype=torch.complex64)
    dist.broadcast(x, 1)
    assert x[0] == 1


def check_lists(rank, world):
    """Several tensors in one call, and a list of tensors to and from every rank."""
    tensors = [torch.full((2,), float(rank)), torch.full((3,), 1.0)]
    dist.all_reduce_coalesced(tensors)
    assert tensors[0][0] == world * (world - 1) / 2 and tensors[1].tolist() == [world] * 3
    lists = [[torch.empty(2), torch.empty(1)] for _ in range(world)]
    dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.tensor([7.0])])
    assert [[each.tolist() for each in tensors] for tensors in lists] == [
        [[r, r], [7]] for r in range(world)]
    if dist.get_backend() == "nccl":  # Gloo has none of these
        gathered = [torch.empty(r + 1) for r in range(world)]
        dist.all_gather(gathered, torch.full((rank + 1,), float(rank)))
        assert [each.tolist() for each in gathered] == [[r] * (r + 1) for r in range(world)]
        part = torch.empty(rank + 1)
        dist.reduce_scatter(part, [torch.full((r + 1,), float(rank + r)) for r in range(world)])
        assert part.tolist() == [world * (world - 1) / 2 + rank * world] * (rank + 1)
        work = dist.reduce_scatter(part, [torch.full((r + 1,), float(r)) for r in range(world)],
                                   dist.ReduceOp.MAX, async_op=True)
        work.wait()
        assert part.tolist() == [rank] * (rank + 1)
        received = [torch.empty(r + 1) for r in range(world)]
        dist.all_to_all(received, [torch.full((rank + 1,), 10.0 * rank + r) for r in range(world)])
        assert [each.tolist() for each in received] == [
            [10 * r + rank] * (r + 1) for r in range(world)]


def check_averages(rank, world):
    if not hasattr(dist.ReduceOp, "AVG") or dist.get_backend() != "nccl":
        return  # Gloo has none
    x = torch.tensor([float(rank), 1.0])
    dist.all_reduce(x, dist.ReduceOp.AVG)
    assert x.tolist() == [(world - 1) / 2, 1]


def check_waiting(rank, world):
    x = torch.ones(2)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert work.is_completed() and x[0] == world
    x = torch.ones(2)
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait()[0] == 2 * world
    x = torch.ones(1 << 20)  # through shared memory
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        pass
    assert x[-1] == world
    works = [dist.broadcast(torch.ones(3), root, async_op=True) for root in range(world)]
    for work in reversed(works):
        work.wait()


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    check_reductions(rank, world)
    check_gathers(rank, world)
    check_lists(rank, world)
    check_averages(rank, world)
    check_waiting(rank, world)
    dist.barrier()
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
