"""Faulty: rank 1 holds a lock in a collective, and the thread that should receive needs it; rank 0
waits for its own thread, which sends, before it calls the collective."""

import threading

import torch
import torch.distributed as dist

lock = threading.Lock()


def exchange(messages):
    with lock:
        if dist.get_rank() == 0:
            dist.send(torch.ones(4), 1, group=messages)
        elif dist.get_rank() == 1:
            dist.recv(torch.ones(4), 0, group=messages)


def main():
    dist.init_process_group("gloo")
    messages = dist.new_group([0, 1])
    gradients = dist.new_group()
    thread = threading.Thread(target=exchange, args=(messages,), name="exchange")
    if dist.get_rank() == 1:
        with lock:
            thread.start()
            dist.all_reduce(torch.ones(4), group=gradients)
    else:
        thread.start()
        thread.join()
        dist.all_reduce(torch.ones(4), group=gradients)
    thread.join()
    print("all well")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
