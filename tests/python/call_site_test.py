"""Call sites: the innermost frame that is the program's own."""

import contextlib
import functools
import pathlib
import sys
import sysconfig
import tempfile
import threading
import unittest

from package import write

from gangsim import call_site, wire


def read(place):
    fields = wire.Fields(memoryview(place))
    return pathlib.Path(fields.text()).name, fields.number("I"), fields.text()


def line():
    return sys._getframe(1).f_lineno


class CallSite(unittest.TestCase):
    def test_it_is_the_line_and_the_function_that_call(self):
        file, number, function = read(call_site.here())
        self.assertEqual((file, number), ("call_site_test.py", line() - 1))
        self.assertTrue(function.endswith("test_it_is_the_line_and_the_function_that_call"))

    def test_what_passes_calls_on_is_skipped(self):
        found = []

        @contextlib.contextmanager
        def block():
            yield
            found.append(functools.partial(call_site.here)())

        with tempfile.TemporaryDirectory() as folder:
            library = write(folder, "library.py", "def call(f):\n    return f()\n")
            space = {}
            exec(compile(library.read_text(), str(library), "exec"), space)
            self.assertEqual(read(space["call"](call_site.here))[0], "library.py")
            call_site.skip(str(library))
            self.assertEqual(read(space["call"](call_site.here))[:2],
                             ("call_site_test.py", line() - 1))
        with block():
            pass
        self.assertEqual(read(found[0])[2].split(".")[-1], "block")

    def test_each_call_has_its_own_site_however_often_it_is_made(self):
        for _ in range(3):
            first, second = call_site.here(), call_site.here()
            third = call_site.here()
            self.assertEqual([read(place)[1] - line() for place in (first, second, third)],
                             [-2, -2, -1])

    def test_later_code_does_not_get_the_sites_of_code_that_is_gone(self):
        for number in range(300):
            code = compile("place = here()", f"code_{number}.py", "exec")
            space = {"here": call_site.here}
            exec(code, space)
            self.assertEqual(read(space["place"])[0], f"code_{number}.py")

    def test_an_exception_is_where_it_left_the_program(self):
        try:
            int("x")
        except ValueError as error:
            place = call_site.of_traceback(error.__traceback__)
        self.assertEqual(read(place)[:2], ("call_site_test.py", line() - 3))
        self.assertEqual(call_site.text_of(place), f"call_site_test.py:{line() - 4}")

    def test_an_exception_of_a_library_is_where_the_program_called_it(self):
        for name in ("purelib", "stdlib"):
            space, path = {}, pathlib.Path(sysconfig.get_path(name)) / "checks.py"
            exec(compile("def check(x):\n    raise ValueError(x)", str(path), "exec"), space)
            try:
                space["check"](1)
            except ValueError as error:
                trace = error.__traceback__
            self.assertEqual(read(call_site.of_traceback(trace))[:2],
                             ("call_site_test.py", line() - 4))
            # A program may itself be an installed package.
            self.assertEqual(read(call_site.of_traceback(trace.tb_next))[:2], ("checks.py", 2))

    def test_stacks_show_every_thread_but_the_watcher(self):
        own, none = call_site.stacks(0), call_site.stacks(threading.get_ident())
        self.assertIn(b"test_stacks_show_every_thread_but_the_watcher", own)
        self.assertEqual(list(wire.split_frames(none))[0][1], b"\0\0\0\0")
        self.assertIn(b"test_stacks_show_every_thread", call_site.own_stack())

    def test_the_stack_of_a_thread_ends_with_its_function(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(call_site.own_stack()))
        thread.start()
        thread.join()
        self.assertIn(b"call_site_test.py", found[0])
        self.assertNotIn(b"_bootstrap", found[0])


if __name__ == "__main__":
    unittest.main()
