"""The twin of saving_thread.py that hangs outside of any call: rank 1 takes a lock twice."""

import threading

import torch.distributed as dist

lock = threading.Lock()


def save():
    with lock:
        with lock:
            pass


def main():
    dist.init_process_group("gloo")
    if dist.get_rank() == 1:
        save()
    dist.barrier()


if __name__ == "__main__":
    main()
