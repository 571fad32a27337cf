"""Finds the package under test, the gangsim program and PyTorch; for the tests in this folder."""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = SOURCE / "harness" / "python"
PROGRAMS = SOURCE / "tests" / "programs"
sys.path.insert(0, str(PACKAGES))
# Scripts start what runs in the background with SIGINT ignored, and what tests start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# PyTorch behaves differently where it finds a GPU, even on the CPU; these tests expect none.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# ctest names its build's program; whoever runs a file or pytest means what tools/gangsim has built.
_BUILT = SOURCE / "build" / "release" / "tools" / "gangsim"
if _BUILT.exists():
    os.environ.setdefault("GANGSIM", str(_BUILT))

from gangsim.conductor import find_program  # noqa: E402
from gangsim.errors import NotSupported  # noqa: E402


def _program_or_reason():
    try:
        return find_program(), ""
    except NotSupported as error:
        return None, str(error)


PROGRAM, _REASON = _program_or_reason()
needs_program = unittest.skipUnless(PROGRAM, f"runs once gangsim is built: {_REASON}")


def has(module):
    return importlib.util.find_spec(module) is not None


def torch_python():
    """The interpreter of the tests that need PyTorch; None if there is none.

    GANGSIM_TORCH_PYTHON names another one.
    """
    named = os.environ.get("GANGSIM_TORCH_PYTHON")
    for python in [named] if named else [sys.executable, "/usr/bin/python3"]:
        try:
            found = subprocess.run([python, "-c", "import torch"], capture_output=True, timeout=120,
                                   check=False)
        except OSError:
            continue
        if found.returncode == 0:
            return python
    return None


def gangsim(*arguments, timeout=120, **environment):
    """Runs the gangsim program in a folder of its own; its CompletedProcess, with text."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, timeout=timeout,
                              env={**os.environ, **environment}, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def write(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return path


def is_alive(process):
    """Whether a process, by its number, runs."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
