"""What every Python process of a run begins with: it costs little, and hides nothing."""

import os
import runpy
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from package import PACKAGES, write

from gangsim import process


class Sitecustomize(unittest.TestCase):
    def test_the_hook_imports_neither_gangsim_nor_torch(self):
        code = ("import sys; print([name for name in ('gangsim', 'torch') if name in sys.modules], "
                "any(hasattr(finder, 'gangsim_module') for finder in sys.meta_path))")
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(PACKAGES / "site"), "GANGSIM_SOCKET": "/nowhere"})
        self.assertEqual(found.stdout, "[] True\n")

    def test_without_a_run_nothing_is_hooked(self):
        for variables, count in (({}, 0), ({process.SOCKET: "/nowhere"}, 1)):
            with mock.patch.object(sys, "meta_path", []), \
                    mock.patch.dict(sys.modules, {"torch": None}):
                sys.modules.pop("torch")
                self.run_sitecustomize([str(PACKAGES / "site")], variables)
                self.assertEqual([each.gangsim_module for each in sys.meta_path].count("torch"),
                                 count)

    def test_there_may_be_no_sitecustomize_to_hide(self):
        site = str(PACKAGES / "site")
        for path in ([site], [os.path.relpath(site), site], []):
            self.run_sitecustomize(path, {})

    def run_sitecustomize(self, path, variables):
        kept = {name: value for name, value in os.environ.items() if name != process.SOCKET}
        with mock.patch.object(sys, "path", path), \
                mock.patch.dict(os.environ, {**kept, **variables}, clear=True):
            runpy.run_path(str(PACKAGES / "site" / "sitecustomize.py"))

    def test_the_sitecustomize_that_it_hides_still_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "sitecustomize.py", "print('the other one')\n")
            for more in ({}, {"GANGSIM_SOCKET": "/nowhere"}):
                found = subprocess.run(
                    [sys.executable, "-c", ""], capture_output=True, text=True, check=True,
                    env={**os.environ, "PYTHONPATH": f"{PACKAGES / 'site'}:{folder}", **more})
                self.assertEqual((found.stdout, found.stderr), ("the other one\n", ""))


if __name__ == "__main__":
    unittest.main()
