"""Works that nobody waits for by themselves: on a stream, as NCCL's are, a later call ends them.

With `gangsim torch --execution stream_ordered`. Otherwise, they have not ended, and a check fails.
"""

import torch
import torch.distributed as dist


def gathered_by_the_last(rank, world):
    """What is gathered by three works, of which the program waits for the last."""
    outputs = [torch.zeros(2 * world) for _ in range(3)]
    works = [dist.all_gather_into_tensor(output, torch.full((2,), float(10 * turn + rank)),
                                         async_op=True) for turn, output in enumerate(outputs)]
    works[-1].wait()
    return [output[::2].tolist() for output in outputs]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks = range(world)
    assert gathered_by_the_last(rank, world) == [
        [10.0 * turn + each for each in ranks] for turn in range(3)]

    dropped, across = torch.ones(3), torch.ones(2, 3).t()  # the latter is staged
    dist.all_reduce(dropped, async_op=True)
    kept = dist.all_reduce(across, async_op=True)
    dist.barrier()
    assert dropped.eq(world).all() and across.eq(world).all() and kept.is_completed()

    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
