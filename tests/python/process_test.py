"""Which rank a process is, and which of its threads have spoken."""

import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

from package import PACKAGES

from gangsim import process
from gangsim.errors import InvalidArgument, InvalidOperation


class Environment(unittest.TestCase):
    def identity(self, **variables):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("RANK", "WORLD_SIZE")}
        with mock.patch.dict(os.environ, {**kept, **variables}, clear=True), \
                mock.patch.object(process, "_process", process._Process()):
            own = process.identity()
            return own.rank, own.world_size

    def test_the_rank_is_that_of_the_environment(self):
        self.assertEqual(self.identity(RANK="1", WORLD_SIZE="4"), (1, 4))

    def test_an_environment_that_is_half_set_is_told(self):
        for variables, why in (
                ({}, "neither RANK nor WORLD_SIZE is set"),
                ({"RANK": "1"}, "RANK is set to '1' and WORLD_SIZE is not"),
                ({"WORLD_SIZE": "2"}, "WORLD_SIZE is set to '2' and RANK is not"),
                ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK is 'one'; must be a number")):
            with self.assertRaisesRegex(InvalidOperation, why):
                self.identity(**variables)
        with self.assertRaisesRegex(InvalidArgument, "rank 2 of 2"):
            self.identity(RANK="2", WORLD_SIZE="2")

    def test_a_rank_stays_what_it_is(self):
        with mock.patch.object(process, "_process", process._Process()):
            process.become(0, 2)
            process.become(0, 2)
            with self.assertRaisesRegex(InvalidArgument, "is rank 0 of 2 and cannot become rank 1"):
                process.become(1, 2)


class Threads(unittest.TestCase):
    def test_threads_that_may_speak_are_counted(self):
        end = threading.Event()
        threads = [threading.Thread(target=end.wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            self.assertEqual(process.silent_threads(), 3)  # the main thread has not spoken either
            threads[0]._target = mock.Mock(__module__="tqdm._monitor")
            self.assertEqual(process.silent_threads(), 2)
        finally:
            end.set()
            for thread in threads:
                thread.join()


class Costs(unittest.TestCase):
    def test_the_hook_imports_neither_gangsim_nor_torch(self):
        code = ("import sys; print([name for name in ('gangsim', 'torch') if name in sys.modules], "
                "any(hasattr(finder, 'gangsim_module') for finder in sys.meta_path))")
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(PACKAGES / "site"), "GANGSIM_SOCKET": "/nowhere"})
        self.assertEqual(found.stdout, "[] True\n")

    def test_the_sitecustomize_that_it_hides_still_runs(self):
        import tempfile
        from package import write
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "sitecustomize.py", "print('the other one')\n")
            found = subprocess.run(
                [sys.executable, "-c", ""], capture_output=True, text=True, check=True,
                env={**os.environ, "PYTHONPATH": f"{PACKAGES / 'site'}:{folder}"})
        self.assertEqual(found.stdout, "the other one\n")


if __name__ == "__main__":
    unittest.main()
