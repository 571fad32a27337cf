"""Rank 1 skips a barrier: the twin of gangs.py that hangs."""

import gangsim


def save(gang):
    gang.barrier(label="save")


gang = gangsim.root_gang()
if gang.rank != 1:
    save(gang)
