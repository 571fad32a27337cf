"""On PYTHONPATH in a run: every Python process of it redirects torch.distributed.

Imports nothing of gangsim or torch by itself, and runs the sitecustomize that it hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _install_hook():
    path = os.path.join(os.path.dirname(_HERE), "gangsim", "torch", "hook.py")
    spec = importlib.util.spec_from_file_location("_gangsim_hook", path)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    hook.install()


def _run_hidden():
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("GANGSIM_SOCKET"):
    _install_hook()
_run_hidden()
