"""Call sites: the innermost frame that is the program's own."""

import concurrent.futures
import contextlib
import functools
import pathlib
import queue
import runpy
import sys
import sysconfig
import tempfile
import threading
import time
import unittest
from unittest import mock

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

    def test_the_standard_library_that_passes_calls_on_is_skipped(self):
        standard = pathlib.Path(contextlib.__file__).parent
        for name in ("contextlib.py", "functools.py", "threading.py", "runpy.py", "weakref.py",
                     "concurrent/futures/_base.py", "multiprocessing/process.py",
                     "asyncio/events.py", "<frozen runpy>", "<eval_with_key>.3"):
            path = name if name[0] == "<" else str(standard / name)
            space = {}
            exec(compile("def call(f):\n    return f()\n", path, "exec"), space)
            self.assertEqual(read(space["call"](call_site.here))[:2],
                             ("call_site_test.py", line() - 1), name)

    def test_where_all_of_it_passes_calls_on_it_is_the_outermost(self):
        found = []
        space = {"found": found, "here": call_site.here}
        for name in ("inner", "outer"):
            path = str(pathlib.Path(call_site.__file__).with_name(name + ".py"))
            text = "def inner():\n    found.append(here())\n" if name == "inner" else (
                "def outer():\n    inner()\n")
            exec(compile(text, path, "exec"), space)
        thread = threading.Thread(target=space["outer"])
        thread.start()
        thread.join()
        file, _, function = read(found[-1])
        self.assertEqual((file, function.split(".")[-1]), ("threading.py", "_bootstrap"))

    def test_a_thread_of_a_library_is_where_the_program_has_started_it(self):
        with mock.patch.object(threading.Thread, "start", threading.Thread.start):
            call_site.note_where_threads_start()
            start = threading.Thread.start
            call_site.note_where_threads_start()
            self.assertIs(threading.Thread.start, start)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                place = pool.submit(call_site.here).result()
        self.assertEqual(read(place)[:2], ("call_site_test.py", line() - 1))

    def test_the_sites_that_are_known_do_not_fill_the_memory(self):
        with mock.patch.object(call_site, "_MOST_SITES", 8), \
                mock.patch.object(call_site, "_sites", {}):
            for number in range(50):
                exec(compile("here()", f"code_{number}.py", "exec"), {"here": call_site.here})
            self.assertLessEqual(len(call_site._sites), 8)

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

    def test_an_exception_has_the_line_that_raised_and_not_a_later_one(self):
        def fail():
            try:
                raise ValueError
            finally:
                sys.getsizeof(1)

        try:
            fail()
        except ValueError as error:
            place = call_site.of_traceback(error.__traceback__)
        self.assertEqual(call_site.line_of(place), fail.__code__.co_firstlineno + 2)

    def test_an_exception_that_only_passes_calls_on_is_where_it_began(self):
        space = {}
        path = str(pathlib.Path(call_site.__file__).with_name("passing.py"))
        exec(compile("def f():\n    g()\ndef g():\n    1 / 0", path, "exec"), space)
        try:
            space["f"]()
        except ZeroDivisionError as error:
            place = call_site.of_traceback(error.__traceback__.tb_next)
        self.assertEqual(call_site.text_of(place), "passing.py:2")
        self.assertEqual(call_site.text_of(call_site.of_traceback(None)), ":0")

    def test_installed_packages_are_libraries(self):
        import site
        for folder in (*site.getsitepackages(), site.getusersitepackages()):
            space = {}
            exec(compile("def check():\n    1 / 0", f"{folder}/checks.py", "exec"), space)
            try:
                space["check"]()
            except ZeroDivisionError as error:
                place = call_site.of_traceback(error.__traceback__)
            self.assertEqual(call_site.text_of(place), f"call_site_test.py:{line() - 3}", folder)

    def test_an_exception_of_a_library_is_where_the_program_called_it(self):
        for name in ("purelib", "stdlib"):
            space, path = {}, pathlib.Path(sysconfig.get_path(name)) / "checks.py"
            text = "def check(x):\n    fail(x)\ndef fail(x):\n    raise ValueError(x)"
            exec(compile(text, str(path), "exec"), space)
            try:
                space["check"](1)
            except ValueError as error:
                trace = error.__traceback__
            self.assertEqual(read(call_site.of_traceback(trace))[:2],
                             ("call_site_test.py", line() - 4))
            # A program may itself be an installed package.
            self.assertEqual(read(call_site.of_traceback(trace.tb_next))[:2], ("checks.py", 4))

    def test_stacks_show_every_thread_but_the_watcher(self):
        own, none = call_site.stacks(0), call_site.stacks(threading.get_ident())
        self.assertIn(b"test_stacks_show_every_thread_but_the_watcher", own)
        self.assertEqual(list(wire.split_frames(none))[0][1], b"\0\0\0\0")
        self.assertIn(b"test_stacks_show_every_thread", call_site.own_stack())

    def test_the_main_thread_comes_first(self):
        end = threading.Event()
        others = [threading.Thread(target=end.wait, name=f"other {number}") for number in range(3)]
        for thread in others:
            thread.start()
        # Idents of threads that came later may be smaller or larger than that of the main thread.
        frames = dict(sys._current_frames())
        main = threading.main_thread().ident
        for offset in (-1, 1):
            shown = {main: frames[main], main + offset: frames[others[0].ident]}
            with mock.patch.object(sys, "_current_frames", return_value=shown):
                (_, fields), = wire.split_frames(call_site.stacks(0))
            found = wire.Fields(fields)
            self.assertEqual((found.number("I"), found.number("I"), found.text()),
                             (2, threading.main_thread().native_id, "MainThread"))
        # A thread that is in the standard library only has a stack, too.
        (_, fields), = wire.split_frames(call_site.stacks(0))
        end.set()
        for thread in others:
            thread.join()
        stacks, numbers, found = {}, [], wire.Fields(fields)
        for _ in range(found.number("I")):
            numbers.append(found.number("I"))
            name, count = found.text(), found.number("I")
            stacks[name] = [(found.text(), found.number("I"), found.text()) for _ in range(count)]
        self.assertEqual([len(stacks[thread.name]) > 0 for thread in others], [True] * 3)
        self.assertLessEqual({thread.native_id for thread in others}, set(numbers))

    def test_a_stack_begins_at_the_program_not_in_a_library_that_it_waits_in(self):
        box = queue.Queue()
        place = line() + 1
        thread = threading.Thread(target=lambda: box.get(), name="waiting", daemon=True)
        thread.start()
        while not box.not_empty._waiters:
            time.sleep(0.001)
        (_, fields), = wire.split_frames(call_site.stacks(0))
        box.put(None)
        thread.join()
        found = wire.Fields(fields)
        for _ in range(found.number("I")):
            _, name, count = found.number("I"), found.text(), found.number("I")
            frames = [(pathlib.Path(found.text()).name, found.number("I"), found.text())
                      for _ in range(count)]
            if name == "waiting":
                self.assertEqual([frame[:2] for frame in frames],
                                 [("call_site_test.py", place)])
                return
        self.fail("the thread has no stack")

    def test_what_starts_programs_is_not_in_a_stack(self):
        space = {"own_stack": call_site.own_stack}
        exec(compile("def run():\n    return own_stack()\n", runpy.__file__, "exec"), space)
        self.assertNotIn(b"runpy.py", space["run"]())

    def test_frames_in_a_message_are_hidden_like_those_in_a_traceback(self):
        own = call_site.__file__
        self.assertEqual(call_site.without_own_lines(
            f"ValueError: bad\n\nAt:\n  train.py(7): hook\n  {own}(3): run\n"
            f"  {runpy.__file__}(9): run_path\n  <frozen runpy>(88): _run_code\n"),
            "ValueError: bad\n\nAt:\n  train.py(7): hook\n")
        for text in (f"cannot read {own}", "a\n  b\n", ""):
            self.assertEqual(call_site.without_own_lines(text), text)

    def test_a_caller_in_a_file_is_found_however_far_it_is(self):
        def inner():
            return call_site.in_file("far.py"), call_site.in_file(__file__)

        space = {"inner": lambda: inner()}
        exec(compile("def f():\n    return inner()\n", "far.py", "exec"), space)
        self.assertEqual((space["f"](), inner()), ((True, True), (False, True)))

    def test_the_stack_of_a_thread_ends_with_its_function(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(call_site.own_stack()))
        thread.start()
        thread.join()
        self.assertIn(b"call_site_test.py", found[0])
        self.assertNotIn(b"_bootstrap", found[0])


if __name__ == "__main__":
    unittest.main()
