"""A server that takes for granted which worker is first: it hangs when another one is.

    tools/gangsim python --world 4 --explore 100 tests/programs/python/first_come.py
"""

import array
import sys

import gangsim


def main():
    gang = gangsim.root_gang()
    result = array.array("i", [gang.rank])
    if gang.rank == 0:
        first = gang.recv(result).source_rank
        if "fixed" not in sys.argv:
            first = 1  # that worker has the least to do
        for worker in range(1, gang.size):
            if worker != first:
                gang.recv(result, worker)
    else:
        gang.send(result, 0)
    gang.barrier()


if __name__ == "__main__":
    main()
