"""Programs on PyTorch that another launcher starts, or that start their ranks themselves."""

import tempfile
import unittest

from package import PROGRAMS, gangsim, write
from torch_ranks import PYTHON, VERSION, needs_torch


@needs_torch
class Launchers(unittest.TestCase):
    def launch(self, *words, **environment):
        return gangsim("torch", "--", PYTHON, *words, **environment)

    def test_torchrun(self):
        # Without redirections, PyTorch 1.13's torchrun fails on Python 3.11.
        outputs = ["-r", "1", "-t", "1"] if VERSION < (2, 0) else []
        for program, status in (("ddp.py", 0), ("uneven_inputs.py", 1)):
            ended = self.launch("-m", "torch.distributed.run", *outputs, "--nproc_per_node", 2,
                                PROGRAMS / "torch" / program)
            self.assertEqual(ended.returncode, status, ended.stdout)

    def test_multiprocessing(self):
        ended = self.launch(PROGRAMS / "torch" / "spawn.py")
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_a_program_that_starts_a_rank_for_each_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            script = write(folder, "spawn.py", """
import torch, torch.distributed as dist, torch.multiprocessing
def work(rank, world):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", rank=rank,
                            world_size=world)
    assert torch.cuda.device_count() == world
    dist.barrier()
if __name__ == "__main__":
    world = torch.cuda.device_count()
    torch.multiprocessing.spawn(work, args=(world,), nprocs=world)
""")
            for options, world in ((["--world", 3], 3), ([], 2)):
                ended = gangsim("torch", "--cuda-as-cpu", *options, "--", PYTHON, script)
                self.assertEqual(ended.returncode, 0, ended.stdout)
                self.assertIn(f", world {world}, seed 1\n", ended.stdout)

    def test_a_program_that_starts_its_own_ranks_is_not_started_as_one(self):
        for world in (2, 3):  # it starts three
            ended = gangsim("torch", "--world", world, PROGRAMS / "torch" / "spawn.py")
            self.assertEqual(ended.returncode, 2, ended.stdout)
            self.assertIn("`gangsim torch -- python3 PROGRAM`", ended.stdout.splitlines()[-1])

    def test_what_ends_a_process_that_a_program_starts_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            script = write(folder, "spawn.py", """
import sys
import torch, torch.distributed as dist, torch.multiprocessing
def work(rank, how):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=2)
    if rank == 1:
        sys.exit(3) if how == "exit" else 1 / 0
    dist.barrier()
if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)
""")
            for how, text in (("exit", "at spawn.py:7: SystemExit: 3"),
                              ("raise", "at spawn.py:7: ZeroDivisionError: division by zero")):
                ended = self.launch(script, how)
                self.assertEqual(ended.returncode, 1, ended.stdout)
                self.assertIn(f"Rank 1 ended with an exception {text}",
                              " ".join(ended.stdout.split()))
                self.assertNotIn("process_group.py", ended.stdout)

    def test_an_environment_that_is_half_set_is_told(self):
        for variables, why in (({"RANK": "0"}, "RANK is set to '0' and WORLD_SIZE is not set"),
                               ({"WORLD_SIZE": "2"}, "WORLD_SIZE is set to '2' and RANK is not"),
                               ({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 of 2")):
            ended = self.launch(PROGRAMS / "torch" / "ddp.py", **variables)
            self.assertIn(ended.returncode, (1, 2), ended.stdout)
            self.assertIn(why, " ".join(ended.stdout.split()))


@needs_torch
class Comparisons(unittest.TestCase):
    """The same script under gangsim and on real Gloo."""

    def compare(self, expression):
        with tempfile.TemporaryDirectory() as folder:
            script = write(folder, "train.py", f"""
import torch, torch.distributed as dist, gangsim
dist.init_process_group("gloo")
x = torch.arange(5.0) + dist.get_rank()
dist.all_reduce(x)
gangsim.output("x", {expression})
dist.destroy_process_group()
""")
            # Debian's PyTorch 2 is built without libuv.
            return gangsim("torch", "--python", PYTHON, "--world", 2, "--compare", script,
                           USE_LIBUV="0")

    def test_equal_outputs_agree(self):
        ended = self.compare("x")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("2 outputs of 2 ranks", ended.stdout)

    def test_another_output_is_told(self):
        ended = self.compare("x + gangsim.is_simulated()")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("DIFFER", ended.stdout)


if __name__ == "__main__":
    unittest.main()
