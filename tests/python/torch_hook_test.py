"""The hook: what happens, and when, once a program imports a module."""

import importlib
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from package import PACKAGES, write

from gangsim.torch import hook


class Imports(unittest.TestCase):
    """What happens once a module is imported."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.calls = folder.name, []
        for target, name, value in ((sys, "path", [folder.name, *sys.path]),
                                    (sys, "meta_path", list(sys.meta_path)),
                                    (hook, "_loaded", set())):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.dict(sys.modules)
        patch.start()
        self.addCleanup(patch.stop)

    def after(self, module):
        hook._after(module, lambda: self.calls.append(
            (module, getattr(sys.modules[module], "done", False), module in hook._loaded)))

    def test_it_happens_once_and_when_the_module_is_complete(self):
        write(self.folder, "late.py", "done = True\n")
        write(self.folder, "late_too.py", "")
        self.after("late")
        self.after("late")
        import late_too  # noqa: F401
        self.assertEqual(self.calls, [])
        import late  # noqa: F401
        importlib.reload(sys.modules["late"])
        self.assertEqual(self.calls, [("late", True, True)])
        self.after("late")  # is there already
        self.assertEqual(self.calls, [("late", True, True)] * 2)

    def test_a_module_that_was_imported_before_counts_as_loaded(self):
        write(self.folder, "early.py", "done = True\n")
        import early  # noqa: F401
        self.after("early")
        self.assertEqual(self.calls, [("early", True, True)])

    def test_a_module_that_does_not_exist_is_missing_as_ever(self):
        self.after("no_such_module")
        self.after("no_such_package.part")
        for name in ("no_such_module", "no_such_package.part"):
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module(name)
        self.assertEqual(self.calls, [])

    def test_one_that_could_not_be_found_at_first_may_come_later(self):
        finder = hook._Finder("late.part", lambda: self.calls.append("part"))
        with self.assertRaises(ModuleNotFoundError):
            finder.find_spec("late.part")
        os.mkdir(os.path.join(self.folder, "late"))
        write(os.path.join(self.folder, "late"), "__init__.py", "")
        write(os.path.join(self.folder, "late"), "part.py", "")
        importlib.invalidate_caches()
        sys.meta_path.insert(0, finder)
        importlib.import_module("late.part")
        self.assertEqual(self.calls, ["part"])

    def loaded(self, *names):
        """What is called of the package once `names` are loaded."""
        redirect = types.ModuleType("redirect")
        redirect.install = lambda: self.calls.append("install")
        redirect.refuse_rpc = lambda: self.calls.append("refuse_rpc")
        package = types.ModuleType("gangsim.torch")
        package.redirect = redirect
        self.calls.clear()
        hook._loaded.clear()
        hook._loaded.update(names)
        with mock.patch.dict(sys.modules, {"gangsim.torch": package}), \
                mock.patch.dict(os.environ, {"GANGSIM_CUDA_AS_CPU": ""}):
            hook._when_loaded()
        return list(self.calls)

    def test_nothing_is_done_before_torch_is_complete(self):
        self.assertEqual(self.loaded("torch.distributed"), [])
        self.assertEqual(self.loaded("torch"), [])
        self.assertEqual(self.loaded("torch", "torch.distributed"), ["install"])
        self.assertEqual(self.loaded("torch", "torch.distributed", "torch.distributed.rpc"),
                         ["install", "refuse_rpc"])

    def test_the_compiler_is_told_to_leave_the_package_alone(self):
        rules = types.ModuleType("rules")
        with mock.patch.dict(sys.modules, {hook._COMPILER_RULES: rules}):
            hook._keep_from_compiler()  # one that takes no names
            rules.add = self.calls.append
            hook._keep_from_compiler()
        self.assertEqual(self.calls, ["gangsim"])

    def test_the_package_is_found_wherever_the_program_is(self):
        with mock.patch.object(sys, "path", []):
            self.loaded("torch", "torch.distributed")
            self.loaded("torch", "torch.distributed")
            self.assertEqual(sys.path, [str(PACKAGES)])


if __name__ == "__main__":
    unittest.main()
