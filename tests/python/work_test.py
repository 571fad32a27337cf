"""Works: what waiting for them gives and raises, and what dropping them reports."""

import gc
import sys
import unittest

from recording_connection import recorded, result

import gangsim
from gangsim import call_site, wire
from gangsim.errors import GangError, InvalidArgument

ABORTED = result(wire.ABORTED, error="why")


def gang():
    return gangsim.Gang(0, "root", range(3), 0)


class Waiting(unittest.TestCase):
    def test_a_test_that_is_true_has_delivered(self):
        with recorded() as connection:
            work = gang().start_barrier()
            self.assertFalse(work.test())
            self.assertIsNone(work.pending[0].result)
            connection.ended.add(1)
            self.assertTrue(work.test())
            self.assertEqual(work.pending[0].result.status, wire.OK)
            self.assertEqual(connection.waits, [[1]])

    def test_a_wait_may_be_limited_and_repeated(self):
        with recorded() as connection:
            work = gang().start_barrier()
            self.assertFalse(work.wait(0.5))
            self.assertIsNone(work.pending[0].result)
            connection.ended.add(1)
            self.assertTrue(work.wait(0.5))
            self.assertTrue(work.wait())
            self.assertEqual(connection.waits, [[1], [1]])

    def test_a_limit_that_is_not_positive_is_refused(self):
        with recorded() as connection:
            work = gang().start_barrier()
            for timeout in (0, -1.5, float("nan")):
                with self.assertRaises(InvalidArgument):
                    work.wait(timeout)
            self.assertEqual(connection.waits, [])
            work.wait()

    def test_a_batch_has_ended_when_all_of_it_has(self):
        with recorded() as connection:
            batch = gang().start_batch([gangsim.Message("send", b"a", 1),
                                        gangsim.Message("send", b"b", 2)])
            connection.ended.add(2)
            self.assertFalse(batch.test())
            connection.ended.add(1)
            self.assertTrue(batch.test())

    def test_any_error_of_a_batch_is_raised_at_every_wait(self):
        for wrong in (0, 1):
            with recorded(answer=lambda each: ABORTED if each.fields.peer == wrong + 1
                          else result()):
                batch = gang().start_batch([gangsim.Message("send", b"a", 1),
                                            gangsim.Message("send", b"b", 2)])
                for _ in range(2):
                    with self.assertRaises(GangError) as caught:
                        batch.wait()
                    self.assertEqual(caught.exception.kind, "aborted")

    def test_waiting_for_all_raises_the_first_error_of_the_list(self):
        errors = {"a": result(wire.TIMEOUT, error="late"), "b": ABORTED, "": result()}
        with recorded(answer=lambda each: errors[each.fields.label]) as connection:
            works = [gang().start_barrier(label=label) for label in ("", "a", "b")]
            for order, kind in (([0, 1, 2], "timeout"), ([2, 1], "aborted")):
                with self.assertRaises(GangError) as caught:
                    gangsim.wait_all([works[index] for index in order])
                self.assertEqual(caught.exception.kind, kind)
            self.assertEqual(connection.waits, [[1, 2, 3]])  # once, for all

    def test_a_work_may_be_in_a_list_twice(self):
        with recorded() as connection:
            work = gang().start_barrier()
            gangsim.wait_all([work, work])
            self.assertEqual(connection.waits, [[1]])

    def test_the_lowest_index_of_those_that_have_ended_is_chosen(self):
        with recorded() as connection:
            works = [gang().start_barrier() for _ in range(3)]
            works[2].wait()
            self.assertEqual(gangsim.wait_any(works), 2)
            connection.ended.add(2)
            self.assertEqual(gangsim.wait_any(works), 1)
            gangsim.wait_all(works)

    def test_a_part_of_a_batch_is_not_the_batch(self):
        with recorded() as connection:
            batch = gang().start_batch([gangsim.Message("send", b"a", 1),
                                        gangsim.Message("send", b"b", 2)])
            self.assertEqual(gangsim.wait_any([batch]), 0)
            self.assertEqual(connection.waits, [[1], [2]])
            self.assertEqual(batch.unfinished(), [])

    def test_who_was_received_from_is_known_after_the_message(self):
        with recorded(answer=lambda each: result(source=2, tag=7) if each.kind == wire.RECV
                      else result()):
            cell = bytearray(1)
            self.assertEqual(gang().start_recv(cell, tag=7).received, (2, 7))
            batch = gang().start_batch([gangsim.Message("send", b"a", 1),
                                        gangsim.Message("recv", cell, 2, 7)])
            self.assertEqual(batch.received, (2, 7))


class Dropping(unittest.TestCase):
    def test_a_work_that_is_dropped_is_reported_once_with_the_line_that_started_it(self):
        with recorded() as connection:
            work = gang().start_barrier()
            line = sys._getframe().f_lineno - 1
            del work
            gc.collect()
            (number, place), = connection.dropped
            self.assertEqual((number, call_site.line_of(place)), (1, line))

    def test_one_that_was_waited_for_is_not(self):
        with recorded() as connection:
            works = [gang().start_barrier() for _ in range(3)]
            works[0].wait()
            gangsim.wait_any(works[1:2])
            connection.ended.add(3)
            works[2].test()
            gang().batch([gangsim.Message("send", b"a", 1), gangsim.Message("send", b"b", 2)])
            del works
            gc.collect()
            self.assertEqual(connection.dropped, [])


if __name__ == "__main__":
    unittest.main()
