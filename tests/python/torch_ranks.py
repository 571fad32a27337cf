"""Programs of tests/programs/torch, run as ranks; for the tests that need PyTorch."""

import json
import os
import re
import subprocess
import tempfile
import typing
import unittest

from package import PROGRAM, PROGRAMS, needs_program, torch_python


def _version(python):
    if python is None:
        return (0, 0)
    code = "import torch; print(torch.__version__)"
    text = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


PYTHON = torch_python() if PROGRAM is not None else None
VERSION = _version(PYTHON)

_has_torch = unittest.skipUnless(
    PYTHON, "runs where a Python has PyTorch (apt-get install python3-torch), or one is named by "
    "GANGSIM_TORCH_PYTHON")
_has_torch_2 = unittest.skipIf(
    VERSION < (2, 0), "runs on PyTorch 2, which GANGSIM_TORCH_PYTHON may name: its groups can be a "
    "thread's")


def needs_torch(test):
    return needs_program(_has_torch(test))


def needs_threads(test):
    return needs_program(_has_torch(_has_torch_2(test)))


class Ended(typing.NamedTuple):
    status: int
    text: str
    report: dict  # what --json wrote

    @property
    def findings(self):
        """(id, ranks, location) of each finding."""
        return [(each["id"], each.get("ranks", []), each.get("location", ""))
                for each in self.report.get("findings", [])]


def run(program, *options, world=4, timeout=200):
    """Runs a program of tests/programs/torch, "crash.py raise", in a folder of its own."""
    name, *arguments = program.split()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        ended = subprocess.run(
            [PROGRAM, "torch", "--python", PYTHON, "--world", str(world), "--json", path,
             *map(str, options), str(PROGRAMS / "torch" / name), *arguments], cwd=folder,
            timeout=timeout, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError):
            report = {}
    return Ended(ended.returncode, ended.stdout, report)
