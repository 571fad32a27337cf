"""Collectives as the conductor hears of them, and the calls that are refused."""

import array
import ctypes
import gc
import unittest
import weakref

from recording_connection import recorded

import gangsim
from gangsim import wire
from gangsim.errors import InvalidArgument

SIZE = 3


def operations(calls, rank=1):
    """What each of `calls` asks for on that rank of three."""
    with recorded(rank, SIZE) as connection:
        gang = gangsim.Gang(0, "root", range(SIZE), rank)
        for call in calls:
            work = call(gang)
            if isinstance(work, gangsim.Work):
                work.wait()
        return connection.operations


def ints(count, code="i"):
    return array.array(code, range(count))


class Complex:
    """Complex numbers, which only numpy and torch have, by __array_interface__."""

    def __init__(self, count):
        self.memory = ctypes.create_string_buffer(8 * count)
        self.__array_interface__ = {"version": 3, "typestr": "<c8", "shape": (count,),
                                    "data": (ctypes.addressof(self.memory), False)}


class Asked(unittest.TestCase):
    def check(self, calls, expected, *, rank=1):
        """`expected`: kind, count, peer, and the bytes of each input and each output."""
        for made in operations(calls, rank):
            fields = made.fields
            self.assertEqual((fields.kind, fields.count, fields.peer, [*map(len, made.inputs)],
                              [*map(len, made.outputs)]), expected)

    def test_only_the_destination_of_a_reduce_gets_the_result(self):
        for root, outputs in ((1, [8]), (2, [])):
            self.check((lambda gang: gang.reduce(ints(2), "sum", root),
                        lambda gang: gang.start_reduce(ints(2), "sum", root)),
                       (wire.REDUCE, 2, root, [8], outputs))

    def test_rank_0_of_an_exclusive_scan_gets_nothing(self):
        for rank, outputs in ((0, []), (1, [8])):
            self.check((lambda gang: gang.exclusive_scan(ints(2)),
                        lambda gang: gang.start_exclusive_scan(ints(2))),
                       (wire.EXCLUSIVE_SCAN, 2, 0, [8], outputs), rank=rank)
            self.check((lambda gang: gang.scan(ints(2)), lambda gang: gang.start_scan(ints(2))),
                       (wire.SCAN, 2, 0, [8], [8]), rank=rank)

    def test_a_source_may_be_read_only(self):
        self.check((lambda gang: gang.broadcast(b"ab", 1),), (wire.BROADCAST, 2, 1, [2], []))

    def test_every_name_of_a_reduction_is_known(self):
        names = {"sum": 0, "mean": 1, "avg": 1, "product": 2, "mul": 2, "prod": 2, "min": 3,
                 "max": 4, "band": 5, "bor": 6, "bxor": 7}
        made = operations([lambda gang, name=name: gang.all_reduce(ints(1), name)
                           for name in names])
        self.assertEqual([each.fields.reduction for each in made], list(names.values()))

    def test_complex_numbers_are_averaged_by_their_parts(self):
        for made in operations([lambda gang, name=name: gang.all_reduce(Complex(2), name)
                                for name in ("mean", "avg", "sum")]):
            self.assertEqual((made.fields.data_type, made.fields.count), (wire.F32, 4))

    def test_counts_of_types_that_are_moved_as_bytes_are_bytes(self):
        inputs, whole = ints(2, "h"), ints(6, "h")
        for made in operations((
                lambda gang: gang.all_gather(whole, inputs, counts=[1, 2, 3]),
                lambda gang: gang.start_all_gather(whole, inputs, counts=[1, 2, 3]))):
            self.assertEqual((made.fields.count, made.fields.first), (4, (2, 4, 6)))
        for made in operations((
                lambda gang: gang.all_to_all(whole, ints(3, "h"), output_splits=[1, 2, 3],
                                             input_splits=[3, 0, 0]),
                lambda gang: gang.start_all_to_all(whole, ints(3, "h"), output_splits=[1, 2, 3],
                                                   input_splits=[3, 0, 0]))):
            self.assertEqual((made.fields.first, made.fields.second), ((6, 0, 0), (2, 4, 6)))

    def test_a_timeout_keeps_its_fraction(self):
        one, all_missing = operations((lambda gang: gang.monitored_barrier(0.5),
                                       lambda gang: gang.monitored_barrier(2, report_all=True)))
        self.assertEqual((one.fields.count, one.fields.flags), (500_000_000, 0))
        self.assertEqual((all_missing.fields.count, all_missing.fields.flags),
                         (2_000_000_000, wire.ALL_MISSING))

    def test_labels_are_passed_on(self):
        x, many = ints(3), [ints(3) for _ in range(SIZE)]
        arguments = {"barrier": (), "all_reduce": (x,), "reduce": (x,), "scan": (x,),
                     "reduce_scatter": (ints(1), x), "exclusive_scan": (x,),
                     "all_gather": (ints(9), x), "all_gather_to_list": (many, x),
                     "gather": (many, x, 1), "scatter": (x, many, 1), "all_to_all": (x, ints(3)),
                     "broadcast": (x, 1), "send": (x, 0), "recv": (x, 0)}
        calls = [lambda gang, name=start + name, given=given: getattr(gang, name)(
                     *given, label="x")
                 for start in ("", "start_") for name, given in arguments.items()]
        made_by = operations(calls)
        self.assertEqual(len(made_by), 2 * len(arguments))
        for made in made_by:
            self.assertEqual(made.fields.label, "x", made.kind)


class Refused(unittest.TestCase):
    def check(self, *calls):
        for number, call in enumerate(calls):
            with self.subTest(number), recorded(1, SIZE) as connection:
                with self.assertRaises(InvalidArgument):
                    call(gangsim.Gang(0, "root", range(SIZE), 1))
                self.assertEqual(connection.operations, [])

    def test_sizes_that_do_not_fit(self):
        self.check(lambda gang: gang.reduce_scatter(ints(2), ints(3)),
                   lambda gang: gang.all_gather(ints(3), ints(2)),
                   lambda gang: gang.all_gather(ints(6), ints(1), counts=[1, 2, 3]),
                   lambda gang: gang.all_gather(ints(5), ints(2), counts=[1, 2, 3]),
                   lambda gang: gang.all_gather(ints(0, "h"), ints(0, "h"), counts=[1, 0, 0]),
                   lambda gang: gang.all_to_all(ints(6), ints(3)),
                   lambda gang: gang.all_to_all(ints(4), ints(4)),
                   lambda gang: gang.all_to_all(ints(3), ints(3), output_splits=[1, 1, 2],
                                                input_splits=[1, 1, 1]),
                   lambda gang: gang.all_to_all(ints(3), ints(3), output_splits=[1, 1, 1],
                                                input_splits=[1, 1, 2]))

    def test_types_that_differ(self):
        self.check(lambda gang: gang.reduce_scatter(ints(1), ints(3, "I")),
                   lambda gang: gang.all_gather(ints(3), ints(1, "I")),
                   lambda gang: gang.all_gather(ints(6), ints(2, "I"), counts=[1, 2, 3]))

    def test_lists_of_tensors_that_are_not_alike(self):
        for wrong in ([ints(2)] * 2, [ints(2)] * 4, None, [ints(2), ints(2), ints(1)],
                      [ints(2), ints(2), ints(2, "I")], [ints(2), ints(1), ints(3)]):
            self.check(lambda gang: gang.gather(wrong, ints(2), 1),
                       lambda gang: gang.start_gather(wrong, ints(2), 1),
                       lambda gang: gang.scatter(ints(2), wrong, 1),
                       lambda gang: gang.start_scatter(ints(2), wrong, 1),
                       lambda gang: gang.all_gather_to_list(wrong, ints(2)),
                       lambda gang: gang.start_all_gather_to_list(wrong, ints(2)))

    def test_outputs_that_are_read_only(self):
        self.check(lambda gang: gang.all_reduce(bytes(4)),
                   lambda gang: gang.reduce(bytes(4), "sum", 1),
                   lambda gang: gang.broadcast(bytes(4), 0),
                   lambda gang: gang.scan(bytes(4)),
                   lambda gang: gang.scatter(bytes(4), None, 0),
                   lambda gang: gang.recv(bytes(4), 0))

    def test_a_time_that_is_none(self):
        self.check(lambda gang: gang.monitored_barrier(0), lambda gang: gang.shrink(0),
                   lambda gang: gang.shrink(-1))


class Kept(unittest.TestCase):
    def test_the_memory_of_a_started_operation_is_kept_until_it_has_ended(self):
        for start in (lambda gang, x: gang.start_all_reduce(x),
                      lambda gang, x: gang.start_reduce(x),
                      lambda gang, x: gang.start_scan(x, "max"),
                      lambda gang, x: gang.start_exclusive_scan(x, "max"),
                      lambda gang, x: gang.start_broadcast(x),
                      lambda gang, x: gang.start_all_gather(x, Foreign(2)),
                      lambda gang, x: gang.start_all_gather(Foreign(18), x),
                      lambda gang, x: gang.start_reduce_scatter(x, Foreign(18)),
                      lambda gang, x: gang.start_all_to_all(x, Foreign(6)),
                      lambda gang, x: gang.start_gather([Foreign(6), x, Foreign(6)], Foreign(6), 1),
                      lambda gang, x: gang.start_scatter(Foreign(6), [x, Foreign(6), x], 1),
                      lambda gang, x: gang.start_send(x, 0),
                      lambda gang, x: gang.start_recv(x, 0),
                      lambda gang, x: gang.start_batch([gangsim.Message("send", x, 0)])):
            with recorded(1, SIZE):
                tensor = Foreign(6)
                memory = weakref.ref(tensor)
                work = start(gangsim.Gang(0, "root", range(SIZE), 1), tensor)
                del tensor
                gc.collect()
                self.assertIsNotNone(memory())
                work.wait()
                self.assertIsNone(memory())


class Foreign:
    """Bytes that are gone with this object."""

    def __init__(self, count):
        self.memory = ctypes.create_string_buffer(count)
        self.__array_interface__ = {"version": 3, "typestr": "<u1", "shape": (count,),
                                    "data": (ctypes.addressof(self.memory), False)}


class Objects(unittest.TestCase):
    def test_the_source_keeps_its_own(self):
        objects = [{"a": 1}, ["b"]]
        kept = list(objects)
        gangsim.FakeGang(size=2).broadcast_objects(objects)
        self.assertTrue(all(each is former for each, former in zip(objects, kept)))


if __name__ == "__main__":
    unittest.main()
