"""SyncBatchNorm's kernels on the CPU compute what BatchNorm does of all parts together."""

import unittest

from package import has
from torch_ranks import needs_torch, run

if has("torch"):
    import torch

    from gangsim.torch import sync_batch_norm

needs_own_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
EPS = 1e-3


@needs_own_torch
class Kernels(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.randn(6, 3, 2, dtype=torch.float64)
        self.parts = self.x[:1], self.x[1:]

    def stats(self):
        """Of all parts together, from those of each."""
        means, inverses = zip(*(sync_batch_norm.batch_norm_stats(part, EPS)
                                for part in self.parts))
        counts = torch.tensor([[part.numel() / 3] for part in self.parts], dtype=torch.float64)
        running = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
        found = sync_batch_norm.batch_norm_gather_stats_with_counts(
            self.x, torch.stack(means), torch.stack(inverses), *running, 0.1, EPS, counts.view(-1))
        return found, counts, running

    def test_the_outputs_and_the_running_statistics_are_those_of_batch_norm(self):
        (mean, inverse), _, running = self.stats()
        module = torch.nn.BatchNorm1d(3, EPS).double()
        torch.nn.init.uniform_(module.weight)
        torch.nn.init.uniform_(module.bias)
        expected = module(self.x)
        for weight, bias, wanted in ((module.weight, module.bias, expected),
                                     (None, None, torch.nn.functional.batch_norm(
                                         self.x, None, None, training=True, eps=EPS))):
            outputs = [sync_batch_norm.batch_norm_elemt(part, weight, bias, mean, inverse, EPS)
                       for part in self.parts]
            self.assertTrue(torch.allclose(torch.cat(outputs), wanted))
        self.assertTrue(torch.allclose(running[0], module.running_mean))
        self.assertTrue(torch.allclose(running[1], module.running_var))

    def test_the_gradients_are_those_of_batch_norm(self):
        (mean, inverse), counts, _ = self.stats()
        module = torch.nn.BatchNorm1d(3, EPS).double()
        torch.nn.init.uniform_(module.weight)
        whole = self.x.clone().requires_grad_()
        gradient = torch.randn_like(whole)
        module(whole).backward(gradient)
        gradients = gradient[:1], gradient[1:]
        reduced = [sync_batch_norm.batch_norm_backward_reduce(
            given, part, mean, inverse, module.weight, True, True, True)
                   for given, part in zip(gradients, self.parts)]
        total, products, of_weight, of_bias = (sum(each) for each in zip(*reduced))
        self.assertTrue(torch.allclose(of_weight, module.weight.grad))
        self.assertTrue(torch.allclose(of_bias, module.bias.grad))
        found = [sync_batch_norm.batch_norm_backward_elemt(
            given, part, mean, inverse, module.weight, total, products, counts)
                 for given, part in zip(gradients, self.parts)]
        self.assertTrue(torch.allclose(torch.cat(found), whole.grad))

    def test_half_precision_is_computed_as_float(self):
        x = self.x.to(torch.bfloat16)
        mean, inverse = sync_batch_norm.batch_norm_stats(x, EPS)
        self.assertEqual((mean.dtype, inverse.dtype), (torch.float32, torch.float32))
        self.assertEqual(sync_batch_norm.batch_norm_elemt(x, None, None, mean, inverse, EPS).dtype,
                         torch.bfloat16)


@needs_torch
class Programs(unittest.TestCase):
    def test_a_model_for_gpus_learns_as_one_rank_does(self):
        for world in (1, 3):
            ended = run("sync_batch_norm.py", "--cuda-as-cpu", world=world)
            self.assertEqual((ended.status, ended.findings), (0, []), ended.text)
            self.assertIn("all well", ended.text)


if __name__ == "__main__":
    unittest.main()
