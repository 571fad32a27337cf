"""Futures that complete when somebody waits, so that the conductor knows who is blocked."""

import torch


class Future(torch.futures.Future):
    """`drive` completes it; it is called when a thread needs the value."""

    def __init__(self, drive):
        super().__init__()
        self._drive = drive

    def wait(self):
        if not self.done():
            self._drive()
        return super().wait()

    def value(self):
        if not self.done():
            self._drive()
        return super().value()

    def then(self, callback):
        child = Future(self.wait)

        def run(_):
            try:
                child.set_result(callback(self))
            except Exception as error:
                child.set_exception(error)

        self.add_done_callback(run)
        return child


def install() -> None:
    """Makes the functions of torch.futures that wait in C++ drive gangsim's futures first."""
    collect_all, wait_all = torch.futures.collect_all, torch.futures.wait_all

    def collecting(futures):
        collected = collect_all(futures)
        if not any(isinstance(future, Future) for future in futures):
            return collected
        child = Future(lambda: _drive_all(futures))
        collected.add_done_callback(lambda done: child.set_result(done.value()))
        return child

    def waiting(futures):
        _drive_all(futures)
        return wait_all(futures)

    torch.futures.collect_all, torch.futures.wait_all = collecting, waiting


def _drive_all(futures) -> None:
    for future in futures:
        if isinstance(future, Future) and not future.done():
            try:
                future.wait()
            except Exception:
                pass  # the collected future has it
