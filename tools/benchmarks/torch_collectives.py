"""Times collectives of PyTorch, or of gangsim alone, and writes what it measured as JSON.

    torch_collectives.py FILE            one rank of a job that something else has started
    torch_collectives.py FILE --gloo N   N processes on PyTorch's own Gloo
    torch_collectives.py FILE --plain    one rank, without PyTorch
    torch_collectives.py FILE --floor N  N processes that wait for each other at one more, no gangs
    torch_collectives.py FILE --torch-floor N  the same, called through torch.distributed

Rank 0 writes FILE: the median of several rounds' medians, in microseconds, by name.
"""

import array
import json
import os
import socket
import statistics
import sys
import time


def time_of(operation, calls, repeats=7):
    """Microseconds of one call: the median of the medians of so many rounds."""
    for _ in range(max(3, calls // 10)):
        operation()
    medians = []
    for _ in range(repeats):
        times = []
        for _ in range(calls):
            begun = time.perf_counter()
            operation()
            times.append(time.perf_counter() - begun)
        medians.append(statistics.median(times))
    return statistics.median(medians) * 1e6


def plain(file):
    import gangsim
    gang = gangsim.root_gang()
    small = array.array("f", [1.0])
    measured = {"small": time_of(lambda: gang.all_reduce(small, "max"), 1000)}
    if gang.rank == 0:
        write(file, measured)


def floor(file, processes, called_through=lambda exchange, rank: exchange):
    """What the machine takes: frames as large as those of `plain`, and nothing done with them.

    `called_through(exchange, rank)` is what each process calls in the place of `exchange`.
    """
    ours, theirs = zip(*(socket.socketpair() for _ in range(processes)))
    children = []
    for rank in range(processes):
        child = os.fork()
        if child == 0:
            for end in ours:
                end.close()
            connection, request = theirs[rank], bytes(160)

            def exchange():
                connection.sendall(request)
                connection.recv(4096)

            measured = {"small": time_of(called_through(exchange, rank), 1000)}
            if rank == 0:
                write(file, measured)
            os._exit(0)
        children.append(child)
    for end in theirs:
        end.close()
    answer = bytes(34)
    while all([end.recv(4096) for end in ours]):
        for end in ours:
            end.sendall(answer)
    for child in children:
        os.waitpid(child, 0)


def torch_floor(file, processes):
    """The same through torch.distributed: what no backend in Python can do without."""
    import tempfile

    def through_torch(exchange, rank):
        import torch
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        class Done(c10d.Work):
            def wait(self, timeout=None):
                return True

        class Bare(c10d.ProcessGroup):
            def allreduce(self, tensors, opts=None):
                exchange()
                return Done()

        dist.Backend.register_backend("bare", lambda store, rank, size, timeout: Bare(rank, size))
        dist.init_process_group("bare", init_method=f"file://{folder}/store", rank=rank,
                                world_size=processes)
        small = torch.ones(1)
        return lambda: dist.all_reduce(small, dist.ReduceOp.MAX)

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        floor(file, processes, through_torch)


def with_torch(file):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    small, large = torch.ones(1), torch.ones(1 << 20)
    measured = {"small": time_of(lambda: dist.all_reduce(small, dist.ReduceOp.MAX), 300),
                "large": time_of(lambda: dist.all_reduce(large, dist.ReduceOp.MAX), 10)}

    torch.manual_seed(0)
    layers = [torch.nn.Linear(128, 128) for _ in range(4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = torch.randn(16, 128)

    def step():
        optimizer.zero_grad()
        model(batch).pow(2).mean().backward()
        optimizer.step()

    measured["ddp_step"] = time_of(step, 20)
    if dist.get_rank() == 0:
        write(file, measured)
    dist.barrier()
    dist.destroy_process_group()


def write(file, measured):
    with open(file, "w", encoding="utf-8") as out:
        json.dump(measured, out)


def on_gloo(file, processes):
    """Forks the ranks; the parent must not have used PyTorch yet."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000),
                      WORLD_SIZE=str(processes))
    children = []
    for rank in range(processes):
        child = os.fork()
        if child == 0:
            os.environ["RANK"] = str(rank)
            with_torch(file)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if sys.argv[2:3] == ["--gloo"]:
        on_gloo(sys.argv[1], int(sys.argv[3]))
    elif sys.argv[2:3] == ["--floor"]:
        floor(sys.argv[1], int(sys.argv[3]))
    elif sys.argv[2:3] == ["--torch-floor"]:
        torch_floor(sys.argv[1], int(sys.argv[3]))
    elif sys.argv[2:3] == ["--plain"]:
        plain(sys.argv[1])
    else:
        with_torch(sys.argv[1])
