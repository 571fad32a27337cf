"""Dumps of gangsim, read by PyTorch's own analyser: tools/flight_recorder of PyTorch 2.6.

No binary package has it, only PyTorch's sources (`apt-get source pytorch` on Debian 13): set
PYTORCH_SOURCE to such a tree.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from package import PROGRAM, needs_program

SOURCE = os.environ.get("PYTORCH_SOURCE")
PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"


@needs_program
@unittest.skipUnless(SOURCE, "runs where PYTORCH_SOURCE has the sources of PyTorch 2.6")
class FlightRecorder(unittest.TestCase):
    def analyse(self, program):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([PROGRAM, "run", PROGRAMS / program, "--record", folder],
                                 capture_output=True, text=True)
            self.assertIn(run.returncode, (0, 1), run.stderr)
            analyser = subprocess.run(
                [sys.executable, "-m", "tools.flight_recorder.fr_trace", folder,
                 "-p", "nccl_trace_rank_"], cwd=SOURCE, capture_output=True, text=True)
            self.assertEqual(analyser.returncode, 0, analyser.stderr)
            return analyser.stdout + analyser.stderr

    def test_it_has_nothing_to_say_about_a_program_that_is_right(self):
        said = self.analyse("all_collectives.toml")
        self.assertNotIn("has errors", said)
        self.assertNotIn("Not all ranks joining", said)

    def test_it_names_the_rank_that_is_missing(self):
        said = self.analyse("missing_rank.toml")
        self.assertIn("Not all ranks joining collective", said)
        self.assertIn("missing ranks: {", said)

    def test_it_finds_another_size(self):
        self.assertIn("SIZE_OR_SYNTAX_MISMATCH", self.analyse("mismatch_count.toml"))

    def test_it_finds_another_operation(self):
        self.assertIn("COLLECTIVE_TYPE_MISMATCH", self.analyse("mismatch_operation.toml"))

    def test_a_cycle_is_two_absences_to_it(self):
        said = self.analyse("tp_dp_deadlock.toml")
        self.assertGreaterEqual(said.count("Not all ranks joining collective"), 2)


if __name__ == "__main__":
    unittest.main()
