"""Process groups whose calls are recorded; for the tests that need PyTorch but no ranks."""

import unittest

from package import has
from recording_connection import recorded

if has("torch"):
    from gangsim.torch import process_group

needs_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
SIZE = 3


class Recorded(unittest.TestCase):
    """On rank 1 of three, with `group`, the group of all."""

    def setUp(self):
        context = recorded(1, SIZE)
        self.connection = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.group = self.make("0")

    def make(self, name, ranks=range(SIZE), rank=1):
        return process_group.ProcessGroup(name, rank, ranks, 10 ** 9)

    def asked(self, work=None):
        """The fields of the last operation, and the bytes of its inputs and outputs."""
        if work is not None:
            work.wait()
        made = self.connection.operations[-1]
        return made.fields, [*map(len, made.inputs)], [*map(len, made.outputs)]
