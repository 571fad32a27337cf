"""The process that forks the ranks: what it says, and that nothing outlives it."""

import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from package import PACKAGES, is_alive, write
from recording_connection import recorded

from gangsim import process, zygote


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

    def test_what_a_rank_prints_goes_where_the_conductor_says(self):
        self.start("")
        self.hear()
        pipes = [os.pipe() for _ in range(2)]
        request = json.dumps({"fork": 0, "environment": {
            "RANK": "0", "WORLD_SIZE": "2", "GANGSIM_SOCKET": "/nowhere"}})
        socket.send_fds(self.control, [request.encode()], [writing for _, writing in pipes])
        for _, writing in pipes:
            os.close(writing)
        texts = []
        for reading, _ in pipes:
            with os.fdopen(reading) as pipe:
                texts.append(pipe.read())
        self.assertEqual(texts[0], "")
        self.assertIn("no gangsim conductor is listening", texts[1])

    def test_what_cannot_be_imported_for_all_is_told_with_its_last_line(self):
        self.start("import numpy\n", PYTHONPATH=self.library("numpy", "import sys\nsys.exit(3)\n"))
        self.assertEqual(self.hear(), {"error": "the program cannot be imported: SystemExit: 3"})
        self.start(f"import {'x' * 100_000}\n")
        self.assertIn("No module named 'xxx", self.hear()["error"])
        self.start("import memory\n")  # the name of a file of gangsim
        self.assertIn("No module named 'memory'", self.hear()["error"])

    def library(self, name, text):
        """A folder with a module of that name, which is not the program's own."""
        folder = os.path.join(self.folder, "library")
        os.makedirs(folder)
        write(folder, f"{name}.py", text)
        return folder

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

    def test_what_ranks_have_started_ends_with_them(self):
        noted = os.path.join(self.folder, "started")
        self.start("", PYTHONPATH=self.library("sitecustomize", f"""
import os, subprocess
def start():
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    with open({noted!r}, "w") as file:
        file.write(str(process.pid))
os.register_at_fork(after_in_child=start)
"""))
        self.hear()
        rank = self.fork_stuck_rank()
        with open(noted, encoding="ascii") as file:
            started = int(file.read())
        self.assertTrue(is_alive(started))
        self.control.close()
        self.assert_ends(rank)
        self.assert_ends(started)

    def test_a_rank_can_be_interrupted(self):
        self.start("")
        self.hear()
        rank = self.fork_stuck_rank()
        os.kill(rank, signal.SIGINT)
        ended = self.hear()
        self.assertEqual(ended["exited"], rank)
        self.assertNotEqual(ended["status"], 0)

    def test_ranks_end_when_it_is_killed(self):
        zygote = self.start("")
        self.hear()
        rank = self.fork_stuck_rank()
        zygote.send_signal(signal.SIGKILL)
        self.assert_ends(rank)


class Ranks(unittest.TestCase):
    """What a rank's process does before the program and behind it."""

    def test_ranks_that_draw_without_a_seed_differ_and_repeat(self):
        drawn = {}
        for seed, rank in ((1, 0), (1, 1), (2, 0), (1, 0)):
            found = self.drawn(seed, rank)
            self.assertEqual(drawn.setdefault((seed, rank), found), found)
        self.assertEqual(len({one for one, _ in drawn.values()}), 3)
        self.assertEqual(len({other for _, other in drawn.values()}), 3)

    def drawn(self, seed, rank):
        """Numbers of random, and of what stands for numpy."""
        numpy, script, found = mock.Mock(), mock.Mock(), []
        script.run = lambda: found.append(random.random())
        streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
        state = random.getstate()
        self.addCleanup(random.setstate, state)
        with recorded(rank, 2), mock.patch.dict(sys.modules, numpy=numpy), \
                mock.patch.object(sys, "stdout", streams[0]), \
                mock.patch.object(sys, "stderr", streams[1]):
            process.identity().seed = seed
            zygote._run_rank(script)
        self.assertEqual([stream.line_buffering for stream in streams], [True, True])
        return found[0], numpy.random.seed.call_args.args[0]

    def test_each_rank_computes_with_one_processor_unless_told_otherwise(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [*sys.path]):
            script = str(write(folder, "program.py", ""))
            for variables, expected in (({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")):
                kept = {name: value for name, value in os.environ.items()
                        if name != "OMP_NUM_THREADS"}
                with mock.patch.dict(os.environ, {**kept, **variables}, clear=True):
                    zygote._prepare([script], False)
                    self.assertEqual(os.environ["OMP_NUM_THREADS"], expected)

    def test_it_ends_as_the_interpreter_would(self):
        text = """
import atexit, os, sys, threading, time
from gangsim import zygote
atexit.register(print, "goodbye")
def late():
    time.sleep(0.05)
    print("thread")
for code in (None, 0, 5, 259, "why"):
    if os.fork() == 0:
        threading.Thread(target=late).start()
        zygote._end(lambda: sys.exit(code))
    print(os.WEXITSTATUS(os.wait()[1]), flush=True)
if os.fork() == 0:
    zygote._end(lambda: None)
print(os.WEXITSTATUS(os.wait()[1]))
sys.stdout.flush()
if os.fork() == 0:
    zygote.end_with_parent(-1)  # it has ended in between
os._exit(os.WEXITSTATUS(os.wait()[1]))
"""
        found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                               check=False, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
        expected = [word for status in ("0", "0", "5", "3", "1")
                    for word in ("thread", "goodbye", status)]
        self.assertEqual(found.stdout.split(), [*expected, "goodbye", "0"])
        self.assertEqual((found.stderr, found.returncode), ("why\n", 1))


if __name__ == "__main__":
    unittest.main()
