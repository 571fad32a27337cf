"""Correct: ranks wait in many ways for what they have other threads do."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist


def average(tensor, group):
    dist.all_reduce(tensor, group=group)
    tensor /= dist.get_world_size()


def compute():
    end = time.perf_counter() + random.SystemRandom().choice((0, 0.004, 0.008))
    while time.perf_counter() < end:
        pass


def main():
    dist.init_process_group("gloo")
    group = dist.new_group()
    loss = torch.full((2,), float(dist.get_rank()))
    thread = threading.Thread(target=average, args=(loss, group))
    thread.start()
    thread.join()

    with ThreadPoolExecutor(1) as pool:
        for _ in range(3):
            pool.submit(average, loss, group).result()

    # With a timeout, and by looking again and again.
    thread = threading.Thread(target=average, args=(loss, group))
    thread.start()
    thread.join(timeout=60)
    thread = threading.Thread(target=average, args=(loss, group))
    thread.start()
    while thread.is_alive():
        time.sleep(0.01)

    is_done = threading.Event()

    def average_at_last():
        average(loss, group)
        is_done.set()

    thread = threading.Thread(target=average_at_last)
    thread.start()
    is_done.wait()
    dist.barrier()
    thread.join()

    # Both go on after a call that neither waits for, however fast they are: with a thread that
    # has called before, and with one that has not.
    has_started = threading.Event()

    def average_afterwards():
        has_started.wait()
        compute()
        average(loss, group)

    def race(pool):
        has_started.clear()
        other = pool.submit(average_afterwards)
        work = dist.all_reduce(torch.ones(1), async_op=True)
        has_started.set()
        compute()
        dist.barrier()
        work.wait()
        other.result()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(average, loss, group).result()
        race(pool)
    with ThreadPoolExecutor(1) as pool:
        race(pool)
    assert loss[0] == (dist.get_world_size() - 1) / 2, loss
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
