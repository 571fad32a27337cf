"""all_to_all with even and uneven splits."""

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    output = torch.empty(world)
    dist.all_to_all_single(output, torch.full((world,), float(rank)))
    assert output.tolist() == list(range(world))

    input_splits, output_splits = [r + 1 for r in range(world)], [rank + 1] * world
    rows = torch.full((sum(input_splits), 2), float(rank))
    output = torch.empty(sum(output_splits), 2)
    dist.all_to_all_single(output, rows, output_splits, input_splits)
    assert output[-1, 0] == world - 1
    if rank == 0:
        print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
