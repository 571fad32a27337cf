"""Objects of any kind, which torch.distributed pickles into tensors."""

import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    objects = [{"rank": rank, "text": "x" * 1000}, rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(objects, src=0)
    assert objects[0]["rank"] == 0 and objects[1] == 0

    everyone = [None] * world
    dist.all_gather_object(everyone, {"rank": rank, "padding": "y" * rank})
    assert [each["rank"] for each in everyone] == list(range(world))

    gathered = [None] * world if rank == 1 else None
    dist.gather_object((rank, "q"), gathered, dst=1)
    assert rank != 1 or gathered == [(r, "q") for r in range(world)]

    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(world)] if rank == 0 else None)
    assert mine == [f"for {rank}"]
    if hasattr(dist, "send_object_list"):  # from PyTorch 2.4
        if rank == 0:
            dist.send_object_list([{"text": "z" * 5000}, 5], 1)
        elif rank == 1:
            received = [None, None]
            dist.recv_object_list(received, 0)
            assert received == [{"text": "z" * 5000}, 5]
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
