"""The process that forks the ranks: what it says, and that nothing outlives it."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from package import PACKAGES, write


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Zygote(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def start(self, text, *arguments, **environment):
        """Starts it on a program that is not a rank: GANGSIM_SOCKET leads nowhere."""
        script = write(self.folder, "program.py", text)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(20)
        self.addCleanup(self.control.close)
        process = subprocess.Popen(
            [sys.executable, str(PACKAGES / "gangsim" / "zygote.py"), "--control",
             str(theirs.fileno()), "--", str(script), *arguments], pass_fds=[theirs.fileno()],
            env={**os.environ, **environment})
        theirs.close()
        self.addCleanup(process.wait, 20)
        self.addCleanup(self.control.close)
        return process

    def hear(self):
        return json.loads(self.control.recv(1 << 16))

    def fork(self, rank):
        """Has a rank forked; its process, and what it writes."""
        reading, writing = os.pipe()
        request = json.dumps({"fork": rank, "environment": {
            "RANK": str(rank), "WORLD_SIZE": "2", "GANGSIM_SOCKET": "/nowhere"}})
        socket.send_fds(self.control, [request.encode()], [writing, writing])
        os.close(writing)
        message = self.hear()
        self.assertEqual(message["forked"], rank)
        return message["pid"], os.fdopen(reading)

    def test_it_forks_ranks_and_tells_how_they_end(self):
        self.start("")
        self.assertEqual(self.hear(), {"ready": True})
        process, output = self.fork(0)
        with output:
            self.assertIn("no gangsim conductor is listening at /nowhere", output.read())
        self.assertEqual(self.hear(), {"exited": process, "status": 256})

    def test_a_program_that_cannot_start_is_told_once(self):
        for text, why in (("def f(:\n", "SyntaxError"),
                          ("import no_such_module\n", "No module named 'no_such_module'")):
            process = self.start(text)
            self.assertIn(why, self.hear()["error"])
            self.assertEqual(process.wait(20), 1)

    def fork_stuck_rank(self):
        """A rank that waits for ever: its connection is never answered."""
        path = os.path.join(self.folder, "silent")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen()
        request = json.dumps({"fork": 0, "environment": {
            "RANK": "0", "WORLD_SIZE": "1", "GANGSIM_SOCKET": path}})
        with open(os.devnull, "w", encoding="ascii") as nowhere:
            socket.send_fds(self.control, [request.encode()], [nowhere.fileno()] * 2)
        rank = self.hear()["pid"]
        client, _ = listener.accept()
        self.addCleanup(client.close)
        self.assertTrue(is_alive(rank))
        return rank

    def assert_ends(self, process):
        deadline = time.monotonic() + 10
        while is_alive(process) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(is_alive(process))

    def test_ranks_end_when_nobody_controls_it(self):
        self.start("")
        self.hear()
        rank = self.fork_stuck_rank()
        self.control.close()
        self.assert_ends(rank)

    def test_ranks_end_when_it_is_killed(self):
        zygote = self.start("")
        self.hear()
        rank = self.fork_stuck_rank()
        zygote.send_signal(signal.SIGKILL)
        self.assert_ends(rank)


if __name__ == "__main__":
    unittest.main()
