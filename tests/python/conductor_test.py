"""The conductor as a subprocess: found, started, and never left behind."""

import os
import stat
import subprocess
import tempfile
import unittest
from unittest import mock

from package import write

from gangsim import conductor
from gangsim.conductor import Conductor, find_program
from gangsim.errors import InvalidArgument, NotSupported


class Programs(unittest.TestCase):
    """Each with a program of its own in the place of gangsim."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, text, path="gangsim"):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(os.path.dirname(path), os.path.basename(path), f"#!/bin/sh\n{text}\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if name != "GANGSIM"}
        return mock.patch.dict(os.environ, {**kept, **variables}, clear=True)

    def start(self, text):
        with self.environment(GANGSIM=self.program(text)):
            made = Conductor(self.folder, [])
        self.addCleanup(made._process.kill)
        return made


class Started(Programs):
    def test_one_that_does_not_listen_is_ended(self):
        made = self.start("exec sleep 60")
        with mock.patch.object(conductor, "_START_SECONDS", 0.05):
            with self.assertRaisesRegex(NotSupported, "did not listen"):
                made.__enter__()
        self.assertIsNotNone(made._process.poll())

    def test_one_that_refuses_says_why(self):
        for status, kind in ((2, InvalidArgument), (3, NotSupported)):
            with self.assertRaisesRegex(kind, "^because$"):
                self.start(f"echo because; exit {status}").__enter__()

    def test_it_is_ended_after_the_time_that_it_has(self):
        made = self.start("exec sleep 60")
        self.assertEqual(made.wait(0.05), 1)
        self.assertIsNotNone(made._process.poll())
        self.assertEqual(self.start("exit 0").wait(20), 0)

    def test_it_is_ended_with_its_block(self):
        made = self.start("exec sleep 60")
        made.__exit__(None, None, None)
        self.assertIsNotNone(made._process.poll())

    def test_one_that_does_not_end_is_killed(self):
        made = self.start("exec sleep 60")
        with mock.patch.object(made, "_process") as process:
            process.poll.return_value = None
            process.wait.side_effect = [subprocess.TimeoutExpired("gangsim", 2), 0]
            made.__exit__(None, None, None)
            process.kill.assert_called_once()

    def test_a_report_that_is_not_whole_is_none(self):
        made = self.start("exit 0")
        self.assertEqual(made.report(), {})
        write(self.folder, "run.json", '{"findings": [')
        self.assertEqual(made.report(), {})
        write(self.folder, "run.json", '{"findings": []}')
        self.assertEqual(made.report(), {"findings": []})


class Found(Programs):
    def find(self, package, path="/nowhere", **variables):
        file = os.path.join(self.folder, package, "gangsim", "conductor.py")
        with self.environment(PATH=path, **variables), \
                mock.patch.object(conductor, "__file__", file):
            return find_program()

    def test_it_is_the_one_that_is_named(self):
        named = self.program("exit 0", "other/gangsim")
        self.program("exit 0", "bin/gangsim")
        self.assertEqual(self.find("share/gangsim/python", GANGSIM=named), named)
        os.chmod(named, stat.S_IRUSR)
        with self.assertRaisesRegex(NotSupported, "is not a program"):
            self.find("share/gangsim/python", GANGSIM=named)

    def test_it_is_the_one_beside_the_package(self):
        installed = self.program("exit 0", "bin/gangsim")
        self.assertEqual(self.find("share/gangsim/python"), installed)
        debug = self.program("exit 0", "build/debug/tools/gangsim")
        self.assertEqual(self.find("harness/python"), debug)
        release = self.program("exit 0", "build/release/tools/gangsim")
        self.assertEqual(self.find("harness/python"), release)

    def test_it_is_the_one_in_the_path(self):
        found = self.program("exit 0", "mine/gangsim")
        self.assertEqual(self.find("elsewhere/python", os.path.dirname(found)), found)
        with self.assertRaisesRegex(NotSupported, "not found"):
            self.find("elsewhere/python")


if __name__ == "__main__":
    unittest.main()
