"""Gangs against the real conductor: results, and the errors of wrong calls."""

import array
import os
import time
import unittest

from package import has, needs_program

import gangsim
from gangsim.errors import GangFailure, InvalidArgument, InvalidOperation, NotSupported


def numbers(*values):
    return array.array("i", values)


@needs_program
class Results(unittest.TestCase):
    def test_collectives_of_every_size(self):
        def rank(gang):
            for count in (0, 1, 1000, 1024, 1025, 100_000):  # inline, and through shared memory
                x = array.array("i", [gang.rank]) * count
                gang.all_reduce(x)
                assert list(x[:2]) == [3] * min(count, 2)
                whole = array.array("i", [0]) * (3 * count)
                gang.all_gather(whole, array.array("i", [gang.rank]) * count)
                assert whole[::max(count, 1)] == numbers(*range(3)[:len(whole)])
                gang.broadcast(x, 1)
                x = array.array("i", [gang.rank + 1]) * count
                gang.reduce(x, "max", 1)
                assert list(x[-1:]) == [(1, 3, 3)[gang.rank]] * min(count, 1)
            return gang.rank

        self.assertEqual(gangsim.run(rank, world=3), [0, 1, 2])

    def test_started_operations_complete_in_any_order(self):
        def rank(gang):
            tensors = [array.array("i", [index]) for index in range(4)]
            works = [gang.start_all_reduce(tensor) for tensor in tensors]
            works[3].wait()
            while not works[1].test():
                pass
            gangsim.wait_all(works)
            assert [tensor[0] for tensor in tensors] == [0, 2, 4, 6]

        gangsim.run(rank, world=2)

    def test_one_of_many_works_is_enough(self):
        def rank(gang):
            cells = [array.array("i", [10 * gang.rank]) for _ in range(2)]
            if gang.rank:
                if gang.rank == 1:
                    gang.recv(cells[1], 0)
                return gang.send(cells[0], 0)
            works = [gang.start_recv(cells[0], 1), gang.start_recv(cells[1], 2)]
            found = [gangsim.wait_any(works)]  # rank 1 sends only once it is told to
            works[1].wait()
            gang.send(cells[1], 1)
            found.append(gangsim.Work.wait_any([works[0], works[0]]))
            works[0].wait()
            found.append(gangsim.wait_any(works))  # both are known: the first one
            return found, cells[0][0], cells[1][0]

        self.assertEqual(gangsim.run(rank, world=3)[0], ([1, 0, 0], 10, 20))

    def test_a_batch_is_one_work_of_many(self):
        def rank(gang):
            other = 1 - gang.rank
            got = [array.array("i", [0]) for _ in range(2)]
            batch = gang.start_batch([gangsim.Message("send", numbers(gang.rank), other, 1),
                                      gangsim.Message("recv", got[0], other, 1)])
            never = gang.start_recv(got[1], other, 2)
            found = gangsim.wait_any([never, batch])
            batch.wait()
            gang.barrier()
            send = gang.start_send(numbers(7), other, 2)
            gangsim.wait_all([never, send])
            return found, got[0][0], got[1][0]

        self.assertEqual(gangsim.run(rank, world=2), [(1, 1, 7), (1, 0, 7)])

    def test_a_work_that_failed_is_one_that_has_ended(self):
        def rank(gang):
            cell = numbers(gang.rank)
            part = gang.create_gang([0, 1])
            work = part.start_recv(cell, 1 - part.rank)
            part.abort()
            found = gangsim.wait_any([work])
            try:
                work.wait()
            except gangsim.GangError as error:
                return found, error.kind

        self.assertEqual(gangsim.run(rank, world=2), [(0, "aborted")] * 2)

    def test_messages_from_any_source_tell_whose_they_are(self):
        def rank(gang):
            cell = array.array("i", [gang.rank])
            if gang.rank:
                gang.send(cell, 0, tag=gang.rank)
                return
            found = [gang.recv(cell, tag=gangsim.ANY_TAG) for _ in range(2)]
            assert {message.source_rank for message in found} == {1, 2}
            assert all(message.tag == message.source_rank for message in found)

        gangsim.run(rank, world=3)

    @unittest.skipUnless(has("numpy"), "runs where numpy is installed")
    def test_tensors_of_every_interface_are_reduced_in_place(self):
        def rank(gang):
            import numpy

            class Foreign:  # offers DLPack only
                def __init__(self, values):
                    self.values = values

                def __dlpack__(self, **_):
                    return self.values.__dlpack__()

            values = [numpy.full((2, 2), gang.rank + 1, "f4") for _ in range(3)]
            bits = array.array("f", [gang.rank + 1])
            for tensor in (values[0], Foreign(values[1]), memoryview(values[2]), bits):
                gang.all_reduce(tensor, "mean")
            return [each.ravel()[-1] for each in values], bits[0]

        self.assertEqual(gangsim.run(rank, world=3), [([2.0] * 3, 2.0)] * 3)

    def test_layouts_are_fairseq2s(self):
        def rank(gang):
            gangs = gang.parallel_gangs(tp=2, pp=2)
            sharded = gangsim.create_fsdp_gangs(gangs)
            half = gang.create_gang([1, 0])
            gang.barrier()
            return [each.ranks for each in (gangs.dp, gangs.tp, gangs.pp, sharded.sdp)], (
                half and half.rank)

        results = gangsim.run(rank, world=8)
        self.assertEqual(results[0], ([[0, 2], [0, 1], [0, 4], [0, 2]], 1))
        self.assertEqual(results[7], ([[5, 7], [6, 7], [3, 7], [5, 7]], None))

    def test_each_thread_has_its_own_connection(self):
        def rank(gang):
            import threading
            other = gang.create_gang(range(gang.size), name="other")
            cells = [array.array("i", [1]), array.array("i", [1])]

            def work():
                for _ in range(10):
                    other.all_reduce(cells[1], "max")

            thread = threading.Thread(target=work)
            thread.start()
            for _ in range(10):
                gang.all_reduce(cells[0], "max")
            thread.join()

        gangsim.run(rank, world=2)


@needs_program
class Streams(unittest.TestCase):
    def test_what_is_waited_for_or_called_later_ends_what_was_started(self):
        def rank(gang, is_waiting):
            first, second, third = (numbers(1) for _ in range(3))
            works = [gang.start_all_reduce(first), gang.start_all_reduce(second)]
            if is_waiting:
                works[1].wait()
            else:
                gang.all_reduce(third)
            return list(first + second)

        for is_waiting in (True, False):
            self.assertEqual(gangsim.run(lambda gang: rank(gang, is_waiting), world=2,
                                         options=["--execution", "stream_ordered"]), [[2, 2]] * 2)


@needs_program
class Errors(unittest.TestCase):
    def test_wrong_calls_are_refused_before_anything_is_sent(self):
        def rank(gang):
            x, y = numbers(1, 2, 3), numbers(0)
            for call, why in (
                    (lambda: gang.all_reduce(x, "median"), "must be one of: sum, mean"),
                    (lambda: gang.broadcast(x, 2), "ranks of root are 0 to 1"),
                    (lambda: gang.all_gather(y, x), "2 times as many"),
                    (lambda: gang.all_gather(x, y, counts=[1, 1]), "must be 2 numbers"),
                    (lambda: gang.all_gather(x, y, counts=[4, -1]), "must be 2 numbers"),
                    (lambda: gang.scan(x, "mean"), "mean is not defined for a scan"),
                    (lambda: gang.gather([y], y, gang.rank), "must be 2, one for each rank"),
                    (lambda: gang.all_to_all(x, x), "a multiple of 2"),
                    (lambda: gang.all_to_all(x, x, input_splits=[1, 2]), "give both or none"),
                    (lambda: gangsim.wait_any([]), "the list is empty"),
                    (lambda: gang.send(x, 1, tag=-2), "at least 0"),
                    (lambda: gang.create_gang([0, 0]), "unique"),
                    (lambda: gang.monitored_barrier(0), "greater than 0"),
                    (lambda: gang.parallel_gangs(tp=3), "does not divide the 2 ranks"),
                    (lambda: gang.all_reduce("text"), "not a tensor")):
                try:
                    call()
                except InvalidArgument as error:
                    assert why in str(error), str(error)
                else:
                    raise AssertionError(f"nothing was raised: {why}")
            try:
                gang.all_reduce(array.array("h", [1]))
            except NotSupported:
                pass
            gang.barrier()

        gangsim.run(rank, world=2)

    def test_a_gang_outlives_a_call_that_has_no_shared_memory(self):
        def rank(gang):
            import resource
            big = array.array("i", [1]) * (1 << 20)
            former = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, former[1]))
            try:
                gang.all_reduce(big)
            except gangsim.Error as error:
                text = str(error)
            resource.setrlimit(resource.RLIMIT_FSIZE, former)
            gang.all_reduce(big)
            return text, big[-1]

        for text, value in gangsim.run(rank, world=2):
            self.assertIn("cannot reserve 4096 KiB of shared memory", text)
            self.assertEqual(value, 2)

    def test_outside_of_a_run_there_is_no_gang(self):
        with self.assertRaisesRegex(InvalidOperation, "gangsim python --world N"):
            gangsim.root_gang()

    def test_a_process_forked_from_a_rank_is_none(self):
        def rank(gang):
            reading, writing = os.pipe()
            if os.fork() == 0:
                try:
                    gang.barrier()
                except InvalidOperation as error:
                    os.write(writing, str(error).encode())
                os._exit(0)
            os.close(writing)
            text = os.read(reading, 1000).decode()
            os.wait()
            gang.barrier()
            return text

        for rank_number, text in enumerate(gangsim.run(rank, world=2)):
            self.assertIn(f"was forked from rank {rank_number} and is not a rank", text)


@needs_program
class Verdicts(unittest.TestCase):
    def failure(self, rank, world=2, **options):
        with self.assertRaises(GangFailure) as caught:
            gangsim.run(rank, world=world, **options)
        return caught.exception

    def test_a_missing_rank_is_named_with_its_line_at_once(self):
        def rank(gang):
            if gang.rank:
                gang.barrier()

        begin = time.monotonic()
        failure = self.failure(rank)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIn("participant_missing", str(failure))
        self.assertIn("gang_test.py:", str(failure))
        self.assertEqual(failure.report["findings"][0]["ranks"], [0])

    def test_a_dropped_work_is_a_finding(self):
        def rank(gang):
            gang.start_barrier()
            gang.barrier()

        self.assertIn("unwaited_work", str(self.failure(rank)))

    def test_an_exception_is_the_cause_and_not_its_peers(self):
        def rank(gang):
            if gang.rank == 1:
                raise ValueError("the batch is empty")
            gang.barrier()

        text = str(self.failure(rank))
        self.assertIn("ValueError: the batch is empty", text)
        self.assertIn("rank_failed", text)

    def test_a_rank_that_dies_is_told_with_how(self):
        def rank(gang):
            if gang.rank == 1:
                os._exit(3)
            gang.barrier()

        self.assertIn("exited with status 3", str(self.failure(rank)))

    def test_a_program_that_takes_too_long_is_ended(self):
        def rank(gang):
            time.sleep(60)

        begin = time.monotonic()
        self.assertIn("did not end within 0.5 s", str(self.failure(rank, timeout=0.5)))
        self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
