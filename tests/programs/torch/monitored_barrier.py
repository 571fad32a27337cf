"""Rank 2 never comes to a monitored barrier, which names it; with `all`, also rank 3."""

import sys
from datetime import timedelta

import torch.distributed as dist


def main():
    wants_all = "all" in sys.argv[1:]
    dist.init_process_group("gloo")
    if dist.get_rank() == 2 or (wants_all and dist.get_rank() == 3):
        return
    dist.monitored_barrier(timeout=timedelta(seconds=30), wait_all_ranks=wants_all)


if __name__ == "__main__":
    main()
