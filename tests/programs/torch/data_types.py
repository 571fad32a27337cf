"""Every reduction on every type that has it, and operations on every kind of tensor."""

import torch
import torch.distributed as dist

FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = tuple(getattr(torch, name) for name in ("int8", "uint8", "int32", "int64"))
# Types that only newer versions of PyTorch have, and types that can be moved but not reduced.
UNSIGNED = tuple(getattr(torch, name) for name in ("uint32", "uint64") if hasattr(torch, name))
MOVED = (torch.int16, torch.bool, torch.complex64, torch.complex128, *UNSIGNED)


def reduced(values, kind, operation):
    tensor = torch.tensor(values, dtype=kind)
    dist.all_reduce(tensor, operation)
    return tensor.tolist()


def check_reductions(rank, world):
    ops, numbers = dist.ReduceOp, range(1, world + 1)
    product = 1
    for number in numbers:
        product *= number
    for kind in FLOATING + INTEGERS:
        for operation, expected in ((ops.SUM, sum(numbers)), (ops.PRODUCT, product),
                                    (ops.MIN, 1), (ops.MAX, world)):
            assert reduced([rank + 1, 0], kind, operation) == [expected, 0], (kind, operation)
    for kind in INTEGERS:
        bits = 1 << rank
        assert reduced([bits], kind, ops.BOR) == [(1 << world) - 1], kind
        assert reduced([bits | 64], kind, ops.BAND) == [64], kind
        assert reduced([bits, 1], kind, ops.BXOR) == [(1 << world) - 1, world % 2], kind
    for kind, value in ((torch.int64, 1 << 60), (torch.int32, -(1 << 28)), (torch.float64, 1e300)):
        assert reduced([value], kind, ops.MAX) == [value], kind
    flags = [rank == 0, True, False]
    assert reduced(flags, torch.bool, ops.MAX) == [True, True, False]
    assert reduced(flags, torch.bool, ops.MIN) == [False, True, False]
    for kind in (torch.complex64, torch.complex128):
        assert reduced([complex(rank, 1)], kind, ops.SUM) == [complex(sum(numbers) - world, world)]


def check_moves(rank, world):
    for kind in FLOATING + INTEGERS + MOVED:
        own = torch.tensor([rank % 2, 1], dtype=kind)
        everyones = [torch.zeros(2, dtype=kind) for _ in range(world)]
        dist.all_gather(everyones, own)
        assert [each.tolist() for each in everyones] == [
            torch.tensor([each % 2, 1], dtype=kind).tolist() for each in range(world)], kind
        dist.broadcast(own, 1)
        assert own.tolist() == torch.tensor([1, 1], dtype=kind).tolist(), kind
        if rank == 0:
            dist.send(own, 1)
        elif rank == 1:
            got = torch.zeros(2, dtype=kind)
            dist.recv(got, 0)
            assert torch.equal(got, own), kind


def strided(rank):
    """Two rows of three, neither contiguous nor at the start of their memory."""
    return (torch.arange(24.0) + 100 * rank).reshape(4, 6)[1:, ::2].t()[:2]


def check_strides(rank, world):
    total = sum(strided(each) for each in range(world))
    x = strided(rank)
    dist.all_reduce(x)
    assert torch.equal(x, total) and not x.is_contiguous()
    x = strided(rank)
    dist.reduce(x, 1)
    assert torch.equal(x, total if rank == 1 else strided(rank))
    everyones = [strided(-1) for _ in range(world)]
    dist.all_gather(everyones, strided(rank))
    assert all(torch.equal(each, strided(index)) for index, each in enumerate(everyones))
    x = strided(rank)
    dist.broadcast(x, world - 1)
    assert torch.equal(x, strided(world - 1))
    if rank == 0:
        dist.send(strided(5), 1)
    elif rank == 1:
        dist.recv(x, 0)
        assert torch.equal(x, strided(5))


def check_nothing(rank, world):
    """Tensors without elements, and without dimensions."""
    for shape in ((0,), (3, 0)):
        dist.all_reduce(torch.empty(shape))
        dist.broadcast(torch.empty(shape), 0)
        dist.all_gather([torch.empty(shape) for _ in range(world)], torch.empty(shape))
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar, dist.ReduceOp.MAX)
    assert scalar.item() == world - 1
    everyones = [torch.tensor(0.0) for _ in range(world)]
    dist.all_gather(everyones, torch.tensor(float(rank)))
    assert [each.item() for each in everyones] == list(range(world))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    for check in (check_reductions, check_moves, check_strides, check_nothing):
        check(rank, world)
    dist.barrier()
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
