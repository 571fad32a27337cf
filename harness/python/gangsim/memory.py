"""Blocks of shared memory, through which tensors go to the conductor and back."""

import fcntl
import mmap
import os
from typing import Dict, List, Tuple

from .errors import Error

SMALLEST_BYTES = 64 << 10


class Block:
    """Memory that this process and the conductor both see; `descriptor` is -1 once it is sent."""

    __slots__ = ("number", "size_bytes", "view", "descriptor")

    def __init__(self, number: int, size_bytes: int):
        self.number, self.size_bytes = number, size_bytes
        self.descriptor = os.memfd_create("gangsim", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(self.descriptor, 0, size_bytes)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            self.view = memoryview(mmap.mmap(self.descriptor, size_bytes))
        except (OSError, ValueError) as error:
            os.close(self.descriptor)
            raise Error(f"cannot reserve {size_bytes >> 10} KiB of shared memory for tensors: "
                        f"{error}; a larger /dev/shm or memory limit is needed") from None

    def close_descriptor(self) -> None:
        os.close(self.descriptor)
        self.descriptor = -1


class Blocks:
    """The blocks of one connection. A block that is given back serves later operations."""

    def __init__(self):
        self._free: Dict[int, List[Block]] = {}
        self._made = 0

    def take(self, size_bytes: int) -> Tuple[Block, bool]:
        """A block of at least `size_bytes`, and whether the conductor does not know it yet."""
        size_bytes = max(SMALLEST_BYTES, 1 << (size_bytes - 1).bit_length())
        free = self._free.get(size_bytes)
        if free:
            return free.pop(), False
        self._made += 1
        return Block(self._made, size_bytes), True

    def give_back(self, block: Block) -> None:
        self._free.setdefault(block.size_bytes, []).append(block)
