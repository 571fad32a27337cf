"""Rank 2 averages the loss and the accuracy the other way round than the rest, and nothing hangs:
every rank gets a mixture of both. `fixed`: in one order.
"""

import sys

import torch
import torch.distributed as dist


def average_loss(loss):
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


def average_accuracy(accuracy):
    dist.all_reduce(accuracy)
    return accuracy / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    loss, accuracy = torch.tensor([2.5]), torch.tensor([0.9])
    if dist.get_rank() == 2 and "fixed" not in sys.argv:
        accuracy = average_accuracy(accuracy)
        loss = average_loss(loss)
    else:
        loss = average_loss(loss)
        accuracy = average_accuracy(accuracy)
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.2f}, accuracy {accuracy.item():.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
