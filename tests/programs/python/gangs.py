"""Every operation of a gang, the gangs of a layout, and objects; checked on every rank.

    tools/gangsim python --world 4 tests/programs/python/gangs.py
"""

import array

import gangsim


def check_collectives(gang):
    rank, size = gang.rank, gang.size
    total = size * (size - 1) // 2

    x = array.array("f", [rank] * 3)
    gang.all_reduce(x)
    assert list(x) == [total] * 3

    x = array.array("q", [rank + 1])
    gang.reduce(x, "max", 1 % size)
    assert x[0] == (size if rank == 1 % size else rank + 1)

    part = array.array("i", [0, 0])
    gang.reduce_scatter(part, array.array("i", range(2 * size)), "sum")
    assert list(part) == [size * 2 * rank, size * (2 * rank + 1)]

    x = array.array("i", [rank + 1])
    gang.scan(x)
    assert x[0] == (rank + 1) * (rank + 2) // 2
    x = array.array("i", [rank + 1])
    gang.start_exclusive_scan(x, "max").wait()
    assert x[0] == max(rank, 1)

    uneven = array.array("h", [0] * total)
    gang.all_gather(uneven, array.array("h", [rank] * rank), counts=range(size))
    assert list(uneven) == [r for r in range(size) for _ in range(r)]

    everyone = array.array("i", [0] * size)
    gang.all_gather(everyone, array.array("i", [rank]))
    assert list(everyone) == list(range(size))

    parts = [array.array("d", [0.0]) for _ in range(size)]
    gang.gather(parts if rank == 0 else None, array.array("d", [rank]), 0)
    assert rank != 0 or [part[0] for part in parts] == list(range(size))

    mine = bytearray(2)
    gang.scatter(mine, [bytes([r, r]) for r in range(size)] if rank == 0 else None, 0)
    assert mine == bytes([rank, rank])

    exchanged = array.array("i", [0] * size)
    gang.all_to_all(exchanged, array.array("i", [10 * rank + r for r in range(size)]))
    assert list(exchanged) == [10 * r + rank for r in range(size)]

    # Rank 0 sends nothing, in a type that is moved as bytes.
    exchanged = array.array("h", [0] * total)
    gang.all_to_all(exchanged, array.array("h", [rank] * (rank * size)),
                    output_splits=range(size), input_splits=[rank] * size)
    assert list(exchanged) == list(uneven)

    flag = gangsim.broadcast_flag(gang, rank == 0)
    assert flag and gangsim.all_sum(gang, rank) == total

    objects = [{"rank": rank}, "text"]
    gang.broadcast_objects(objects, size - 1)
    assert objects == [{"rank": size - 1}, "text"]


def check_messages(gang):
    following, previous = (gang.rank + 1) % gang.size, (gang.rank - 1) % gang.size
    got = array.array("i", [0])
    gang.batch([gangsim.Message("send", array.array("i", [gang.rank]), following, 5),
                gangsim.Message("recv", got, previous, 5)])
    assert got[0] == previous

    work = gang.start_all_reduce(got, "max")
    work.wait()
    assert work.test() and got[0] == gang.size - 1


def check_layout(gang):
    gangs = gang.parallel_gangs(tp=2)
    sharded = gangsim.create_fsdp_gangs(gangs, gangs.dp.size) if gangs.dp.size > 1 else gangs
    x = array.array("i", [gang.rank])
    gangs.tp.all_reduce(x)
    assert x[0] == gang.rank // 2 * 4 + 1
    sharded.sdp.barrier()
    gangs.close()


def main():
    gang = gangsim.root_gang()
    check_collectives(gang)
    check_messages(gang)
    big = array.array("f", [gang.rank]) * (1 << 18)
    gang.all_reduce(big, "max")
    assert big[0] == big[-1] == gang.size - 1
    gang.barrier()
    gangsim.output("x", big[:4])
    print(f"rank {gang.rank} of {gang.size}: all well")
    check_layout(gang)


if __name__ == "__main__":
    main()
