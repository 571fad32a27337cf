"""The twin of p2p.py in which all ranks send to the next one before they receive."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    dist.send(torch.ones(1 << 16), (rank + 1) % world)
    dist.recv(torch.empty(1 << 16), (rank - 1) % world)


if __name__ == "__main__":
    main()
