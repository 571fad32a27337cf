"""The conductor, `gangsim python --attach`, as a subprocess of this process."""

import json
import os
import shutil
import socket
import subprocess
import time
from typing import List, Optional

from .errors import InvalidArgument, NotSupported

_START_SECONDS = 20.0


class Conductor:
    """Listens on `socket` in `folder`, which is this user's only. A context manager."""

    def __init__(self, folder: str, arguments: List[str]):
        self.socket = os.path.join(folder, "socket")
        self._report = os.path.join(folder, "run.json")
        self._text = os.path.join(folder, "run.txt")
        with open(self._text, "wb") as text:
            self._process = subprocess.Popen(
                [find_program(), "python", "--attach", self.socket, "--json", self._report,
                 *arguments],
                stdin=subprocess.DEVNULL, stdout=text, stderr=subprocess.STDOUT)

    def __enter__(self) -> "Conductor":
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.poll() is not None:
                kind = InvalidArgument if self._process.returncode == 2 else NotSupported
                raise kind(self.explanation().strip())
            if time.monotonic() > deadline:
                self._end()
                raise NotSupported(f"the conductor did not listen within {_START_SECONDS:.0f} s")
            time.sleep(0.002)
        return self

    def __exit__(self, *_) -> None:
        self._end()

    def _listens(self) -> bool:
        # The socket is there a moment before anybody listens.
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    def wait(self, seconds: Optional[float]) -> int:
        """Its exit status, once all ranks have ended; it is ended after `seconds`."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._end()
            return 1

    def explanation(self) -> str:
        with open(self._text, encoding="utf-8", errors="replace") as file:
            return file.read()

    def report(self) -> dict:
        try:
            with open(self._report, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def find_program() -> str:
    """The gangsim program: $GANGSIM, the one beside this package, or the one in PATH."""
    named = os.environ.get("GANGSIM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NotSupported(f"GANGSIM is {named!r}, which is not a program")
        return found
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Installed: share/gangsim/python beside bin; in a source tree: harness/python beside build.
    for place in ("../../../bin/gangsim", "../../build/release/tools/gangsim",
                  "../../build/debug/tools/gangsim"):
        path = os.path.normpath(os.path.join(package, place))
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("gangsim")
    if found is None:
        raise NotSupported("the program gangsim is not found: it is neither beside this package "
                           "nor in PATH, and the environment variable GANGSIM does not name it")
    return found
