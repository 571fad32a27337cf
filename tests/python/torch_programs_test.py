"""Programs of every kind on PyTorch, unchanged: they end well, and the same way every time.

GANGSIM_TORCH_PYTHON names the interpreter; otherwise it is the first that has PyTorch.
"""

import re
import tempfile
import unittest

from package import write
from torch_ranks import VERSION, needs_threads, needs_torch, run

# Programs that end well, with the PyTorch that they need at least.
CORRECT = {
    "all_to_all.py": (1, 13), "any_source.py": (1, 13), "autograd.py": (1, 13),
    "checkpoint.py": (2, 5), "coalesced.py": (2, 0), "compiled.py": (2, 6),
    "collectives.py": (1, 13),
    "collectives.py nccl": (1, 13), "data_loader.py": (1, 13), "data_types.py": (1, 13),
    "ddp.py": (1, 13), "ddp_checkpoint.py": (1, 13), "ddp_features.py": (1, 13),
    "dtensor.py": (2, 5), "forks.py": (1, 13), "fsdp.py": (2, 0), "fsdp.py 2": (2, 14),
    "groups.py": (1, 13), "join.py": (1, 13), "lifetimes.py": (1, 13), "objects.py": (1, 13),
    "p2p.py": (1, 13), "pipeline.py gpipe": (2, 5), "ring.py": (1, 13),
    "saving_thread.py": (1, 13), "store.py": (1, 13), "subgroups.py": (1, 13),
    "skipped_call.py fixed": (1, 13), "swapped_calls.py fixed": (1, 13), "waiting.py": (1, 13),
    "worker_thread.py": (1, 13)}


class Ways(unittest.TestCase):
    def check(self, programs, *options):
        for program in programs:
            with self.subTest(program):
                least = CORRECT[program]
                if VERSION < least:
                    self.skipTest(f"needs PyTorch {least[0]}.{least[1]}")
                ended = run(program, "--log-ranks", "all", *options)
                self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
                self.assertNotIn("crossed_calls", ended.report)
                # One rank prints what it has found, after all checks.
                self.assertRegex(ended.text, r"(?m)^\[\d\] (all well|loss|order|the norm)")


@needs_torch
class Processes(Ways):
    def test_programs_end_well(self):
        self.check(CORRECT)

    def test_programs_end_well_with_interpreters_of_their_own(self):
        self.check(CORRECT if VERSION >= (2, 0) else ("collectives.py", "ddp.py"), "--spawn")

    def test_64_ranks_run(self):
        ended = run("objects.py", world=64)
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertIn("by 64 ranks", ended.text)

    def test_any_source_receives_are_a_function_of_the_seed(self):
        orders = {seed: {re.search("order .*", run(
            "any_source.py", "--schedule", "random", "--seed", seed).text).group()
            for _ in range(2)} for seed in (1, 2, 3, 4)}
        self.assertTrue(all(len(found) == 1 for found in orders.values()), orders)
        self.assertGreater(len(set.union(*orders.values())), 1)

    def test_waits_for_threads_change_no_order_and_take_no_time(self):
        ended = [run("worker_thread.py") for _ in range(3)]
        for each in ended:
            self.assertEqual((each.status, each.report.get("real_time")), (0, None), each.text)
        self.assertEqual(len({each.report["trace_digest"] for each in ended}), 1)

    def test_cuda_scripts_run_on_the_cpu(self):
        for program, since in (("gpus.py", (1, 0)), ("join.py", (1, 13)), ("fsdp_gpus.py", (2, 0)),
                               ("compiled.py", (2, 6)),
                               ("pipeline.py", (2, 5)), ("tensor_parallel_gpus.py", (2, 6)),
                               ("shrink_gpus.py", (2, 14)), ("shrink_gpus.py leaves", (2, 14))):
            if VERSION < since:
                continue
            with self.subTest(program):
                ended = run(program, "--cuda-as-cpu")
                self.assertEqual((ended.status, ended.findings), (0, []), ended.text)

    def test_on_a_stream_later_calls_end_earlier_works(self):
        ended = run("stream_order.py", "--execution", "stream_ordered")
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertIn("[0] all well", ended.text)
        self.assertEqual(run("stream_order.py").findings[0][0], "rank_failed")

    @unittest.skipIf(VERSION < (2, 14), "runs on PyTorch 2.14, whose groups can be shrunk")
    def test_survivors_of_a_crash_go_on_without_it(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = write(folder, "plan.toml", """
[[faults.fault]]
kind = "crash"
ranks = [1]
operation = 3
""")
            ended = run("shrink_gpus.py", "--cuda-as-cpu", "--faults", plan)
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertIn("[0] all well with 3\n", ended.text)
        self.assertEqual(ended.report["virtual_time_ns"], 600 * 10 ** 9)  # NCCL's timeout


@needs_torch
class Explorations(unittest.TestCase):
    def explore(self, program):
        """The exit status, and what was shown: "PROVED 6 schedules", "FOUND"."""
        ended = run(program, "--explore", 100)
        shown = re.match(r"(\w+)  \S+, (?:(\d+ schedules?))?", ended.text)
        self.assertIsNotNone(shown, ended.text)
        return ended.status, " ".join(filter(None, shown.groups()))

    def test_programs_whose_ranks_cannot_overtake_each_other_are_proved_by_one_run(self):
        for program in ("ddp.py", "groups.py", "objects.py", "data_loader.py"):
            with self.subTest(program):
                self.assertEqual(self.explore(program), (0, "PROVED 1 schedule"))

    def test_the_order_that_breaks_a_program_is_found(self):
        self.assertEqual(run("first_come.py").status, 0)  # not this one
        self.assertEqual(self.explore("first_come.py"), (1, "FOUND"))
        self.assertEqual(self.explore("first_come.py fixed"), (0, "PROVED 6 schedules"))

    def test_threads_that_call_are_sampled(self):
        ended = run("saving_thread.py", "--explore", 3)
        self.assertEqual((ended.status, ended.text[:7]), (0, "SAMPLED"), ended.text)


@needs_threads
class Threads(Ways):
    def test_programs_end_well(self):
        self.check(CORRECT, "--threads")

    def test_256_ranks_run(self):
        ended = run("ddp.py", "--threads", world=256, timeout=280)
        self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
        self.assertIn("by 256 ranks", ended.text)

    def test_the_output_is_that_of_the_chosen_ranks(self):
        ended = run("ring.py", "--threads", "--log-ranks", "1-3")
        self.assertEqual((ended.status, re.findall(r"(?m)^\[\d\]", ended.text)), (0, []))
        ended = run("pipeline.py gpipe", "--threads", "--log-ranks", "2-3")
        self.assertEqual(re.findall(r"(?m)^\[\d\] loss", ended.text), ["[3] loss"], ended.text)

    def test_any_source_receives_are_a_function_of_the_seed(self):
        found = {re.search("order .*", run("any_source.py", "--threads", "--schedule", "random",
                                           "--seed", 3).text).group() for _ in range(3)}
        self.assertEqual(len(found), 1)


if __name__ == "__main__":
    unittest.main()
