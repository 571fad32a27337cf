"""Programs as their authors start them: found, checked and run as __main__."""

import os
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

from package import write
from recording_connection import recorded

from gangsim import process, wire
from gangsim.script import Script, ScriptError


class Programs(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name
        for name, value in (("path", list(sys.path)), ("argv", list(sys.argv))):
            self.addCleanup(setattr, sys, name, value)
        main, folder = sys.modules["__main__"], os.getcwd()
        self.addCleanup(sys.modules.__setitem__, "__main__", main)
        self.addCleanup(os.chdir, folder)
        os.chdir(self.folder)


class Found(Programs):
    def test_a_script_runs_as_main_with_its_arguments(self):
        write(self.folder, "train.py", "import sys\n"
              "assert __name__ == '__main__' and sys.argv[1:] == ['--epochs', '1']\n"
              "assert sys.argv[0] == __file__ and not hasattr(sys.modules['__main__'], 'done')\n"
              "done = True\n")
        Script(["train.py", "--epochs", "1"]).run()
        self.assertTrue(sys.modules["__main__"].done)

    def test_a_module_is_found_without_importing_its_package(self):
        os.mkdir("package_of_mine")
        write("package_of_mine", "__init__.py", "import os\nos.environ['IMPORTED'] = 'yes'\n")
        write("package_of_mine", "__main__.py", "")
        write("package_of_mine", "train.py", "")
        for name, file in (("package_of_mine.train", "train.py"),
                           ("package_of_mine", "__main__.py")):
            self.assertEqual(os.path.basename(Script(["-m", name]).file), file)
        self.assertNotIn("IMPORTED", os.environ)

    def test_a_module_gets_the_arguments_behind_its_name(self):
        write(self.folder, "train.py", "import sys\nfound = sys.argv\n")
        script = Script(["-m", "train", "--epochs", "1"])
        self.assertEqual((script.arguments, script.module), (["--epochs", "1"], "train"))
        self.assertEqual(sys.path[0], os.getcwd())

    def test_the_folder_of_a_script_comes_first_and_is_that_of_the_file_itself(self):
        os.mkdir("real")
        write("real", "train.py", "")
        os.symlink("real/train.py", "train.py")
        script = Script(["train.py"])
        self.assertEqual(sys.path[0], os.path.realpath("real"))
        self.assertEqual(script.file, os.path.abspath("train.py"))

    def test_what_cannot_be_run_is_told(self):
        os.mkdir("empty")
        write("empty", "__init__.py", "")
        write(self.folder, "broken.py", "def f(:\n")
        for words, why in (([], "no program"), (["-m"], "no program"),
                           (["nowhere.py"], "cannot read .*nowhere.py: No such file"),
                           (["-m", "nowhere"], "no module named nowhere"),
                           (["-m", "empty.nowhere"], "no module named empty.nowhere"),
                           (["-m", "empty"], "without a __main__ module"),
                           (["broken.py"], "(?s)broken.py.*line 1.*SyntaxError")):
            with self.assertRaisesRegex(ScriptError, why):
                Script(words)


class Imports(Programs):
    def check(self, text):
        write(self.folder, "program.py", text)
        Script(["program.py"]).check_imports()

    def test_a_module_that_is_missing_is_told_before_anything_runs(self):
        with self.assertRaisesRegex(ScriptError, "(?s)program.py.*line 2.*'no_such_module'"):
            self.check("import os\nimport no_such_module.part\n")
        for text in ('"""What it does."""', "def f():\n    pass", "class C:\n    pass"):
            with self.assertRaisesRegex(ScriptError, "no_such_module"):
                self.check(f"{text}\nfrom no_such_module import part\n")

    def test_imports_that_may_not_happen_are_not_checked(self):
        self.check("try:\n    import no_such_module\nexcept ImportError:\n    pass\n"
                   "def f():\n    import no_such_module\n")
        for line in ("sys.path.append('/elsewhere')", "x = 1", "if sys.argv: pass"):
            self.check(f"import sys\n{line}\nimport no_such_module\n")
        write(self.folder, "my_own.py", "raise RuntimeError('not before the ranks are forked')")
        self.check("import my_own\nfrom . import relative\n")


    def imported(self, text, late=False):
        """What is imported before the ranks are forked."""
        write(self.folder, "program.py", text)
        script = Script(["program.py"])
        with mock.patch("gangsim.script._has_late_import", return_value=late), \
                mock.patch("importlib.import_module") as load:
            script.import_shared(["torch.distributed"])
        return [call.args[0] for call in load.call_args_list]

    def test_libraries_that_are_shared_are_imported_before_the_ranks_are_forked(self):
        text = "import json, numpy.linalg\nfrom scipy import stats\nfrom . import relative\n"
        text += "from .numpy import x\ndef f():\n    import pandas\n"
        self.assertEqual(self.imported(text),
                         ["torch.distributed", "numpy.linalg", "scipy"])

    def test_modules_of_the_programs_own_are_not(self):
        write(self.folder, "numpy.py", "")
        os.mkdir("scipy")
        self.assertEqual(self.imported("import numpy, scipy.stats, pandas\n"),
                         ["torch.distributed", "pandas"])

    def test_what_is_slow_is_imported_if_it_is_mentioned(self):
        for text, late, extra in (("torch.compile(f)", True, ["torch._dynamo"]),
                                  ("torch.compile(f)", False, []), ("print(1)", True, [])):
            self.assertEqual(self.imported(text, late), ["torch.distributed", *extra])

    def test_a_program_may_import_itself(self):
        with mock.patch.dict(sys.modules, __main__=types.ModuleType("__main__")):
            self.check("import __main__, sys\n")


class Exceptions(Programs):
    def run_program(self, text):
        write(self.folder, "program.py", text)
        hooked = []
        self.addCleanup(setattr, sys, "excepthook", sys.excepthook)
        sys.excepthook = lambda *arguments: hooked.append(arguments)
        with self.assertRaises(SystemExit) as ended:
            Script(["program.py"]).run()
        return ended.exception.code, hooked

    def test_they_are_printed_without_our_frames_and_become_the_status(self):
        status, hooked = self.run_program("def f():\n    1 / 0\nf()\n")
        self.assertEqual(status, 1)
        trace = hooked[0][2]
        self.assertEqual((os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno),
                         ("program.py", 3))

    def test_an_interrupt_has_the_status_of_one(self):
        self.assertEqual(self.run_program("raise KeyboardInterrupt")[0], 130)

    def test_one_is_told_whatever_hook_the_program_has(self):
        with recorded(0, 2) as connection, mock.patch.dict(os.environ, GANGSIM_SOCKET="/nowhere"), \
                mock.patch.object(process, "_local", threading.local()):
            self.run_program("import sys\nsys.excepthook = lambda *_: None\nraise KeyError(1)\n")
        failed, = connection.told(wire.FAILED)
        self.assertEqual((failed.text(), failed.text()), ("KeyError", "1"))

    def test_an_exit_keeps_its_status_and_is_told_with_its_line(self):
        with recorded(0, 2) as connection, mock.patch.dict(os.environ, GANGSIM_SOCKET="/nowhere"), \
                mock.patch.object(process, "_local", threading.local()):
            status, hooked = self.run_program("import sys\nsys.exit(5)\n")
        self.assertEqual((status, hooked), (5, []))
        failed, = connection.told(wire.FAILED)
        kind, message, _, place = (failed.text(), failed.text(), failed.text(), failed.text())
        self.assertEqual((kind, message, os.path.basename(place), failed.number("I")),
                         ("SystemExit", "5", "program.py", 2))


if __name__ == "__main__":
    unittest.main()
