"""The process that imports what all ranks need, once, and forks them; or one rank by itself.

usage: zygote.py (--control DESCRIPTOR | --rank | --threads N) [--torch]
                 -- (SCRIPT | -m MODULE) ARGS...

--control  fork a rank whenever the conductor asks for one on this socket
--rank     be a rank: RANK and WORLD_SIZE are in the environment
--threads  be N ranks, each a thread (with --torch, PyTorch 2 or newer)
--torch    the program uses PyTorch: import it first
"""

import os
import sys

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if __name__ == "__main__":
    # Python puts the folder of this file first, where it hides other packages.
    del sys.path[0]
    if _PACKAGES not in sys.path:
        sys.path.append(_PACKAGES)

import argparse
import array
import atexit
import ctypes
import gc
import json
import random
import selectors
import signal
import socket
import threading
import traceback
from typing import Dict, List

from gangsim import process
from gangsim.errors import Error
from gangsim.script import Script, ScriptError
from gangsim.torch import hook

_MAX_MESSAGE_BYTES = 60000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Zygote:
    """Forks ranks on request and reports how they end, until the control socket is closed."""

    def __init__(self, control: socket.socket):
        self._control = control
        self._ranks: Dict[int, int] = {}  # process -> rank
        self._woken, waking = socket.socketpair()
        self._woken.setblocking(False)
        waking.setblocking(False)
        self._waking = waking
        _control_process(_PR_SET_CHILD_SUBREAPER, 1)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the conductor decides

    def serve(self) -> bool:
        """True in a new rank's process; False when the conductor wants no more."""
        gc.freeze()
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._woken in ready:
                    self._reap()
                if self._control in ready:
                    request, descriptors = self._receive()
                    if request is None:
                        self._end_all()
                        return False
                    if self._fork(request, descriptors):
                        return True

    def tell(self, message: dict) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except OSError:
            pass  # the conductor has gone, which the next read shows

    def _receive(self):
        data, ancillary, _, _ = self._control.recvmsg(1 << 20, socket.CMSG_SPACE(8))
        descriptors = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(content[:len(content) - len(content) % 4])
        return (json.loads(data) if data else None), descriptors

    def _fork(self, request: dict, descriptors) -> bool:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            self._become_rank(request, descriptors, parent)
            return True
        self._ranks[child] = request["fork"]
        for descriptor in descriptors:
            os.close(descriptor)
        self.tell({"forked": request["fork"], "pid": child})
        return False

    def _become_rank(self, request: dict, descriptors, parent: int) -> None:
        end_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for descriptor, target in zip(descriptors, (1, 2)):
            os.dup2(descriptor, target)
            os.close(descriptor)
        for own in (self._control, self._woken, self._waking):
            own.close()
        os.environ.update(request["environment"])

    def _reap(self) -> None:
        try:
            self._woken.recv(4096)
        except BlockingIOError:
            pass
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not ended:
                return
            if self._ranks.pop(ended, None) is not None:
                self.tell({"exited": ended, "status": status})

    def _end_all(self) -> None:
        """Ends the ranks and everything that they have started."""
        while True:
            for child in _children():
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def end_with_parent(parent: int) -> None:
    """Makes this process, which `parent` has just forked, end when `parent` ends."""
    _control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _children() -> List[int]:
    own = os.getpid()
    with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _control_process(option: int, value: int) -> None:
    """prctl of this process."""
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _prepare(words: List[str], with_torch: bool) -> Script:
    script = Script(words)
    if with_torch:
        hook.install()
    # Ranks that compute side by side with all processors each are slower than with one.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    script.check_imports()
    script.import_shared(["torch", "torch.distributed"] if with_torch else [])
    if with_torch:
        from gangsim.torch import redirect
        redirect.prepare()
    return script


def _run_rank(script: Script) -> None:
    """Runs the program in this process, which is a rank."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    process.connection()
    rank = process.identity()
    # Programs that draw without a seed differ from rank to rank and are the same in every run.
    random.seed(f"{rank.seed} {rank.rank}")
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(random.getrandbits(32))
    script.run()


def _run_threads(words: List[str], world: int) -> None:
    """Runs the program in threads of this process, and ends it."""
    try:
        script = _prepare(words, with_torch=True)
        from gangsim.torch import threads
        sys.exit(0 if threads.run_script(script, world) else 1)
    except (ScriptError, Error) as error:
        sys.exit(str(error))


def _end(run) -> None:
    """Ends this process after `run` as the interpreter would, but leaves its objects as they are.

    To free what the libraries have made would copy every page that the ranks share.
    """
    status = 0
    try:
        run()
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status & 0xFF)


def main() -> None:
    parser = argparse.ArgumentParser(prog="zygote.py", allow_abbrev=False)
    role = parser.add_mutually_exclusive_group(required=True)
    role.add_argument("--control", type=int)
    role.add_argument("--rank", action="store_true")
    role.add_argument("--threads", type=int)
    parser.add_argument("--torch", action="store_true")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    words = sys.argv[split + 1:]
    if options.rank:
        try:
            script = _prepare(words, options.torch)
        except ScriptError as error:
            sys.exit(str(error))
        _run_rank(script)
        return
    if options.threads:
        _run_threads(words, options.threads)

    zygote = Zygote(socket.socket(fileno=options.control))
    try:
        script = _prepare(words, options.torch)
    except ScriptError as error:
        lines = str(error).rstrip().splitlines()
        if len(lines) > 1:
            print(*lines, sep="\n", file=sys.stderr)
        zygote.tell({"error": lines[-1][:_MAX_MESSAGE_BYTES]})
        sys.exit(1)
    except (Exception, SystemExit):
        traceback.print_exc()
        last_line = traceback.format_exc().rstrip().rsplit("\n", 1)[-1]
        zygote.tell({"error": f"the program cannot be imported: {last_line}"})
        sys.exit(1)
    zygote.tell({"ready": True})
    if zygote.serve():
        _end(lambda: _run_rank(script))


if __name__ == "__main__":
    main()
