"""Ranks other than 0 wait in the store for a key that nobody sets."""

import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        dist.barrier()
    else:
        dist.distributed_c10d._get_default_store().wait(["checkpoint done"])


if __name__ == "__main__":
    main()
