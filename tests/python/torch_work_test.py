"""The works and futures of torch.distributed: what waiting gives, and what is reported of them."""

import gc
import sys
import threading
import unittest
from datetime import timedelta
from unittest import mock

from package import has
from recording_connection import recorded, result

from gangsim import call_site, process, wire

needs_torch = unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
if has("torch"):
    import torch

    from gangsim.torch import backward, future, process_group, work

ABORTED, LATE = result(wire.ABORTED, error="aborted"), result(wire.TIMEOUT, error="late")


class Recorded(unittest.TestCase):
    """On rank 0 of two, with `group`; `results` has the results of the operations by their count
    of elements, and what is not in it ends well."""

    def setUp(self):
        self.results = {}
        context = recorded(0, 2, lambda made: self.results.get(made.fields.count, result(source=1)))
        self.connection = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.group = process_group.ProcessGroup("0", 0, range(2), 10 ** 9)
        self.addCleanup(work._reported.clear)

    def start(self, count=1):
        return self.group.allreduce([torch.ones(count)])

    def findings(self):
        """(id, ranks) of each."""
        return [(fields.text(), (fields.text(), fields.ranks())[1])
                for fields in self.connection.told(wire.FINDING)]


@needs_torch
class Works(Recorded):
    def test_a_work_that_failed_says_so_in_every_way(self):
        self.results = {1: ABORTED}
        failed, well = self.start(1), self.start(2)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "aborted"):
                failed.wait()
        self.assertTrue(well.wait())
        for each, is_well in ((failed, False), (well, True)):
            self.assertEqual((each.is_completed(), each.is_success()), (True, is_well))
            self.assertEqual(each.exception() is None, is_well)
        with self.assertRaises(RuntimeError):
            failed.result()

    def test_a_wait_that_is_too_short_raises_and_may_be_repeated(self):
        x = torch.ones(1)
        started = self.group.allreduce([x])
        for timeout in (timedelta(milliseconds=5), timedelta(seconds=-1)):
            with self.assertRaises(RuntimeError) as caught:
                started.wait(timeout)
            self.assertEqual(caught.exception.kind, "timeout")
            self.assertFalse(started.is_completed())
        self.assertTrue(started.wait(timedelta(0)))  # PyTorch's way to say that it waits on
        self.assertTrue(started.wait(timedelta(milliseconds=5)))

    def test_it_is_complete_when_its_outputs_are_in_place(self):
        x = torch.zeros(2, 2).t()[:1]
        started = self.group.broadcast([x], 1)
        self.assertFalse(started.is_completed())
        started._outputs[0].view[:] = torch.ones(2).numpy().tobytes()
        self.connection.ended.add(1)
        self.assertTrue(started.is_completed())
        self.assertEqual(x.tolist(), [[1, 1]])

    def test_a_tensor_of_a_work_that_failed_stays_as_it_is(self):
        self.results = {2: ABORTED}
        x = torch.zeros(2, 2).t()[:1]
        started = self.group.broadcast([x], 1)
        started._outputs[0].view[:] = torch.ones(2).numpy().tobytes()
        with self.assertRaises(RuntimeError):
            started.wait()
        self.assertEqual(x.tolist(), [[0, 0]])

    def test_results_and_sources_are_known_after_the_message(self):
        for ask in ("result", "source_rank", "_source_rank", "synchronize"):
            received = self.group.recv([torch.ones(1)], 1)
            found = getattr(received, ask)()
            self.assertTrue(received.is_completed())
            if "source" in ask:
                self.assertEqual(found, 1)
        self.assertEqual(self.connection.waits, [[1], [2], [3], [4]])

    def test_a_block_raises_the_first_error_of_its_calls(self):
        self.results = {2: LATE, 3: ABORTED}
        self.group._start_coalescing()
        for count in (1, 2, 3):
            self.start(count)
        together = self.group._end_coalescing()
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "late"):
                together.wait()
        self.results = {}
        several = work.Work([])
        several.start([made.operation for made in self.started_with(LATE, ABORTED)], [], [])
        with self.assertRaisesRegex(RuntimeError, "late"):
            several.wait()

    def started_with(self, *results):
        """Operations that end so, one after the other."""
        self.results = dict(zip((5, 6), results))
        return [each for count in self.results for each in self.start(count)._pending]

    def test_who_waits_for_a_part_of_a_block_waits_for_all_of_it(self):
        self.group._start_coalescing()
        parts = [self.start(count) for count in (1, 2)]
        together = self.group._end_coalescing()
        parts[1].wait()
        self.assertEqual(self.connection.waits, [[1, 2]])
        self.assertTrue(together.is_completed() and parts[0].is_completed())


@needs_torch
class Reported(Recorded):
    def test_a_dropped_work_is_reported_once_with_its_line(self):
        line = self.start.__code__.co_firstlineno + 1
        dropped = self.start()
        del dropped
        self.group._start_coalescing()
        parts = [self.start() for _ in range(2)]
        together = self.group._end_coalescing()
        del parts
        gc.collect()
        self.assertEqual([number for number, _ in self.connection.dropped], [1])
        self.assertEqual(call_site.line_of(self.connection.dropped[0][1]), line)
        del together
        gc.collect()
        self.assertEqual([number for number, _ in self.connection.dropped], [1, 2, 3])

    def test_one_that_has_ended_is_not(self):
        self.start().wait()
        self.connection.ended.add(2)
        self.start().is_completed()
        gc.collect()
        self.assertEqual(self.connection.dropped, [])

    def test_a_tensor_that_is_written_in_flight_is_a_finding_once_for_each_line(self):
        for _ in range(3):
            x = torch.ones(4)
            started = self.group.allreduce([x])
            x[1] = 5
            started.wait()
        self.assertEqual(self.findings(), [("buffer_in_flight", (0,))])
        y = torch.ones(4)
        started = self.group.allreduce([y])
        y += 1
        started.wait()
        self.assertEqual(len(self.findings()), 2)

    def test_so_is_one_of_a_block(self):
        self.group._start_coalescing()
        tensors = [torch.ones(4) for _ in range(2)]
        for x in tensors:
            self.group.allreduce([x])
        together = self.group._end_coalescing()
        tensors[1][0] = 5
        together.wait()
        self.assertEqual(self.findings(), [("buffer_in_flight", (0,))])

    def test_an_output_that_is_freed_in_flight_is_an_error(self):
        x = torch.ones(4)
        started = self.group.broadcast([x], 1)
        x.storage().resize_(0)
        with self.assertRaisesRegex(Exception, "freed or resized"):
            started.wait()
        self.assertEqual(self.findings(), [("buffer_in_flight", (0,))])

    def test_works_that_are_kept_do_not_keep_their_tensors(self):
        kept = [self.start() for _ in range(2 * work._RECENT)]
        for each in kept:
            each.keep_for_cpp()
            each.wait()
        self.start().keep_for_cpp()
        self.assertLess(sum(bool(each._value) for each in kept), work._RECENT + 1)
        work._kept.clear()


@needs_torch
class Futures(Recorded):
    def test_a_future_is_complete_once_its_work_is(self):
        ended = self.start()
        ended.wait()
        self.assertEqual(ended.get_future().value()[0].tolist(), [1])
        pending = self.start()
        self.assertIs(pending.get_future(), pending.get_future())
        self.assertFalse(pending.get_future().done())
        pending.wait()
        self.assertTrue(pending.get_future().done())
        self.assertEqual(self.start().get_future().value()[0].tolist(), [1])
        self.results = {1: ABORTED}
        with self.assertRaisesRegex(RuntimeError, "aborted"):
            self.start().get_future().wait()

    def test_one_that_a_hook_gets_from_the_reducer_is_complete(self):
        with work.complete_futures():
            future_in_hook = self.start().get_future()
        self.assertTrue(future_in_hook.done())
        self.assertFalse(self.start().get_future().done())

    def test_what_is_chained_to_one_completes_with_it(self):
        def double(done):
            return done.value()[0] * 2

        def fail(done):
            raise KeyError("mine")

        chained = self.start().get_future().then(double).then(lambda done: done.value() + 1)
        self.assertEqual(self.within_time(chained.wait).item(), 3)
        failing = self.start().get_future().then(fail)
        self.assertIn("mine", str(self.within_time(failing.wait)))

    def test_several_are_awaited_together(self):
        with mock.patch.multiple(
                torch.futures, collect_all=torch.futures.collect_all,
                wait_all=torch.futures.wait_all):
            future.install()
            foreign = torch.futures.Future()
            foreign.set_result([torch.zeros(1)])
            own = self.start().get_future()
            values = self.within_time(lambda: torch.futures.wait_all([own, foreign]))
            self.assertEqual([value[0].item() for value in values], [1, 0])
            done = self.within_time(torch.futures.collect_all(
                [foreign, self.start().get_future()]).wait)
            self.assertEqual([each.value()[0].item() for each in done], [0, 1])
            self.assertIs(torch.futures.collect_all([foreign]).wait()[0].done(), True)
            self.results = {1: ABORTED}
            both = [self.start(1).get_future(), self.start(2).get_future()]
            error = self.within_time(lambda: torch.futures.wait_all(both))
            self.assertIn("aborted", str(error))
            self.assertTrue(both[1].done())

    def within_time(self, function):
        """What `function` returns or raises; fails if it waits for ever."""
        found = []

        def call():
            try:
                found.append(function())
            except Exception as error:
                found.append(error)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(20)
        self.assertEqual(len(found), 1, "it waits for what nobody completes")
        return found[0]


@needs_torch
class Backward(Recorded):
    def setUp(self):
        super().setUp()
        former = torch.autograd.backward, torch.autograd.grad
        backward.install()

        def restore():
            torch.autograd.backward, torch.autograd.grad = former

        self.addCleanup(restore)

    def test_it_is_known_inside_of_hooks_and_over_after_them(self):
        x, seen = torch.ones(1, requires_grad=True), []

        def hook(_):
            seen.append(backward.is_running())
            if len(seen) == 3:
                raise KeyError("mine")

        def hooked():
            y = x * 2
            y.register_hook(hook)
            return y * 2

        torch.autograd.backward([hooked()])
        torch.autograd.grad([hooked()], [x])
        with self.assertRaises(KeyError):
            hooked().backward()
        self.assertEqual((seen, backward.is_running()), ([True] * 3, False))
        self.assertIn("gradients", torch.autograd.grad.__doc__)

    def test_a_future_that_a_hook_asks_for_is_complete_behind_the_last_node(self):
        x, futures = torch.ones(1, requires_grad=True), []

        def hook(_):
            futures.append(self.start().get_future())

        x.register_hook(hook)
        with mock.patch.object(backward, "is_in_final_callbacks", lambda: False):
            (x * 2).backward()
        self.assertTrue(futures[0].done())

    @unittest.skipIf(not has("torch") or hasattr(torch._C, "_current_graph_task_id"),
                     "runs on PyTorch 1, whose engine cannot be asked")
    def test_a_static_graph_is_noted(self):
        from torch.nn.parallel import DistributedDataParallel
        with mock.patch.object(DistributedDataParallel, "_set_static_graph",
                                        lambda model: model), \
                mock.patch.object(backward, "_has_static_graph", False):
            backward.install()
            self.assertFalse(backward.is_in_final_callbacks())
            self.assertEqual(DistributedDataParallel._set_static_graph(3), 3)
            self.assertTrue(backward.is_in_final_callbacks())


if __name__ == "__main__":
    unittest.main()
