"""Named outputs: to whom they are told, in a run of gangsim and in the one it is compared with."""

import array
import os
import tempfile
import unittest
from unittest import mock

from recording_connection import recorded

import gangsim
from gangsim import process, wire
from gangsim.output import is_wanted


class Outputs(unittest.TestCase):
    def environment(self, **variables):
        names = ("GANGSIM_OUTPUTS", process.SOCKET, "RANK", "WORLD_SIZE", "LOCAL_RANK")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        context = mock.patch.dict(os.environ, {**kept, **variables}, clear=True)
        context.start()
        self.addCleanup(context.stop)

    def test_a_rank_of_gangsim_tells_the_conductor(self):
        self.environment(GANGSIM_SOCKET="/nowhere")
        values = array.array("h", [1, -2])
        with recorded() as connection:
            gangsim.output("x", values)
            values[0] = 7  # what follows is not part of it
        self.assertEqual(connection.frames, [
            wire.output("x", wire.U8, 4, array.array("h", [1, -2]).tobytes())])

    def test_without_gangsim_each_rank_adds_to_a_file_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            self.environment(GANGSIM_OUTPUTS=folder, RANK="3", LOCAL_RANK="1")
            for name in ("x", "y"):
                gangsim.output(name, array.array("f", [0.5]))
            self.assertEqual(os.listdir(folder), ["3"])
            with open(os.path.join(folder, "3"), "rb") as file:
                found = file.read()
        data = array.array("f", [0.5]).tobytes()
        self.assertEqual(found, wire.output("x", wire.F32, 1, data)
                         + wire.output("y", wire.F32, 1, data))

    def test_nobody_asks_a_process_that_is_not_a_rank(self):
        for variables in ({}, {"GANGSIM_OUTPUTS": "/nowhere"}, {"RANK": "0"},
                          {"GANGSIM_SOCKET": "/nowhere"}):
            self.environment(**variables)
            self.assertFalse(is_wanted(), variables)
            gangsim.output("x", bytearray(1))
        self.environment(GANGSIM_SOCKET="/nowhere", RANK="0", WORLD_SIZE="1")
        self.assertTrue(is_wanted())


if __name__ == "__main__":
    unittest.main()
