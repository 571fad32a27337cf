"""Programs of every kind on PyTorch, unchanged, and what is said of their hanging twins.

GANGSIM_TORCH_PYTHON names the interpreter; otherwise it is the first that has PyTorch.
"""

import re
import subprocess
import unittest

from package import PACKAGES, PROGRAMS, gangsim, needs_program, torch_python

PYTHON = torch_python() if needs_program is not None else None


def version():
    if PYTHON is None:
        return (0, 0)
    code = "import torch; print(torch.__version__)"
    text = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


VERSION = version()
needs_torch = unittest.skipUnless(
    PYTHON, "runs where a Python has PyTorch (apt-get install python3-torch), or one is named by "
    "GANGSIM_TORCH_PYTHON")

# Programs that end well, with the PyTorch that they need at least.
CORRECT = {
    "all_to_all.py": (1, 13), "any_source.py": (1, 13), "checkpoint.py": (2, 2),
    "coalesced.py": (2, 0), "collectives.py": (1, 13), "data_loader.py": (1, 13), "ddp.py": (1, 13),
    "ddp_features.py": (1, 13), "dtensor.py": (2, 5), "fsdp.py": (2, 0), "groups.py": (1, 13),
    "saving_thread.py": (1, 13), "objects.py": (1, 13), "p2p.py": (1, 13),
    "pipeline.py gpipe": (2, 5), "store.py": (1, 13)}

# Programs that do not, with the finding and a place or a text that the report must name.
WRONG = {
    "crash.py raise": ("rank_failed", "ValueError: the batch is empty"),
    "crash.py exit": ("rank_failed", "exited with status 3"),
    "crash.py kill": ("rank_failed", "killed by signal 9"),
    "crossed_groups.py": ("cross_gang_cycle", "crossed_groups.py:16"),
    "gpus.py": ("rank_failed", "--cuda-as-cpu"),
    "dropped_work.py": ("unwaited_work", "dropped_work.py:10"),
    "group_order.py": ("group_creation_order", "group_order.py:13"),
    "lock.py": ("deadlock", "lock.py"),
    "objects_on_rank_0.py": ("mismatch_operation", "objects_on_rank_0.py:8"),
    "send_cycle.py": ("point_to_point_cycle", "send_cycle.py:10"),
    "store_wait.py": ("store_key_missing", "checkpoint done"),
    "uneven_inputs.py": ("participant_missing", "uneven_inputs.py:13"),
    "written_in_flight.py": ("buffer_in_flight", "written_in_flight.py:10"),
    "wrong_splits.py": ("mismatch_count", "wrong_splits.py:13")}


def run(program, *options, world=4):
    name, *arguments = program.split()
    return gangsim("torch", "--python", PYTHON, "--world", world, *options,
                   PROGRAMS / "torch" / name, *arguments)


@needs_program
@needs_torch
class Programs(unittest.TestCase):
    def test_correct_ones_end_well(self):
        for program, least in CORRECT.items():
            with self.subTest(program):
                if VERSION < least:
                    self.skipTest(f"needs PyTorch {least[0]}.{least[1]}")
                ended = run(program)
                self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_wrong_ones_are_explained(self):
        for program, (finding, text) in WRONG.items():
            with self.subTest(program):
                ended = run(program)
                self.assertEqual(ended.returncode, 1, ended.stdout)
                self.assertIn(finding, ended.stdout)
                self.assertIn(text, " ".join(ended.stdout.split()))

    @unittest.skipUnless(VERSION[:2] == (2, 6), "runs on PyTorch 2.6, whose Schedule1F1B drops it")
    def test_the_send_that_pytorch_drops_is_found(self):
        ended = run("pipeline.py")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"dropped send f32\[32\] .* at pipeline.py:")

    def test_any_source_receives_are_a_function_of_the_seed(self):
        orders = {seed: {re.search("order .*", run(
            "any_source.py", "--schedule", "random", "--seed", seed).stdout).group()
            for _ in range(2)} for seed in (1, 2, 3, 4)}
        self.assertTrue(all(len(found) == 1 for found in orders.values()), orders)
        self.assertGreater(len(set.union(*orders.values())), 1)

    def test_cuda_scripts_run_on_the_cpu(self):
        ended = run("gpus.py", "--cuda-as-cpu")
        self.assertEqual(ended.returncode, 0, ended.stdout)


@needs_program
@needs_torch
class Launchers(unittest.TestCase):
    def launch(self, *words):
        return gangsim("torch", "--", PYTHON, *words)

    def test_torchrun(self):
        # Without redirections, PyTorch 1.13's torchrun fails on Python 3.11.
        outputs = ["-r", "1", "-t", "1"] if VERSION < (2, 0) else []
        for program, status in (("ddp.py", 0), ("uneven_inputs.py", 1)):
            ended = self.launch("-m", "torch.distributed.run", *outputs, "--nproc_per_node", 2,
                                PROGRAMS / "torch" / program)
            self.assertEqual(ended.returncode, status, ended.stdout)

    @unittest.skipIf(VERSION < (2, 0), "runs on PyTorch 2, whose groups can be a thread's")
    def test_ranks_as_threads(self):
        for program, status in (("ddp.py", 0), ("fsdp.py", 0), ("uneven_inputs.py", 1)):
            ended = self.launch(PACKAGES / "gangsim" / "zygote.py", "--threads", 4, "--torch", "--",
                                PROGRAMS / "torch" / program)
            self.assertEqual(ended.returncode, status, ended.stdout)

    def test_multiprocessing(self):
        ended = self.launch(PROGRAMS / "torch" / "spawn.py")
        self.assertEqual(ended.returncode, 0, ended.stdout)


if __name__ == "__main__":
    unittest.main()
