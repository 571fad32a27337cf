"""A conductor that says what a test tells it to, whatever it is asked."""

import os
import socket
import struct
import tempfile
import threading
import time

import package  # noqa: F401

from gangsim import wire
from gangsim.connection import Connection
from gangsim.process import Identity

WELCOME = wire.frame(wire.WELCOME, struct.pack("<IiQB", wire.VERSION, 2, 7, 0))


def done(data=b"", status=0, error="", ranks=(), source=3, tag=4):
    return wire.frame(wire.DONE, struct.pack("<IBii", 1, status, source, tag),
                      wire.numbers("i", ranks), wire.text(error), wire.blob(data))


def over(text):
    return wire.frame(wire.OVER, b"\x0a", wire.text(text))


class ScriptedConductor:
    """Answers each read with the next of `answers`; None closes the connection, and the parts of a
    tuple are sent one after the other.

    A context manager; `heard` has the kinds of the frames that came, in their order.
    """

    def __init__(self, *answers, welcome=WELCOME):
        self._answers = [welcome, *answers]
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._folder.name, "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self.heard, self.received = [], []
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_ending.set()
        self._thread.join(5)
        self._listener.close()
        self._folder.cleanup()

    def connect(self):
        return Connection(self.path, Identity(0, 2))

    def _serve(self):
        client, _ = self._listener.accept()
        with client:
            pending, answers = b"", iter(self._answers)
            client.settimeout(0.02)
            while True:
                try:
                    data = client.recv(1 << 20)
                except socket.timeout:
                    if self._is_ending.is_set():
                        return
                    continue
                pending += data
                frames = list(wire.split_frames(pending))
                pending = pending[sum(5 + len(fields) for _, fields in frames):]
                self.heard += [kind for kind, _ in frames]
                self.received += [bytes(fields) for _, fields in frames]
                answer = next(answers, b"")
                if answer is None or not data:
                    return
                try:
                    for part in answer if isinstance(answer, tuple) else (answer,):
                        client.sendall(part)
                        if part is not answer:
                            time.sleep(0.02)
                except OSError:
                    return  # the client has gone
