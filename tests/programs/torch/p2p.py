"""Messages: blocking, started, tagged, from any source, in batches."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    following, previous = (rank + 1) % world, (rank - 1) % world
    if rank == 0:
        dist.send(torch.arange(3.0), 1, tag=5)
    if rank == 1:
        x = torch.empty(3)
        assert dist.recv(x, 0, tag=5) == 0 and x[2] == 2

    got = torch.empty(1)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, torch.tensor([float(rank)]), following),
        dist.P2POp(dist.irecv, got, previous)])
    assert len(works) == 2  # one for both only with NCCL
    for work in works:
        work.wait()
    assert got.item() == previous

    send, receive = dist.isend(torch.ones(2), following), dist.irecv(torch.empty(2), previous)
    send.wait()
    receive.wait()
    if rank == 0:
        sources = {dist.recv(torch.empty(1), tag=9) for _ in range(world - 1)}
        assert sources == set(range(1, world))
        print("all well")
    else:
        dist.send(torch.ones(1), 0, tag=9)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
