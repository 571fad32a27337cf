"""Programs without PyTorch under `gangsim python`, and input that is wrong."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from multiprocessing.pool import ThreadPool

from package import PROGRAM, PROGRAMS, gangsim, is_alive, needs_program, write


def read_all(terminal):
    """What was written to the other end of a pseudo-terminal, which is closed."""
    text = b""
    try:
        while part := os.read(terminal, 65536):
            text += part
    except OSError:  # no more
        pass
    return text.decode()


@needs_program
class Programs(unittest.TestCase):
    def test_a_program_ends_well_with_any_even_world(self):
        for world in (2, 4, 8):
            ended = gangsim("python", "--world", world, PROGRAMS / "python" / "gangs.py")
            self.assertEqual(ended.returncode, 0, ended.stdout)
            self.assertIn(f"rank 0 of {world}: all well", ended.stdout)

    def test_a_hang_is_a_verdict(self):
        ended = gangsim("python", "--world", 3, PROGRAMS / "python" / "missing_rank.py")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("participant_missing", ended.stdout)
        self.assertIn("missing_rank.py:7", ended.stdout)

    def test_the_same_seed_gives_the_same_trace(self):
        traces = set()
        for _ in range(5):
            ended = gangsim("python", "--world", 4, "--schedule", "random", "--seed", 3,
                            PROGRAMS / "python" / "gangs.py")
            traces.add(re.search(r"trace (\w+)", ended.stdout).group(1))
        self.assertEqual(len(traces), 1)

    def test_the_command_that_repeats_a_run_has_all_that_it_was_given(self):
        hang = PROGRAMS / "python" / "missing_rank.py"
        with tempfile.TemporaryDirectory() as folder:
            schedule = f"{folder}/schedule.json"
            found = gangsim("python", "--python", sys.executable, "--world", 3, "--schedule",
                            "random", "--save-schedule", schedule, hang)
            again = gangsim("python", "--replay", schedule, "--world", 3, hang)
        self.assertEqual((found.returncode, again.returncode), (1, 1), again.stdout)
        self.assertIn(f"--python {sys.executable} ", " ".join(found.stdout.split()))
        self.assertIn(f"--replay {schedule} ", " ".join(again.stdout.split()))

    def test_a_traceback_that_was_just_shown_is_not_repeated_at_a_terminal(self):
        line = "line 1, in <module>"
        with tempfile.TemporaryDirectory() as folder:
            script = write(folder, "fails.py", "raise ValueError('no batch')\n")
            run = [PROGRAM, "python", "--world", "1", str(script)]
            self.assertEqual(gangsim(*run[1:]).stdout.count(line), 2)  # in a file both are kept
            for log, times in (("0", 1), ("none", 1)):
                terminal, end = pty.openpty()
                self.addCleanup(os.close, terminal)
                ended = subprocess.run([*run[:2], "--log-ranks", log, *run[2:]], cwd=folder,
                                       stdout=end, stderr=subprocess.STDOUT, timeout=120,
                                       check=False)
                os.close(end)
                shown = read_all(terminal)
                self.assertEqual(ended.returncode, 1, shown)
                self.assertEqual(shown.count(line), times, shown)
                self.assertEqual(shown.count("The traceback of rank 0"), int(log == "none"))

    def test_a_program_that_handles_timeouts_can_be_shown_them(self):
        text = ("import gangsim\n"
                "gang = gangsim.root_gang()\n"
                "if gang.rank == 0:\n"
                "    try:\n"
                "        gang.barrier()\n"
                "    except gangsim.GangError as error:\n"
                "        print('handled', error.kind)\n")
        with tempfile.TemporaryDirectory() as folder:
            script = write(folder, "alone.py", text)
            for options, status in (((), 1), (("--let-timeouts-fire",), 0)):
                ended = gangsim("python", "--world", 2, *options, script)
                self.assertEqual(ended.returncode, status, ended.stdout)
                self.assertEqual("handled timeout" in ended.stdout, status == 0, ended.stdout)

    def test_each_rank_can_have_an_interpreter_of_its_own(self):
        ended = gangsim("python", "--spawn", "--world", 2, PROGRAMS / "python" / "gangs.py")
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_a_process_that_a_rank_starts_is_told_how_to_be_a_rank(self):
        text = ("import gangsim, subprocess, sys\n"
                "gang = gangsim.root_gang()\n"
                "if len(sys.argv) == 1:\n"
                "    sys.exit(subprocess.run([sys.executable, __file__, 'again']).returncode)\n")
        with tempfile.TemporaryDirectory() as folder:
            ended = gangsim("python", "--world", 1, write(folder, "starts_ranks.py", text))
        self.assertEqual(ended.returncode, 2, ended.stdout)
        self.assertIn("without --world", ended.stdout)
        self.assertNotIn("AttributeError", ended.stdout)

    def test_an_interrupt_tells_where_each_rank_is(self):
        text = ("import gangsim, time\n"
                "def spin():\n"
                "    time.sleep(1)  # until the others wait\n"
                "    print('spinning', flush=True)\n"
                "    while True: pass\n"
                "gang = gangsim.root_gang()\n"
                "gang.barrier()\n"
                "if gang.rank == 1: spin()\n"
                "gang.barrier()\n")
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen(
                    [PROGRAM, "python", "--world", "3", "--log-ranks", "1", "--json", "run.json",
                     write(folder, "spin.py", text)],
                    cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
                self.assertEqual(run.stdout.readline(), "[1] spinning\n")
                run.send_signal(signal.SIGINT)
                try:
                    out = run.communicate(timeout=60)[0]
                finally:
                    run.kill()
            report = json.loads((pathlib.Path(folder) / "run.json").read_text())
        self.assertEqual(run.returncode, 130, out)
        self.assertEqual([finding["ranks"] for finding in report["findings"]], [[1]])
        self.assertEqual({blocked["rank"]: blocked["location"] for blocked in report["blocked"]},
                         {0: "spin.py:9", 1: "spin.py:5", 2: "spin.py:9"})

    def test_an_interrupt_before_any_rank_has_joined_tells_what_was_waited_for(self):
        slow = "#!/bin/sh\necho $$ > process.new; mv process.new process; exec sleep 1000\n"
        for options, waited_for in (
                (["--world", "2", "--python", "./slow", "train.py"], "the imports of train.py"),
                (["--", "./slow"], "the first rank to join")):
            with self.subTest(waited_for), tempfile.TemporaryDirectory() as folder:
                write(folder, "slow", slow).chmod(0o755)
                with subprocess.Popen([PROGRAM, "python", *options], cwd=folder,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True) as run:
                    try:
                        process = self.number_in(pathlib.Path(folder) / "process")
                        run.send_signal(signal.SIGINT)
                        out = run.communicate(timeout=60)[0]
                    finally:
                        run.kill()
                self.assertEqual((run.returncode, out), (
                    130, f"gangsim: python: interrupted while waiting for {waited_for}\n"))
                self.assertFalse(is_alive(process))

    def findings(self, text, *options):
        """The exit status, and the findings of three ranks that run `text`."""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "run.json"
            ended = gangsim("python", "--world", 3, "--json", report, *options,
                            write(folder, "program.py", "import fcntl, os, subprocess, time\n"
                                  "import gangsim\ngang = gangsim.root_gang()\n" + text))
            return ended.returncode, json.loads(report.read_text())["findings"]

    def stalled(self, text, *options):
        status, findings = self.findings(text, *options)
        return status, [(each["id"], each["ranks"], each["location"]) for each in findings]

    def test_a_rank_that_looks_for_a_file_for_ever_is_named_with_its_line(self):
        text = ("if gang.rank == 1:\n"
                "    while not os.path.exists('never'):\n"
                "        time.sleep(0.02)\n"
                "gang.barrier()\n")

        def found(*options):
            return self.stalled(text, "--stall-limit", "2s", *options)

        with ThreadPool(3) as pool:  # they mostly wait
            for result in pool.starmap(found, [(), ("--spawn",), ("--free",)]):
                self.assertEqual(result, (1, [("deadlock", [1], "program.py:6")]))

    def test_a_rank_outside_of_calls_is_named_with_the_function_that_it_is_in(self):
        _, findings = self.findings(
            "import threading\n"
            "def wait_for_ever(): threading.Event().wait()\n"
            "if gang.rank == 1:\n"
            "    threading.Thread(target=wait_for_ever, daemon=True).start()\n"
            "    wait_for_ever()\n"
            "gang.barrier()\n", "--stall-limit", "1s")
        self.assertEqual([each["message"] for each in findings], [
            "Rank 1 is outside of any call, in wait_for_ever at program.py:5."])

    def test_a_rank_that_sleeps_or_waits_for_what_works_is_not(self):
        for text in (
                "if gang.rank == 1: time.sleep(4)\ngang.barrier()\n",
                # What it waits for is done by a process of its own, or by another rank.
                "if gang.rank == 1:\n"
                "    subprocess.run(['sh', '-c', 'while [ ! -e go ]; do :; done & "
                "sleep 4; touch go'])\n"
                "gang.barrier()\n",
                "lock = open('lock', 'w')\n"
                "if gang.rank == 0: fcntl.flock(lock, fcntl.LOCK_EX)\n"
                "gang.barrier()\n"
                "end = time.monotonic() + 5\n"
                "if gang.rank == 0:\n"
                "    while time.monotonic() < end: pass\n"
                "    fcntl.flock(lock, fcntl.LOCK_UN)\n"
                "else: fcntl.flock(lock, fcntl.LOCK_EX)\n"
                "lock.close()\n"
                "gang.barrier()\n"):
            with self.subTest(text):
                limit = [] if "sleep(4)" in text else ["--stall-limit", "2s"]
                self.assertEqual(self.stalled(text, *limit), (0, []))

    def test_what_is_noted_is_as_narrow_as_the_rest(self):
        text = ("import array, os, gangsim\n"
                "gang, one = gangsim.root_gang(), array.array('i', [1])\n"
                "if gang.rank == 2: os.mkfifo('pipe')\n"
                "gang.barrier()\n"
                "if gang.rank == 0: open('pipe').close()\n"  # until rank 1 opens it
                "if gang.rank == 1:\n"
                "    gang.send(one, 2)\n"
                "    open('pipe', 'w').close()\n"
                "if gang.rank == 2: gang.recv(one, 1)\n"
                "gang.barrier()\n")
        with tempfile.TemporaryDirectory() as folder:
            ended = gangsim("python", "--world", 3, write(folder, "program.py", text))
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("  Note       not reproducible: rank 0 waited", ended.stdout)
        commands = ("  Contested ", "  Reproduce ")
        self.assertEqual([line for line in ended.stdout.splitlines()
                          if len(line) > 80 and not line.startswith(commands)], [])

    def number_in(self, path):
        """The number that a file holds, once there is one."""
        for _ in range(600):
            if path.exists():
                return int(path.read_text())
            time.sleep(0.1)
        raise AssertionError(f"{path} was not written")

    def test_nothing_that_was_started_outlives_the_run(self):
        helper = "#!/bin/sh\necho $$ > helper.new; mv helper.new helper; exec sleep 1000\n"
        start = "setsid ./helper.sh & while [ ! -e helper ]; do sleep 0.01; done\n"
        rank = f"{sys.executable} -c 'import gangsim; gangsim.root_gang().barrier()'\n"
        with tempfile.TemporaryDirectory() as folder:
            write(folder, "helper.sh", helper).chmod(0o755)
            write(folder, "start.sh", "#!/bin/sh\n" + start).chmod(0o755)
            write(folder, "good.sh", f"{start}RANK=0 WORLD_SIZE=1 {rank}")
            write(folder, "hang.sh", f"{start}RANK=0 WORLD_SIZE=2 {rank[:-1]} &\n"
                  f"RANK=1 WORLD_SIZE=2 {rank.replace('.barrier()', '')}wait\n")
            write(folder, "early.sh", f"{start}exit 3\n")
            write(folder, "rank.py", "import subprocess, gangsim\n"
                  "if gangsim.root_gang().rank == 0: subprocess.Popen(['./start.sh']).wait()\n")
            for status, *words in ((0, "--", "sh", "good.sh"), (1, "--", "sh", "hang.sh"),
                                   (2, "--", "sh", "early.sh"), (0, "rank.py"),
                                   (0, "--spawn", "rank.py")):
                ended = subprocess.run([PROGRAM, "python", *words], cwd=folder, check=False,
                                       timeout=60, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
                self.assertEqual(ended.returncode, status, ended.stdout)
                number = pathlib.Path(folder) / "helper"
                self.assertFalse(is_alive(self.number_in(number)), words)
                number.unlink()

    def test_the_report_comes_after_what_a_launcher_says_and_a_restart_is_told_why_not(self):
        with tempfile.TemporaryDirectory() as folder:
            rank = write(folder, "rank.py", "import sys, gangsim\n"
                         "gang = gangsim.root_gang()\n"
                         "if gang.rank == 1: sys.exit('no data')\n"
                         "gang.barrier()\n")
            script = write(folder, "start.sh", "start() { for rank in 0 1; do\n"
                           f"RANK=$rank WORLD_SIZE=2 {sys.executable} {rank} & done; wait; }}\n"
                           "start; echo once more; start; exit 1\n")
            ended = gangsim("python", "--", "sh", script)
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("a run is judged up to its first failure, without restarts", ended.stdout)
        self.assertLess(ended.stdout.rfind("once more"), ended.stdout.rfind("FAILED  rank_failed"))

    def test_ranks_that_only_start_others_are_no_run_but_those_that_work_are(self):
        with tempfile.TemporaryDirectory() as folder:
            program = write(folder, "program.py", "import subprocess, sys, gangsim\n"
                            "if sys.argv[1] == 'work': gangsim.root_gang().barrier()\n"
                            "joins = 'import gangsim; gangsim.root_gang().barrier()'\n"
                            "ended = subprocess.run([sys.executable, '-c', joins],\n"
                            "                       capture_output=True, text=True)\n"
                            "assert 'cannot take its place' in ended.stderr, ended.stderr\n"
                            "assert '`gangsim torch -- python3 PROGRAM`' in ended.stderr\n")
            for status, word in ((0, "work"), (2, "nothing")):
                ended = gangsim("python", "--world", 2, program, word)
                self.assertEqual(ended.returncode, status, ended.stdout)
        self.assertIn("cannot take its place", ended.stdout.splitlines()[-1])

    def test_of_two_ranks_that_differ_more_ranks_show_which_one_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            program = write(folder, "program.py", "import array, gangsim, sys\n"
                            "gang = gangsim.root_gang()\n"
                            "data = array.array('f', [1])\n"
                            "if 'receive' in sys.argv: gang.recv(data, 1 - gang.rank)\n"
                            "if gang.rank % 2 and 'end' in sys.argv: sys.exit()\n"
                            "if gang.rank % 2: gang.all_reduce(data)\n"
                            "gang.barrier()\n")
            script = write(folder, "start.sh", "for rank in 0 1; do\n"
                           f"RANK=$rank WORLD_SIZE=2 {sys.executable} {program} & done; wait\n")
            of_two = gangsim("python", "--world", 2, program)
            others = [gangsim("python", *words) for words in (
                ("--world", 3, program), ("--world", 5, program), ("--", "sh", script),
                ("--world", 2, program, "end"), ("--world", 2, program, "receive"))]
        self.assertEqual(of_two.returncode, 1, of_two.stdout)
        self.assertIn("Two ranks", of_two.stdout)
        self.assertIn("--world 4", of_two.stdout)
        for ended in others:
            self.assertEqual(ended.returncode, 1, ended.stdout)
            self.assertNotIn("Two ranks", ended.stdout)

    def test_of_options_after_the_program_few_are_taken_and_that_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            program = write(folder, "program.py", "import sys\nprint(sys.argv[1:])\n")
            ended = gangsim("python", "--world", 2, program, "--log-ranks", "all")
            json_file = pathlib.Path(folder) / "a.json"
            taken = gangsim("python", "--world", 2, program, "x", "--json", json_file)
            exists = json_file.exists()
            own = gangsim("python", "--world", 2, program, "--", "--json", "b.json")
            missing = [gangsim("python", "--world", 2, program, option, "nowhere.toml")
                       for option in ("--faults", "--replay")]
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("['--log-ranks', 'all']", ended.stdout)
        self.assertIn("note: --log-ranks comes after the program", ended.stdout)
        self.assertEqual(taken.returncode, 0, taken.stdout)
        self.assertIn("['x']", taken.stdout)
        self.assertTrue(exists)
        self.assertIn("['--json', 'b.json']", own.stdout)
        self.assertNotIn("note:", own.stdout)
        for ended in missing:
            self.assertEqual(ended.returncode, 2, ended.stdout)
            self.assertIn("nowhere.toml", ended.stdout.splitlines()[-1])


@needs_program
class WrongInput(unittest.TestCase):
    def run_text(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            return gangsim("python", *arguments, write(folder, "program.py", text))

    def test_a_script_that_cannot_start_is_told_once(self):
        ended = gangsim("python", "--world", 4, "nowhere.py")
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(ended.stdout.count("nowhere.py"), 1, ended.stdout)
        ended = self.run_text("import no_such_module\n", "--world", "4")
        self.assertEqual(ended.stdout.count("program.py\", line 1"), 1, ended.stdout)
        self.assertIn("No module named 'no_such_module'", ended.stdout)

    def test_a_world_without_ranks_is_told(self):
        for world in (0, -1):
            ended = gangsim("python", "--world", world, PROGRAMS / "python" / "gangs.py")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("--world", ended.stdout)
            self.assertIn(str(world), ended.stdout)

    def test_an_exception_at_import_is_the_ranks(self):
        ended = self.run_text("raise RuntimeError('no data')\n", "--world", "2")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("RuntimeError: no data", ended.stdout)

    def test_a_script_that_never_calls_ends_well(self):
        self.assertEqual(self.run_text("pass\n", "--world", "2").returncode, 0)

    def test_an_exit_status_is_told(self):
        ended = self.run_text("import sys\nsys.exit(5)\n", "--world", "2")
        self.assertEqual(ended.returncode, 1)
        text = " ".join(ended.stdout.split())
        self.assertIn("program.py:2: SystemExit: 5", text)

    def test_where_an_exit_in_good_order_was_is_told_where_others_hang_for_it(self):
        ended = self.run_text("import sys, gangsim\n"
                              "gang = gangsim.root_gang()\n"
                              "if gang.rank == 1: sys.exit(0)\n"
                              "gang.barrier()\n", "--world", "2")
        self.assertEqual(ended.returncode, 1)
        text = " ".join(ended.stdout.split())
        self.assertIn("it ended with sys.exit at program.py:3.", text)


if __name__ == "__main__":
    unittest.main()
