"""sys.exit: told where it ends the process, and only there."""

import os
import subprocess
import sys
import tempfile
import unittest

from package import PACKAGES, write

BEGINNING = """
import sys, threading
from gangsim import exits
def tell(kind, message, trace, place):
    print("told", kind, message, trace.count("File"), flush=True)
exits.install(tell)
def leave(status):
    sys.exit(status)
"""


class Exits(unittest.TestCase):
    def end_of(self, text):
        """The status, and what is printed, of a program that ends with `text`."""
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                [sys.executable, write(folder, "program.py", BEGINNING + text)], check=False,
                env={**os.environ, "PYTHONPATH": str(PACKAGES)}, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, timeout=60)
        return ended.returncode, ended.stdout

    def test_one_that_ends_the_process_is_told(self):
        self.assertEqual(self.end_of("leave(3)"), (3, "told SystemExit 3 2\n"))
        self.assertEqual(self.end_of("leave('no data')"), (1, "told SystemExit no data 2\n"))
        self.assertEqual(self.end_of("try: leave(4)\nfinally: print('closed')"),
                         (4, "closed\ntold SystemExit 4 2\n"))
        self.assertEqual(self.end_of("try: leave(5)\nexcept SystemExit as error: raise"),
                         (5, "told SystemExit 5 2\n"))

    def test_a_status_that_is_given_later_is_the_one_that_is_told(self):
        self.assertEqual(self.end_of(
            "sys.unraisablehook = lambda _: print('an error')\n"
            "try: sys.exit()\nexcept SystemExit as error:\n    error.code = 6\n    raise\n"),
            (6, "told SystemExit 6 1\n"))

    def test_one_in_good_order_is_told_without_message_and_traceback(self):
        for status in ("0", "None", "", "False"):
            self.assertEqual(self.end_of(f"sys.exit({status})"), (0, "told SystemExit  0\n"))

    def test_one_that_ends_a_process_of_multiprocessing_after_its_work_is_not(self):
        text = "exec('sys.exit({})', {{'sys': sys, '__name__': 'multiprocessing.spawn'}})"
        self.assertEqual(self.end_of(text.format(0)), (0, ""))
        self.assertEqual(self.end_of(text.format(3)), (3, "told SystemExit 3 2\n"))

    def test_one_that_ends_something_else_is_not(self):
        for text in ("try: leave(3)\nexcept SystemExit as error: assert error.code == 3\n",
                     "thread = threading.Thread(target=leave, args=(3,))\n"
                     "thread.start()\nthread.join()\n"):
            self.assertEqual(self.end_of(text), (0, ""), text)

    def test_it_looks_like_pythons(self):
        self.assertEqual(self.end_of(
            "try: sys.exit(7)\nexcept SystemExit as error:\n"
            "    print(type(error), error.args, isinstance(error, Exception))\n"),
            (0, "<class 'SystemExit'> (7,) False\n"))


if __name__ == "__main__":
    unittest.main()
