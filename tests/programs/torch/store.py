"""Stores of the program's own, beside the one that PyTorch makes."""

import os
import tempfile
from datetime import timedelta

import torch.distributed as dist


def check_functions(store, rank, world):
    if rank == 0:
        assert store.compare_set("state", "", "first") == b"first"
        assert store.compare_set("state", "other", "second") == b"first"
        assert store.compare_set("state", "first", "second") == b"second"
        assert store.delete_key("count") and not store.delete_key("count")
    dist.barrier()
    assert store.get("state") == b"second"
    prefixed = dist.PrefixStore("mine", store)
    prefixed.set(f"key {rank}", str(rank))
    assert prefixed.get(f"key {(rank + 1) % world}") == str((rank + 1) % world).encode()

    path = os.path.join(tempfile.gettempdir(), f"gangsim-{os.environ.get('MASTER_PORT', '')}")
    file_store = dist.FileStore(path, world)
    file_store.add("arrived", 1)
    if rank == 1:  # polls until all have come
        while file_store.add("arrived", 0) < world:
            pass
        file_store.set("all", "yes")
    file_store.wait(["all"], timedelta(seconds=60))
    assert file_store.get("all") == b"yes"


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
    dist.barrier()  # before rank 0 deletes the key
    check_functions(store, rank, world)
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
