"""Correct: a thread of rank 0 makes the call that rank 1 waits for, a moment later."""

import threading
import time

import torch
import torch.distributed as dist


def save(group):
    time.sleep(0.5)
    dist.all_reduce(torch.ones(1), group=group)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    group = dist.new_group([0, 1])
    if rank == 0:
        thread = threading.Thread(target=save, args=(group,), name="checkpoint")
        thread.start()
        dist.barrier()
        thread.join()
        print("all well")
    else:
        if rank == 1:
            save(group)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
