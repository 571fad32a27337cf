"""A store of the program's own, beside the one that PyTorch makes."""

import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    store = dist.TCPStore("127.0.0.1", 29511, world, rank == 0)
    store.set(f"rank {rank}", "here")
    store.wait([f"rank {r}" for r in range(world)])
    assert store.get(f"rank {world - 1}") == b"here"
    count = store.add("count", 2)
    assert 2 <= count <= 2 * world
    dist.barrier()
    assert store.add("count", 0) == 2 * world
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
