"""A program as its author started it, `SCRIPT ARGS` or `-m MODULE ARGS`, run as __main__."""

import ast
import builtins
import importlib
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import traceback
import types
from typing import List, Optional

from . import process

# Libraries that are imported once, before the ranks are forked; only those known to work after it.
_SHARED = ("torch", "numpy", "scipy", "pandas", "sklearn", "torchvision", "torchaudio", "PIL")

# What PyTorch 2 imports only when one of these is used, which takes as long as PyTorch itself.
_LATE_IMPORT = "torch._dynamo"
_LATE_MENTIONS = (b"DistributedDataParallel", b"torch.compile", b"fsdp", b"device_mesh")


class ScriptError(Exception):
    """The program cannot be started; the message says why, with a traceback if there is one."""


class Script:
    """What to run: a file, or a module, and its arguments."""

    def __init__(self, words: List[str]):
        if not words or words == ["-m"]:
            raise ScriptError("no program given; expected SCRIPT or -m MODULE, then its arguments")
        self.module: Optional[str] = words[1] if words[0] == "-m" else None
        self.arguments = words[2:] if self.module else words[1:]
        self.file = "" if self.module else os.path.abspath(words[0])
        sys.path.insert(0, os.getcwd() if self.module else os.path.dirname(
            os.path.realpath(self.file)))
        if self.module:
            self.file = self._module_file()
        self._code = None if self.file.endswith((".pyc", ".so")) else self._compiled()

    def import_shared(self, and_also: List[str]) -> None:
        """Imports libraries that every rank needs: those that the program names at its top level.

        Raises what an import raises.
        """
        for name in and_also:
            importlib.import_module(name)
        for name in self._imports():
            if name.split(".")[0] in _SHARED and not self._is_own(name.split(".")[0]):
                importlib.import_module(name)
        if self._mentions(_LATE_MENTIONS) and _has_late_import():
            importlib.import_module(_LATE_IMPORT)

    def check_imports(self) -> None:
        """ScriptError if a module that the program always imports does not exist."""
        for name, line in self._unconditional_imports():
            top = name.split(".")[0]
            if top in sys.modules or top in sys.builtin_module_names:
                continue
            if importlib.util.find_spec(top) is None:
                raise ScriptError(f'  File "{self.file}", line {line}\n'
                                  f"ModuleNotFoundError: No module named {top!r}")

    def run(self) -> None:
        """Runs the program in this process, as `python SCRIPT` would, up to its last line.

        An exception is reported and printed, and becomes SystemExit.
        """
        sys.argv = [self.file, *self.arguments]
        main = types.ModuleType("__main__")
        main.__file__, main.__builtins__ = self.file, builtins
        main.__cached__ = main.__spec__ = main.__doc__ = None
        sys.modules["__main__"] = main
        try:
            if self.module:
                runpy._run_module_as_main(self.module, alter_argv=True)
            else:
                exec(self._code, main.__dict__)
        except SystemExit as error:
            process.report_failure(type(error), error, error.__traceback__)
            raise
        except BaseException as error:
            process.explained(error)
            process.report_failure(type(error), error, error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)

    def _module_file(self) -> str:
        """Where the module is, without importing the packages that it is in."""
        places, spec = None, None
        names = self.module.split(".")
        for index, name in enumerate((*names, "__main__")):
            found = importlib.machinery.PathFinder.find_spec(name, places)
            if found is None and index < len(names):
                raise ScriptError(f"no module named {'.'.join(names[:index + 1])} "
                                  f"(searched: {', '.join(places or sys.path)})")
            spec = found or spec
            if spec.submodule_search_locations is None:
                break
            places = list(spec.submodule_search_locations)
        if not spec.origin or spec.submodule_search_locations is not None:
            raise ScriptError(f"{self.module} is a package without a __main__ module; "
                              "it cannot be run")
        return spec.origin

    def _compiled(self):
        try:
            with open(self.file, "rb") as file:
                self._source = file.read()
        except OSError as error:
            raise ScriptError(f"cannot read {self.file}: {error.strerror}") from None
        try:
            return compile(self._source, self.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise ScriptError("".join(traceback.format_exception_only(
                type(error), error))) from None

    def _statements(self):
        return ast.parse(self._source).body if self._code else []

    def _imports(self):
        for statement in self._statements():
            if isinstance(statement, ast.Import):
                yield from (alias.name for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom) and not statement.level:
                yield statement.module

    def _unconditional_imports(self):
        for statement in self._statements():
            if isinstance(statement, ast.Import):
                yield from ((alias.name, statement.lineno) for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom) and not statement.level:
                yield statement.module, statement.lineno
            elif not (_is_text(statement)
                      or isinstance(statement, (ast.FunctionDef, ast.ClassDef))):
                return  # what follows may depend on it: sys.path.insert(...), an exit

    def _mentions(self, names) -> bool:
        return self._code is not None and any(name in self._source for name in names)

    def _is_own(self, name: str) -> bool:
        """Whether the program brings a module of that name itself."""
        return any(os.path.exists(os.path.join(sys.path[0], name + ending))
                   for ending in (".py", os.sep))


def _is_text(statement) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _has_late_import() -> bool:
    return "torch" in sys.modules and importlib.util.find_spec(_LATE_IMPORT) is not None
