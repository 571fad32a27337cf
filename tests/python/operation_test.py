"""An operation, as the conductor hears of it."""

import sys
import unittest

import package  # noqa: F401

from gangsim import call_site, operation, wire
from gangsim.operation import Operation


class Operations(unittest.TestCase):
    def test_its_description_is_that_of_its_fields(self):
        of = dict(data_type=wire.F32, count=6, reduction=2, peer=1, label="x", first=(1, 2),
                  second=(3,), flags=4, tag=5, result=8)
        made = Operation(3, wire.ALL_TO_ALL, b"place", **of)
        expected = wire.OperationFields(3, wire.ALL_TO_ALL, b"place", **of)
        self.assertEqual(made.fields, expected)
        for _ in range(2):
            self.assertEqual(made.described(), wire.operation(expected))

    def test_operations_that_differ_in_one_field_are_described_as_two(self):
        plain = Operation(1, wire.SEND, b"place")
        for name, value in (("data_type", wire.F64), ("count", 1), ("reduction", 1), ("peer", 1),
                            ("label", "x"), ("first", (1,)), ("second", (1,)), ("flags", 1),
                            ("tag", 1), ("result", 1)):
            other = Operation(1, wire.SEND, b"place", **{name: value})
            self.assertNotEqual(other.described(), plain.described(), name)

    def test_many_operations_do_not_fill_the_memory(self):
        for tag in range(10_000):
            Operation(0, wire.SEND, b"place", tag=tag).described()
        self.assertLess(len(operation._known), 5000)
        made = Operation(0, wire.SEND, b"place", tag=7)
        self.assertEqual(made.described(), wire.operation(made.fields))

    def test_without_a_place_it_is_where_the_program_is(self):
        place = Operation(0, wire.BARRIER).place
        self.assertEqual(call_site.line_of(place), sys._getframe().f_lineno - 1)


if __name__ == "__main__":
    unittest.main()
