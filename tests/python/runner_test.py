"""Runs from tests: results, options, and what pytest shows of a failure."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from package import PACKAGES, PROGRAM, has, needs_program, write

import gangsim
from gangsim.conductor import find_program
from gangsim.errors import GangFailure, InvalidArgument, NotSupported


@needs_program
class Runs(unittest.TestCase):
    def test_results_come_in_rank_order(self):
        self.assertEqual(gangsim.run(lambda gang: (gang.rank, gang.size), world=3),
                         [(0, 3), (1, 3), (2, 3)])

    def test_a_function_without_parameters_gets_no_gang(self):
        self.assertEqual(gangsim.run(lambda: os.environ["RANK"], world=2), ["0", "1"])

    def test_options_that_are_wrong_are_told(self):
        for options, why in (({"world": 0}, "world is 0"), ({"schedule": "chance"}, "chance"),
                             ({"options": ["--no-such-option"]}, "no-such-option")):
            with self.assertRaisesRegex(InvalidArgument, why):
                gangsim.run(lambda gang: None, **{"world": 2, **options})

    def test_a_result_that_cannot_be_pickled_is_told(self):
        with self.assertRaisesRegex(GangFailure, "cannot be pickled"):
            gangsim.run(lambda gang: lambda: None, world=1)

    def test_nothing_is_left_behind(self):
        # A folder of its own: other tests that run beside this one also use the machine's.
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, TMPDIR=folder), mock.patch("tempfile.tempdir", folder):
                with self.assertRaises(GangFailure):
                    gangsim.run(lambda gang: gang.rank and gang.barrier(), world=2)
            self.assertEqual(os.listdir(folder), [])
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_the_decorator_wants_the_number_of_ranks(self):
        with self.assertRaisesRegex(InvalidArgument, r"@gangsim.ranks\(4\)"):
            gangsim.ranks(lambda gang: None)

    @unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
    def test_torch_distributed_is_gangsims(self):
        def rank():
            import torch
            import torch.distributed as dist
            dist.init_process_group("gloo")
            x = torch.ones(1)
            dist.all_reduce(x)
            return x.item()

        self.assertEqual(gangsim.run(rank, world=2), [2.0, 2.0])


class Program(unittest.TestCase):
    def test_a_program_that_is_none_is_told(self):
        former = os.environ.get("GANGSIM")
        os.environ["GANGSIM"] = "/no/such/program"
        try:
            with self.assertRaisesRegex(NotSupported, "GANGSIM is '/no/such/program'"):
                find_program()
        finally:
            del os.environ["GANGSIM"]
            if former is not None:
                os.environ["GANGSIM"] = former


@needs_program
@unittest.skipUnless(has("pytest"), "runs where pytest is installed")
class Pytest(unittest.TestCase):
    def test_failures_are_explained_and_seeds_are_given(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "test_gang.py", """
import gangsim, pytest

@gangsim.ranks(2)
def test_well(gang):
    gang.barrier()

@pytest.mark.parametrize("skips", [0, 1])
@gangsim.ranks(2)
def test_hangs(gang, skips):
    if gang.rank != skips:
        gang.barrier()
""")
            ended = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "gangsim.pytest_plugin",
                 "--gangsim-seed", "7", "test_gang.py"], cwd=folder, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(PACKAGES), "GANGSIM": PROGRAM})
        self.assertIn("2 failed, 1 passed", ended.stdout)
        for skips in (0, 1):
            self.assertIn(f"Rank {skips} never called barrier #0 at test_gang.py:12", ended.stdout)
        self.assertIn("seed 7", ended.stdout)
        self.assertNotIn("runner.py", ended.stdout)


if __name__ == "__main__":
    unittest.main()
