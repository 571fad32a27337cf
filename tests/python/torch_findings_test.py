"""What is said of programs on PyTorch that hang or are wrong: the finding, the ranks, the line."""

import json
import os
import subprocess
import tempfile
import unittest

from package import PROGRAM, write
from torch_ranks import PYTHON, VERSION, needs_threads, needs_torch, run

ALL = [0, 1, 2, 3]

# The first finding: its id, its ranks, its location, and the PyTorch that the program needs.
WRONG = {
    "crash.py raise": ("rank_failed", [2], "crash.py:12"),
    "crossed_groups.py": ("cross_gang_cycle", ALL, "crossed_groups.py:16"),
    "dropped_work.py": ("unwaited_work", ALL, "dropped_work.py:10"),
    "gpus.py": ("rank_failed", ALL, "gpus.py:14"),
    "group_order.py": ("group_creation_order", [1], "group_order.py:13"),
    "lock.py": ("deadlock", [1], "lock.py:12"),
    "locked_thread.py": ("deadlock", None, "locked_thread.py:15"),
    "mixed_block.py": ("mismatch_gang", None, "mixed_block.py:13", (2, 0)),
    "monitored_barrier.py": ("timed_out", [2], "monitored_barrier.py:14"),
    "monitored_barrier.py all": ("timed_out", [2, 3], "monitored_barrier.py:14"),
    "objects_on_rank_0.py": ("mismatch_operation", [0], "objects_on_rank_0.py:8"),
    "send_cycle.py": ("point_to_point_cycle", ALL, "send_cycle.py:10"),
    "skipped_call.py": ("mismatch_operation", [2], "skipped_call.py:24"),
    "store_wait.py": ("store_key_missing", [1, 2, 3], "store_wait.py:11"),
    "uneven_inputs.py": ("participant_missing", [1], "uneven_inputs.py:13"),
    "written_in_flight.py": ("buffer_in_flight", [0], "written_in_flight.py:10"),
    "wrong_splits.py": ("mismatch_count", ALL, "wrong_splits.py:13")}

# Those that end their process, which threads share.
DEATHS = {"exit": "exited with status 3", "kill": "killed by signal 9",
          "abort": "killed by signal 6"}


class Ways(unittest.TestCase):
    def check(self, *options):
        for program, (name, ranks, location, *least) in WRONG.items():
            with self.subTest(program):
                if least and VERSION < least[0]:
                    self.skipTest(f"needs PyTorch {least[0][0]}.{least[0][1]}")
                ended = run(program, *options)
                self.assertEqual(ended.status, 1, ended.text)
                found = ended.findings[0]
                self.assertEqual((found[0], found[2]), (name, location), ended.text)
                if ranks is not None:
                    self.assertEqual(found[1], ranks, ended.text)


@needs_torch
class Processes(Ways):
    def test_wrong_programs_are_explained(self):
        self.check()

    def test_a_cycle_through_threads_is_certain(self):
        ended = run("locked_thread.py")
        self.assertEqual(ended.findings, [("deadlock", [0, 1], "locked_thread.py:15")], ended.text)
        self.assertIn("0 → 0/exchange → 1 → 0", ended.report["findings"][0]["message"])
        self.assertNotIn("real_time", ended.report)

    def test_whose_groups_differ_does_not_depend_on_who_makes_them_first(self):
        for seed in range(1, 5):
            ended = run("group_order.py", "--schedule", "random", "--seed", str(seed))
            self.assertEqual(ended.findings[0], ("group_creation_order", [1], "group_order.py:13"),
                             ended.text)
        self.assertRegex(run("group_order.py", "--explore=3").text,
                         r"\nDEADLOCK +group_creation_order ", "the last run of several")

    def test_how_a_process_ended_is_told(self):
        for how, text in DEATHS.items():
            ended = run(f"crash.py {how}")
            self.assertEqual(ended.findings, [("rank_failed", [2], "crash.py:18")], ended.text)
            self.assertIn(text, " ".join(ended.text.split()))

    def test_calls_that_were_swapped_unnoticed_are_told(self):
        ended = run("swapped_calls.py")
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        (crossed,) = ended.report["crossed_calls"]
        self.assertEqual([(crossed[side]["ranks"], crossed[side]["location"])
                          for side in ("most", "others")],
                         [([0, 1, 3], "swapped_calls.py:12"), ([2], "swapped_calls.py:17")])

    def test_a_skipped_call_whose_place_the_next_one_took_is_told(self):
        divergence = run("skipped_call.py").report["findings"][0]["divergence"]
        self.assertEqual([(call["ranks"], call["location"]) for call in divergence["parted"]],
                         [([0, 1, 3], "skipped_call.py:13"), ([2], "skipped_call.py:28")])

    def test_who_would_have_timed_out_while_another_computed_is_told(self):
        ended = run("late_rank.py")
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertIn("Suspect Ranks 1-3 waited", " ".join(ended.text.split()))
        (wait,) = ended.report["real_time"]["long_waits"]
        self.assertEqual([wait[name] for name in ("ranks", "call", "location", "late_rank")],
                         [[1, 2, 3], "barrier", "late_rank.py:21", 0])
        self.assertGreater(wait["waited_ns"], wait["timeout_ns"])
        ended = run("late_rank.py fixed")
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertNotIn("real_time", ended.report)

    def test_the_traceback_of_what_failed_is_shown(self):
        text = run("crash.py raise").text
        self.assertIn("ValueError: the batch is empty", text)
        self.assertIn("in load_batch", text)

    def test_injected_faults_are_what_the_others_meet(self):
        for kind, status, found in (
                ("crash", 1, [("timed_out", [2], "ring.py:19")]),
                ("exception", 1, [("rank_failed", [2], "ring.py:21")]),  # raised by wait()
                ("slow", 0, [])):
            delay = 'delay = "1s"' if kind == "slow" else ""
            with tempfile.TemporaryDirectory() as folder:
                plan = write(folder, "plan.toml", f"""
[[faults.fault]]
kind = "{kind}"
ranks = [2]
operation = 3
{delay}
""")
                ended = run("ring.py", "--faults", plan)
            self.assertEqual((ended.status, ended.findings), (status, found), ended.text)

    def test_what_a_script_for_gpus_needs_is_said(self):
        self.assertIn("--cuda-as-cpu", run("gpus.py").text)

    def test_a_blocked_rank_shows_its_stack(self):
        ended = run("uneven_inputs.py")
        self.assertIn("ranks 0,2-3: train at uneven_inputs.py:13, from main at uneven_inputs.py:20",
                      " ".join(ended.text.split()))
        blocked = ended.report["blocked"]
        self.assertEqual([each["rank"] for each in blocked], [0, 2, 3])
        for each in blocked:
            self.assertTrue(any("uneven_inputs.py:14" in frame or "uneven_inputs.py:13" in frame
                                for frame in each["call_stack"]), each)

    @unittest.skipUnless(VERSION == (2, 6), "runs on PyTorch 2.6, whose schedules drop their sends")
    def test_the_sends_that_pytorch_drops_are_found(self):
        for argument in ("", "interleaved"):
            ended = run(f"pipeline.py {argument}")
            self.assertEqual(ended.status, 1)
            self.assertEqual({name for name, _, _ in ended.findings}, {"unwaited_work"}, ended.text)
            self.assertIn("pipeline.py:43", [place for _, _, place in ended.findings])


@needs_torch
class Scripts(unittest.TestCase):
    """Scripts that are wrong before they communicate."""

    def run_text(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            script, report = os.path.join(folder, "train.py"), os.path.join(folder, "run.json")
            with open(script, "w", encoding="utf-8") as file:
                file.write(text)
            ended = subprocess.run(
                [PROGRAM, "torch", "--python", PYTHON, "--world", "2", "--json", report, *options,
                 script], cwd=folder, timeout=120, check=False, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            try:
                with open(report, encoding="utf-8") as file:
                    return ended, json.load(file)
            except FileNotFoundError:  # nothing ran
                return ended, {}

    def test_one_that_never_begins_is_told_by_pytorch(self):
        ended, report = self.run_text(
            "import torch, torch.distributed as dist\ndist.all_reduce(torch.ones(1))\n")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual([each["id"] for each in report["findings"]], ["rank_failed"])
        self.assertEqual(report["findings"][0]["location"], "train.py:2")
        self.assertIn("Default process group has not been initialized", ended.stdout)

    def test_the_timeout_and_the_keys_of_a_store_are_the_programs(self):
        ended, report = self.run_text(
            "import datetime, torch.distributed as dist\n"
            "dist.init_process_group('gloo')\n"
            "two = datetime.timedelta(seconds=2)\n"
            "store = dist.TCPStore('127.0.0.1', 29999, 2, dist.get_rank() == 0, timeout=two)\n"
            "try:\n    store.get('done')\n"
            "except RuntimeError as error:\n    print(error)\n"
            "dist.TCPStore('127.0.0.1', 29999, 2, False).get('done')\n")
        self.assertIn("[0] the store's key 'done' was not set within 2 s\n", ended.stdout)
        self.assertEqual([(each["id"], each["message"]) for each in report["findings"]], [
            ("store_key_missing",
             "Ranks 0-1 wait for the store's key 'done', which no rank sets.")])

    def test_a_thread_that_failed_is_told_where_others_hang_without_it(self):
        text = ("import queue, threading, torch.distributed as dist\n"
                "dist.init_process_group('gloo')\n"
                "loaded = queue.Queue()\n"
                "def load():\n"
                "    if dist.get_rank() == 1: raise ValueError('shard 3 is empty')\n"
                "    loaded.put(1)\n"
                "threading.Thread(target=load, name='loader').start()\n")
        ended, report = self.run_text(text + "loaded.get()\ndist.barrier()\n",
                                      "--stall-limit", "1s")
        self.assertEqual([(each["id"], each["ranks"], each["location"])
                          for each in report["findings"]],
                         [("deadlock", [1], "train.py:8"), ("thread_failed", [1], "train.py:5")])
        self.assertIn("ValueError: shard 3 is empty", report["findings"][1]["message"])
        ended, report = self.run_text(text + "dist.barrier()\n")
        self.assertEqual((ended.returncode, report["findings"]), (0, []))

    def test_one_that_never_communicates_ends_well(self):
        ended, report = self.run_text("import torch\n")
        self.assertEqual((ended.returncode, report["findings"]), (0, []), ended.stdout)

    def test_one_that_one_rank_never_begins_is_a_missing_rank(self):
        ended, report = self.run_text(
            "import os, torch.distributed as dist\n"
            "if os.environ['RANK'] == '0':\n    dist.init_process_group('gloo')\n")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual((report["findings"][0]["id"], report["findings"][0]["ranks"]),
                         ("participant_missing", [1]), ended.stdout)

    def test_an_import_that_fails_is_told_once(self):
        ended, _ = self.run_text("import torch\nimport no_such_module\n")
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(ended.stdout.count('train.py", line 2'), 1, ended.stdout)

    def test_a_rank_that_claims_to_be_another_is_told(self):
        ended, report = self.run_text(
            "import torch.distributed as dist\n"
            "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:29501', rank=1, "
            "world_size=2)\n")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(report["findings"][0]["id"], "rank_failed")
        self.assertIn("is rank 0 of 2 and cannot become rank 1 of 2", " ".join(
            ended.stdout.split()))


@needs_threads
class Threads(Ways):
    def test_wrong_programs_are_explained(self):
        self.check("--threads")

    def test_a_deadlock_of_threads_is_certain(self):
        """Not one that was concluded from nobody's doing anything, seconds later."""
        report = run("crossed_groups.py", "--threads").report
        self.assertEqual(report["certainty"]["schedules"], "every", report["certainty"])
        for blocked in report["blocked"]:
            self.assertEqual(blocked["call_stack"][-1], "<module> at crossed_groups.py:20")


if __name__ == "__main__":
    unittest.main()
