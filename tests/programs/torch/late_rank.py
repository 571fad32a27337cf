"""Rank 0 prepares the data for longer than the group's timeout while the others wait in a barrier:
a simulated run completes, a real one would not. `fixed`: with a timeout that is longer.
"""

import sys
import time
from datetime import timedelta

import torch.distributed as dist


def prepare_data():
    time.sleep(3)


def main():
    timeout = timedelta(hours=1) if "fixed" in sys.argv else timedelta(seconds=1)
    dist.init_process_group("gloo", timeout=timeout)
    if dist.get_rank() == 0:
        prepare_data()
    dist.barrier()
    if dist.get_rank() == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
