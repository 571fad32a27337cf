"""Rank 2 fails by itself, in the way that its argument says: raise, exit, kill or abort."""

import os
import signal
import sys

import torch
import torch.distributed as dist


def load_batch():
    raise ValueError("the batch is empty")


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else "raise"
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 2:
        if how == "raise":
            load_batch()
        elif how == "exit":
            os._exit(3)
        elif how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "abort":
            os.abort()
    dist.all_reduce(torch.ones(1))


if __name__ == "__main__":
    main()
