"""Redirects torch.distributed once a program imports it, and costs nothing before.

Standard library only, and without the rest of the package: `site/sitecustomize.py` loads this file
by its path in every Python process of a run.
"""

import importlib.abc
import importlib.util
import os
import sys

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_COMPILER_RULES = "torch._dynamo.trace_rules"

_loaded = set()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds `module` where it is, and calls `then` as soon as it is loaded."""

    def __init__(self, module: str, then):
        self.gangsim_module, self._then = module, then
        self._is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != self.gangsim_module or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            load(module)
            _loaded.add(self.gangsim_module)
            self._then()

        spec.loader.exec_module = exec_module
        return spec


def install() -> None:
    """Redirects torch.distributed in this process, now or when it is imported. Idempotent."""
    for module in ("torch", "torch.distributed", "torch.distributed.rpc"):
        _after(module, _when_loaded)
    _after(_COMPILER_RULES, _keep_from_compiler)


def _after(module: str, then) -> None:
    if module in sys.modules:
        _loaded.add(module)
        then()
    elif not any(getattr(finder, "gangsim_module", "") == module for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(module, then))


def _when_loaded() -> None:
    """What is done once torch, which may import torch.distributed, is complete."""
    if "torch" not in _loaded:
        return
    _find_package()
    if os.environ.get("GANGSIM_CUDA_AS_CPU"):
        from gangsim.torch import cuda_as_cpu
        cuda_as_cpu.install()
    if "torch.distributed" in _loaded:
        from gangsim.torch import redirect
        redirect.install()
        if "torch.distributed.rpc" in _loaded:
            redirect.refuse_rpc()


def _keep_from_compiler() -> None:
    """torch.compile calls our code, as it calls that of PyTorch's groups, and compiles none."""
    add = getattr(sys.modules[_COMPILER_RULES], "add", None)
    if add is not None:  # not in the first versions
        _find_package()
        add("gangsim")


def _find_package() -> None:
    if _PACKAGES not in sys.path:
        sys.path.append(_PACKAGES)
