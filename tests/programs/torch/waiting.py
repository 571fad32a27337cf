"""Every way to wait for an operation: for its Work, its future, in hooks, from another thread."""

import threading
from datetime import timedelta

import torch
import torch.distributed as dist


def started(world):
    x = torch.ones(2)
    return x, dist.all_reduce(x, async_op=True)


def check_works(rank, world):
    x, work = started(world)
    work.wait()
    assert x[0] == world and work.is_completed() and work.is_success()
    x, work = started(world)
    work.wait(timedelta(seconds=60))
    assert x[0] == world
    x, work = started(world)
    while not work.is_completed():
        pass
    work.wait()
    assert x[0] == world
    _, work = started(world)
    work.wait()
    assert work.result()[0][0] == world
    pairs = [started(world) for _ in range(4)]
    for _, work in reversed(pairs):
        work.wait()
    assert all(x[0] == world for x, _ in pairs)
    work = dist.barrier(async_op=True)
    work.wait()


def check_limits(rank, world):
    """A wait that ends by its own timeout, after which the operation goes on."""
    others = dist.new_group(list(range(world)))
    if rank == 1:
        dist.barrier(group=others)  # until the others have waited in vain
    x, work = started(world)
    if rank != 1:
        try:
            work.wait(timedelta(milliseconds=20))
            raise AssertionError("the wait ended without rank 1")
        except RuntimeError:
            assert not work.is_completed()
        dist.barrier(group=others)
    work.wait()
    assert x[0] == world


def check_futures(rank, world):
    _, work = started(world)
    assert work.get_future().wait()[0][0] == world
    x, work = started(world)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.then(lambda future: future.value() + 1).wait()[0] == 2 * world + 1
    seen, called = [], threading.Event()
    _, work = started(world)
    future = work.get_future()

    def note(future):
        seen.append(future.value()[0][0].item())
        called.set()

    future.add_done_callback(note)
    future.wait()
    called.wait(10)  # Gloo calls it on a thread of its own
    assert seen == [world] and future.done()
    futures = [started(world)[1].get_future() for _ in range(3)]
    together = torch.futures.collect_all(futures).wait()
    assert [each.value()[0][0].item() for each in together] == [world] * 3
    values = torch.futures.wait_all([started(world)[1].get_future() for _ in range(2)])
    assert [value[0][0].item() for value in values] == [world] * 2


def check_hooks(rank, world):
    """All-reduces that hooks start in a backward pass, waited for in it or after it."""
    layers = [torch.nn.Linear(3, 3, bias=False) for _ in range(3)]
    works = []

    def start(gradient):
        averaged = gradient.clone()
        works.append((averaged, dist.all_reduce(averaged, async_op=True)))

    def reduce_at_once(gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total

    for layer in layers:
        layer.weight.register_hook(start)
    layers[0].weight.register_hook(reduce_at_once)
    x = torch.full((1, 3), rank + 1.0)
    for layer in layers:
        torch.nn.init.constant_(layer.weight, 1.0)
        x = layer(x)
    x.sum().backward()
    for _, work in works:
        work.wait()
    total = sum(range(1, world + 1))
    assert [averaged[0, 0].item() for averaged, _ in works] == [9.0 * total] * 3
    assert layers[0].weight.grad[0, 0] == 9 * total


def check_threads(rank, world):
    """A thread waits for what another one has started."""
    x, work = started(world)
    waiter = threading.Thread(target=work.wait)
    waiter.start()
    waiter.join()
    assert x[0] == world


def check_messages(rank, world):
    if rank == 0:
        cells = [torch.empty(1) for _ in range(world - 1)]
        works = [dist.irecv(cell, tag=3) for cell in cells]  # from any rank
        for work in works:
            work.wait()
        assert sorted(cell.item() for cell in cells) == list(range(1, world))
    else:
        dist.isend(torch.full((1,), float(rank)), 0, tag=3).wait()
    following, previous = (rank + 1) % world, (rank - 1) % world
    got = torch.empty(1)
    receive = dist.irecv(got, previous)
    send = dist.isend(torch.full((1,), float(rank)), following)
    while not receive.is_completed():
        pass
    send.wait()
    receive.wait()
    assert got.item() == previous


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    for check in (check_works, check_limits, check_futures, check_hooks, check_threads,
                  check_messages):
        check(rank, world)
    dist.barrier()
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
