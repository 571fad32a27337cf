"""What ranks print that are threads of one process."""

import io
import os
import threading
from typing import Dict, Optional, Set

# The command's --log-ranks: all, none, or a list such as 0,8-11,16-31:2.
_SELECTION = "GANGSIM_LOG_RANKS"


class OutputOfThread(io.TextIOBase):
    """Passes on the whole lines that chosen ranks print, each with the number of its rank before
    it; and what other threads print, as it is."""

    def __init__(self, stream):
        super().__init__()
        self._stream = stream
        self._chosen = _chosen_ranks(os.environ.get(_SELECTION, "0"))
        self._lines: Dict[int, str] = {}  # begun, by rank
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        rank = getattr(threading.current_thread(), "gangsim_rank", None)
        if rank is None:
            return self._stream.write(text)
        if self._chosen is None or rank.rank in self._chosen:
            with self._lock:
                *whole, begun = (self._lines.pop(rank.rank, "") + text).split("\n")
                self._stream.write("".join(f"[{rank.rank}] {line}\n" for line in whole))
                if begun:
                    self._lines[rank.rank] = begun
                if whole:
                    self._stream.flush()
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def end_lines(self) -> None:
        """Passes on the lines that ranks have begun."""
        with self._lock:
            for rank, line in self._lines.items():
                self._stream.write(f"[{rank}] {line}\n")
            self._lines.clear()
        self.flush()

    @property
    def encoding(self) -> str:
        return self._stream.encoding


def _chosen_ranks(text: str) -> Optional[Set[int]]:
    """The ranks of a selection; None for all."""
    if text in ("all", "none"):
        return None if text == "all" else set()
    chosen: Set[int] = set()
    for part in text.split(","):
        ends, _, stride = part.partition(":")
        first, _, last = ends.partition("-")
        chosen.update(range(int(first), int(last or first) + 1, int(stride or 1)))
    return chosen
