"""Runs from tests: results, options, and what pytest shows of a failure."""

import inspect
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from package import PACKAGES, PROGRAM, has, is_alive, needs_program, write
from recording_connection import recorded

import gangsim
from gangsim import process, runner, wire
from gangsim.conductor import find_program
from gangsim.errors import GangError, GangFailure, InvalidArgument, NotSupported


@needs_program
class Runs(unittest.TestCase):
    def test_results_come_in_rank_order(self):
        self.assertEqual(gangsim.run(lambda gang: (gang.rank, gang.size), world=3),
                         [(0, 3), (1, 3), (2, 3)])

    def test_a_function_without_parameters_gets_no_gang(self):
        self.assertEqual(gangsim.run(lambda: os.environ["RANK"], world=2), ["0", "1"])

    def test_options_that_are_wrong_are_told(self):
        for options, why in (({"world": 0}, "world is 0"), ({"schedule": "chance"}, "chance"),
                             ({"options": ["--no-such-option"]}, "no-such-option")):
            with self.assertRaisesRegex(InvalidArgument, why):
                gangsim.run(lambda gang: None, **{"world": 2, **options})

    def test_a_result_that_cannot_be_pickled_is_told(self):
        with self.assertRaisesRegex(GangFailure, "cannot be pickled"):
            gangsim.run(lambda gang: lambda: None, world=1)

    def test_nothing_is_left_behind(self):
        # A folder of its own: other tests that run beside this one also use the machine's.
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, TMPDIR=folder), mock.patch("tempfile.tempdir", folder):
                with self.assertRaises(GangFailure):
                    gangsim.run(lambda gang: gang.rank and gang.barrier(), world=2)
            self.assertEqual(os.listdir(folder), [])
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_nothing_outlives_a_run_that_takes_too_long(self):
        begin = time.monotonic()
        with self.assertRaises(GangFailure) as caught:
            gangsim.run(lambda gang: time.sleep(60) if gang.rank else gang.barrier(), world=2,
                        timeout=0.3)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("within 0.3 s", str(caught.exception))
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_ranks_end_with_who_runs_them(self):
        with tempfile.TemporaryDirectory() as folder:
            text = ("import os, time, gangsim\n"
                    "def rank(gang):\n"
                    f"    open(f'{folder}/{{os.getpid()}}', 'w').close()\n"
                    "    gang.barrier()\n"
                    "    time.sleep(60)\n"
                    "gangsim.run(rank, world=2)\n")
            run = subprocess.Popen([sys.executable, "-c", text], env={
                **os.environ, "PYTHONPATH": str(PACKAGES), "GANGSIM": PROGRAM})
            deadline = time.monotonic() + 20
            while len(os.listdir(folder)) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            ranks = [int(name) for name in os.listdir(folder)]
            run.kill()
            run.wait()
        self.assertEqual(len(ranks), 2)
        while any(map(is_alive, ranks)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([*map(is_alive, ranks)], [False, False])

    def test_what_was_printed_before_is_printed_once(self):
        text = "import gangsim\nprint('before', end=' ')\ngangsim.run(lambda: print('in'), world=2)"
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                               check=True, env={**kept, "PYTHONPATH": str(PACKAGES),
                                                "GANGSIM": PROGRAM})
        self.assertEqual(found.stdout.split(), ["before", "in", "in"])

    def test_a_rank_finds_its_numbers_in_the_environment(self):
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        self.assertEqual(gangsim.run(lambda: [os.environ[name] for name in names], world=2),
                         [["0", "2", "0", "2"], ["1", "2", "1", "2"]])

    def test_threads_of_a_rank_end_before_it_and_daemons_do_not(self):
        with tempfile.TemporaryDirectory() as folder:
            def late(rank):
                time.sleep(0.05)
                write(folder, f"{rank}", "")

            def rank(gang):
                threading.Thread(target=late, args=(gang.rank,)).start()
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()

            begin = time.monotonic()
            gangsim.run(rank, world=2)
            self.assertEqual(sorted(os.listdir(folder)), ["0", "1"])
        self.assertLess(time.monotonic() - begin, 30)

    def test_large_results_are_whole(self):
        self.assertEqual(gangsim.run(lambda gang: bytes([gang.rank]) * 300_000, world=2),
                         [b"\0" * 300_000, b"\1" * 300_000])

    def test_objects_of_one_rank_are_those_of_all(self):
        def rank(gang):
            objects = [{"rank": gang.rank}, "x" * (10 + gang.rank), gang.rank, None]
            gang.broadcast_objects(objects, 1)
            gang.broadcast_objects([], 1)
            return objects

        self.assertEqual(gangsim.run(rank, world=3), [[{"rank": 1}, "x" * 11, 1, None]] * 3)

    def test_a_rank_that_is_killed_is_told_with_the_signal(self):
        def rank(gang):
            if gang.rank:
                os.kill(os.getpid(), 9)
            gang.barrier()

        with self.assertRaisesRegex(GangFailure, "Rank 1's process was killed by signal 9"):
            gangsim.run(rank, world=2)

    def test_the_traceback_of_an_exception_is_told_once(self):
        def rank(gang):
            if gang.rank:
                raise KeyError("no such batch")
            gang.barrier()

        with self.assertRaises(GangFailure) as caught:
            gangsim.run(rank, world=2)
        self.assertEqual(str(caught.exception).count("Traceback"), 1, caught.exception)
        self.assertEqual(caught.exception.report["findings"][0]["ranks"], [1])

    def test_the_decorator_passes_on_what_pytest_gives(self):
        @gangsim.ranks(1)
        def test(first, gang, second):
            assert (first, gang.size, second) == (1, 1, 2)

        @gangsim.ranks(1)
        def answer():
            return 3

        test(1, second=2)
        test(first=1, second=2)
        self.assertEqual(list(inspect.signature(test).parameters), ["first", "second"])
        with self.assertRaisesRegex(InvalidArgument, "returns a value"):
            answer()

    def test_the_decorator_wants_the_number_of_ranks(self):
        with self.assertRaisesRegex(InvalidArgument, r"@gangsim.ranks\(4\)"):
            gangsim.ranks(lambda gang: None)

    @unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
    def test_torch_distributed_is_gangsims(self):
        def rank():
            import torch
            import torch.distributed as dist
            dist.init_process_group("gloo")
            x = torch.ones(1)
            dist.all_reduce(x)
            return x.item()

        self.assertEqual(gangsim.run(rank, world=2), [2.0, 2.0])


class Options(unittest.TestCase):
    def given(self, **options):
        """The options that the conductor would get, by name."""
        with mock.patch.object(runner, "Conductor", side_effect=KeyError) as conductor:
            with self.assertRaises(KeyError):
                gangsim.run(lambda: None, 3, **options)
        arguments = conductor.call_args.args[1]
        return dict(zip(arguments[::2], arguments[1::2]))

    def test_what_is_asked_for_is_what_the_conductor_gets(self):
        known = {"--world": "3", "--seed": "1", "--schedule": "round_robin"}
        self.assertEqual(self.given(), known)
        self.assertEqual(self.given(seed=0), {**known, "--seed": "0"})
        self.assertEqual(
            self.given(seed=5, schedule="random", faults=pathlib.Path("plan.toml"),
                       report="run.html", options=["--timeout", "3s"]),
            {"--world": "3", "--seed": "5", "--schedule": "random", "--faults": "plan.toml",
             "--report": "run.html", "--timeout": "3s"})
        with mock.patch.object(runner, "default_seed", 7):
            self.assertEqual(self.given()["--seed"], "7")
            self.assertEqual(self.given(seed=0)["--seed"], "0")


class Answers(unittest.TestCase):
    """What a rank answers, and what is made of the answers."""

    def answer(self, function):
        with recorded(0, 2) as connection, mock.patch.object(process, "_local", threading.local()):
            process._local.connection = connection
            found = pickle.loads(runner._answer(function))
        return found, connection

    def test_a_rank_that_has_ended_says_goodbye(self):
        found, connection = self.answer(lambda gang: gang.size)
        self.assertEqual((found.value, found.error), (2, None))
        self.assertEqual(len(connection.told(wire.BYE)), 1)

    def test_an_exception_that_cannot_be_pickled_keeps_its_message(self):
        class Local(Exception):
            pass

        def fail():
            raise Local("no such batch")

        found, _ = self.answer(fail)
        self.assertEqual(str(found.error), "no such batch")
        self.assertIn("Local: no such batch", found.traceback)

    def test_the_exception_of_a_rank_comes_before_errors_that_others_meet(self):
        answers = {0: runner._Answer(None, GangError("lost"), "GangError: lost"),
                   1: runner._Answer(None, ValueError("mine"), "ValueError: mine")}
        with self.assertRaises(GangFailure) as caught:
            runner._results(answers, 3, "the verdict", {"findings": [1]})
        text = str(caught.exception)
        self.assertIn("The traceback of rank 1:\n\nValueError: mine", text)
        self.assertTrue(text.startswith("the verdict") and "lost" not in text)
        self.assertEqual((caught.exception.report, caught.exception.exit_status),
                         ({"findings": [1]}, 3))
        with self.assertRaisesRegex(GangFailure, "Rank 1: mine") as caught:
            runner._results(answers, 0, "all is well", {})
        self.assertEqual(caught.exception.exit_status, 1)

    def test_what_cannot_be_asked_for_its_parameters_gets_the_gang(self):
        self.assertEqual([runner.takes_argument(each) for each in (min, lambda: 0, lambda x: 0)],
                         [True, False, True])


class Program(unittest.TestCase):
    def test_a_program_that_is_none_is_told(self):
        former = os.environ.get("GANGSIM")
        os.environ["GANGSIM"] = "/no/such/program"
        try:
            with self.assertRaisesRegex(NotSupported, "GANGSIM is '/no/such/program'"):
                find_program()
        finally:
            del os.environ["GANGSIM"]
            if former is not None:
                os.environ["GANGSIM"] = former


@needs_program
@unittest.skipUnless(has("pytest"), "runs where pytest is installed")
class Pytest(unittest.TestCase):
    def test_the_seed_is_1_unless_another_is_given(self):
        from gangsim import pytest_plugin
        group, config = mock.Mock(), mock.Mock(**{"getoption.return_value": 9})
        pytest_plugin.pytest_addoption(mock.Mock(**{"getgroup.return_value": group}))
        asked = group.addoption.call_args
        self.assertEqual((asked.args, asked.kwargs["default"]), (("--gangsim-seed",), 1))
        with mock.patch.object(runner, "default_seed", 1):
            pytest_plugin.pytest_configure(config)
            self.assertEqual(runner.default_seed, 9)

    def test_failures_are_explained_and_seeds_are_given(self):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "test_gang.py", """
import gangsim, pytest

@gangsim.ranks(2)
def test_well(gang):
    gang.barrier()

@pytest.mark.parametrize("skips", [0, 1])
@gangsim.ranks(2)
def test_hangs(gang, skips):
    if gang.rank != skips:
        gang.barrier()

def test_of_another_kind():
    number = 1
    assert number == 2
""")
            ended = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "gangsim.pytest_plugin",
                 "--gangsim-seed", "7", "test_gang.py"], cwd=folder, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(PACKAGES), "GANGSIM": PROGRAM})
        self.assertIn("3 failed, 1 passed", ended.stdout)
        for skips in (0, 1):
            self.assertIn(f"Rank {skips} never called barrier #0 at test_gang.py:12", ended.stdout)
        self.assertIn("seed 7", ended.stdout)
        self.assertNotIn("GangFailure(", ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^> +assert number == 2$")
        self.assertNotIn("runner.py", ended.stdout)


if __name__ == "__main__":
    unittest.main()
