"""gangsim python --explore: every order in which the messages of ranks can come."""

import json
import os
import pathlib
import re
import tempfile
import unittest

from package import PROGRAMS, gangsim, needs_program, write

FIRST_COME = PROGRAMS / "python" / "first_come.py"


def first_line(ended):
    """What was shown, and of how many schedules: ("PROVED", "6 schedules")."""
    found = re.match(r"(\w+)  .*?(\d+ schedules?|schedule \d+|seeds? .*)", ended.stdout)
    return found.groups() if found else ended.stdout


def explore(world, *words, runs=100):
    return gangsim("python", "--world", world, "--explore", runs, *words)


@needs_program
class Exploration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.saved = os.path.join(folder.name, "found.json")
        self.folder = folder.name

    def program(self, body):
        """A program of a rank; `gang`, `one` (an array) and `gangsim` are there."""
        lines = ["import array, threading, gangsim", "gang = gangsim.root_gang()",
                 "one = array.array('i', [gang.rank])", *body]
        return write(self.folder, "program.py", "\n".join(lines) + "\n")

    def test_messages_to_one_receiver_come_in_every_order(self):
        for world, orders in ((2, "1 schedule"), (3, "2 schedules"), (4, "6 schedules")):
            ended = explore(world, FIRST_COME, "fixed")
            self.assertEqual((ended.returncode, first_line(ended)), (0, ("PROVED", orders)))

    def test_any_strategy_chooses_the_runs(self):
        for strategy, shown in (("auto", ("PROVED", "6 schedules")),
                                ("exhaustive", ("PROVED", "6 schedules")),
                                ("random", ("SAMPLED", "seeds 1 to 20")),
                                ("pos", ("SAMPLED", "seeds 1 to 20")),
                                ("pct:2", ("SAMPLED", "seeds 1 to 20"))):
            ended = explore(4, "--strategy", strategy, FIRST_COME, "fixed", runs=20)
            self.assertEqual((ended.returncode, first_line(ended)), (0, shown))
            found = explore(4, "--strategy", strategy, "--save-schedule", self.saved, FIRST_COME)
            self.assertEqual((found.returncode, first_line(found)[0]), (1, "FOUND"))

    def test_no_run_begins_after_the_budget(self):
        ended = explore(2, "--strategy", "random", "--budget", "1s", FIRST_COME, "fixed",
                        runs=1_000_000)
        self.assertEqual((ended.returncode, first_line(ended)[0]), (0, "SAMPLED"))
        self.assertLess(int(re.search(r"(\d+) runs?,", ended.stdout).group(1)), 1000)

    def test_collectives_are_proved_by_one_run(self):
        ended = explore(4, PROGRAMS / "python" / "gangs.py")
        self.assertEqual((ended.returncode, first_line(ended)), (0, ("PROVED", "1 schedule")))

    def test_a_program_that_does_not_repeat_itself_is_found(self):
        counter = pathlib.Path(self.folder, "runs")
        program = self.program([
            "gang.barrier()",
            f"with open({str(counter)!r}, 'a+') as runs:",
            "    runs.seek(0)",
            "    before = len(runs.read())",
            "    runs.write('.' * (gang.rank == 0))",
            "if before % 2 and gang.rank == 0: gang.start_barrier()"])
        for strategy in ("auto", "random", "pct:2"):
            counter.unlink(missing_ok=True)
            found = explore(1, "--strategy", strategy, program, runs=20)
            self.assertEqual((found.returncode, first_line(found)[0]), (1, "FOUND"))
            self.assertIn("nondeterminism", found.stdout)
            self.assertRegex(found.stdout, r"Reproduce .* --explore 20")

    def test_the_page_of_a_failure_shows_both_ways(self):
        page = os.path.join(self.folder, "page.html")
        # Found in the order that runs take by themselves, and in another one.
        for peer in (1, 2):
            program = self.program([
                "if gang.rank: gang.send(one, 0)",
                f"elif gang.recv(one).source_rank == {peer}: gang.recv(one, {peer})",
                f"else: gang.recv(one, {peer})"])
            found = explore(3, "--save-schedule", self.saved, "--report", page, program)
            self.assertEqual(found.returncode, 1)
            data = re.search(r'<script type="application/json" id="run">(.*?)</script>',
                             pathlib.Path(page).read_text(), re.DOTALL).group(1)
            decisive = json.loads(data)["decisive"]
            self.assertIn(f"took the message of rank {peer}", decisive["text"])
            self.assertIn("the run holds", decisive["consequence"])
            self.assertNotEqual(decisive["found"]["end"], "completed")
            self.assertEqual(decisive["otherwise"]["end"], "completed")
            self.assertNotEqual(decisive["found"]["deeds"], decisive["otherwise"]["deeds"])

    def test_the_order_that_hangs_is_found_and_can_be_repeated(self):
        # Whichever worker is first in a run by itself, the last one is not.
        program = self.program([
            "if gang.rank: gang.send(one, 0)",
            "elif gang.recv(one).source_rank == 1: gang.recv(one, 2)",
            "else: gang.recv(one, 2)"])
        found = explore(3, "--save-schedule", self.saved, program)
        self.assertEqual((found.returncode, first_line(found)), (1, ("FOUND", "schedule 2")))
        text = " ".join(found.stdout.split())
        self.assertIn("Decisive: the receive from any source on rank 0 at program.py:5 took the "
                      "message of rank 2", text)
        self.assertIn("Decided the other way, the run holds.", text)
        again = gangsim("python", "--world", 4, "--replay", self.saved, program)
        self.assertEqual(again.returncode, 1, again.stdout)
        verdict = r"DEADLOCK  .*\n\n(?:  .*\n)+"
        self.assertEqual(re.search(verdict, again.stdout).group(),
                         re.search(verdict, found.stdout).group())

    def test_a_failure_in_any_order_is_reproduced_without_a_schedule(self):
        found = explore(3, PROGRAMS / "python" / "missing_rank.py")
        self.assertEqual((found.returncode, first_line(found)), (1, ("FOUND", "schedule 1")))
        self.assertIn("participant_missing", found.stdout)
        self.assertNotIn("--replay", found.stdout)
        self.assertNotIn("--step-limit", found.stdout)

    def test_outputs_that_depend_on_the_order_are_found(self):
        ended = explore(3, "--save-schedule", self.saved, self.program([
            "if gang.rank: gang.send(one, 0)",
            "else:",
            "    total = 0",
            "    for _ in range(2):",
            "        gang.recv(one)",
            "        total = 2 * total + one[0]",
            "    gangsim.output('total', array.array('i', [total]))"]))
        self.assertEqual((ended.returncode, first_line(ended)[0]), (1, "FOUND"), ended.stdout)
        self.assertIn("message_race", ended.stdout)

    def test_threads_of_a_rank_are_not_proved(self):
        ended = explore(2, self.program([
            "thread = threading.Thread(target=lambda: gang.all_reduce(one))",
            "thread.start()", "thread.join()"]), runs=4)
        self.assertEqual((ended.returncode, first_line(ended)[0]), (0, "SAMPLED"), ended.stdout)

    def test_threads_that_never_call_are_not_proved_either(self):
        for started in ("thread.start()", "gang.barrier()"), ("thread.start()",):
            ended = explore(2, self.program([
                "thread = threading.Thread(target=lambda: None)", *started, "thread.join()",
                "gang.barrier()"]), runs=4)
            self.assertEqual((ended.returncode, first_line(ended)[0]), (0, "SAMPLED"), ended.stdout)

    def test_a_run_whose_order_matters_says_how_to_try_the_others(self):
        plain = gangsim("python", "--world", 3, FIRST_COME, "fixed")
        self.assertIn("--explore 1000", plain.stdout)
        self.assertNotIn("--explore", gangsim("python", "--world", 2, PROGRAMS / "python" /
                                              "gangs.py").stdout)

    def test_a_run_without_a_choice_is_a_proof_unless_the_ranks_are_free(self):
        gangs = PROGRAMS / "python" / "gangs.py"
        for words, is_proof in ((["--world", 2, gangs], True),
                                (["--world", 2, "--free", gangs], False),
                                (["--world", 3, FIRST_COME, "fixed"], False)):
            with self.subTest(words=words):
                ended = gangsim("python", "--json", self.saved, *words)
                self.assertEqual(ended.returncode, 0, ended.stdout)
                run = json.loads(pathlib.Path(self.saved).read_text())
                self.assertEqual(run.get("is_in_every_schedule", False), is_proof)

    def test_what_cannot_be_repeated_is_refused(self):
        for options in (("--free",), ("--attach", "socket")):
            ended = gangsim("python", "--explore", 2, "--world", 2, *options,
                            *([] if options[0] == "--attach" else [FIRST_COME]))
            self.assertEqual(ended.returncode, 2, ended.stdout)
            self.assertIn("--explore", ended.stdout)


if __name__ == "__main__":
    unittest.main()
