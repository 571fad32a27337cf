"""What Python asks of DDP's reducer. DDP itself is run by programs/torch/ddp_features and gpus."""

import unittest
from unittest import mock

from package import has

if has("torch"):
    import torch

    from gangsim.torch import reducer, work


@unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
class Reducer(unittest.TestCase):
    def setUp(self):
        """A reducer that has both methods, whatever PyTorch is installed."""
        self.seen = seen = []

        class Own:
            def _run_allreduce_hook(self, bucket):
                seen.append((bucket, work._completes_futures()))
                return "future"

            def _set_forward_pass_work_handle(self, handle, use_static_world_size):
                seen.append((handle, use_static_world_size))

        replaced = mock.patch.object(torch.distributed, "Reducer", Own)
        replaced.start()
        self.addCleanup(replaced.stop)
        reducer.install()
        self.reducer = Own()

    def test_futures_of_its_hook_are_complete(self):
        self.assertEqual(self.reducer._run_allreduce_hook("bucket"), "future")
        self.assertEqual(self.seen, [("bucket", True)])
        self.assertFalse(work._completes_futures())

    def test_it_keeps_the_work_of_join(self):
        handle = work.Work([torch.ones(1)])
        self.reducer._set_forward_pass_work_handle(handle, False)
        self.assertEqual(self.seen, [(handle, False)])
        self.assertIs(work._kept[-1], handle)

    def test_a_work_that_is_not_ours_is_passed_on(self):
        self.reducer._set_forward_pass_work_handle(None, True)
        self.assertEqual(self.seen, [(None, True)])

    def test_a_reducer_without_hooks_stays_as_it_is(self):
        class Older:
            pass

        with mock.patch.object(torch.distributed, "Reducer", Older):
            reducer.install()
        self.assertFalse(hasattr(Older, "_run_allreduce_hook"))


if __name__ == "__main__":
    unittest.main()
