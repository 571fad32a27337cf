"""Errors: which one each status of the protocol is, and what it knows."""

import unittest

import package  # noqa: F401

from gangsim import wire
from gangsim.errors import (Error, GangError, GangFailure, InvalidArgument, InvalidOperation,
                            NotSupported, error_of, one_of)


class Errors(unittest.TestCase):
    def test_each_status_is_an_error_that_callers_can_tell_apart(self):
        for status, kind in ((wire.INVALID_ARGUMENT, InvalidArgument),
                             (wire.INVALID_OPERATION, InvalidOperation),
                             (wire.NOT_SUPPORTED, NotSupported), (wire.RUN_OVER, GangFailure)):
            found = error_of(status, "why")
            self.assertEqual((type(found), str(found)), (kind, "why"))
        for status, kind in ((wire.TIMEOUT, "timeout"), (wire.PEER_FAILED, "peer_failed"),
                             (wire.MISMATCH, "mismatch"), (wire.ABORTED, "aborted"),
                             (wire.CONNECTION, "connection"), (wire.CORRUPT, "corrupt"),
                             (wire.FAILED_OTHERWISE, "failed"), (99, "failed")):
            found = error_of(status, "why")
            self.assertEqual((type(found), found.kind, str(found)), (GangError, kind, "why"))

    def test_a_failure_has_the_report_and_the_status_where_they_are_known(self):
        known = GangFailure("why", {"findings": []}, 3)
        self.assertEqual((known.report, known.exit_status), ({"findings": []}, 3))
        self.assertEqual((error_of(wire.RUN_OVER, "why").report, GangFailure("why").exit_status),
                         ({}, 1))

    def test_they_are_what_python_calls_them_too(self):
        self.assertTrue(issubclass(Error, RuntimeError) and issubclass(InvalidArgument, ValueError))

    def test_a_value_that_is_not_accepted_is_shown_beside_those_that_are(self):
        self.assertIn("'c'; must be one of: a, b", str(one_of("the letter", "c", ["a", "b"])))


if __name__ == "__main__":
    unittest.main()
