"""The twin of coalesced.py with a call on another group inside a coalesced block. PyTorch 2."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    other = dist.new_group()
    x, y = torch.ones(2), torch.ones(2)
    with dist.distributed_c10d._coalescing_manager(device=torch.device("cpu"), async_ops=True) as m:
        dist.broadcast(x, 0)
        dist.broadcast(y, 0, group=other)
    m.wait()


if __name__ == "__main__":
    main()
