"""The stores of torch.distributed, kept by the conductor: it knows who waits for which key."""

from datetime import timedelta
from typing import List, Optional, Sequence

import torch.distributed as dist

from .. import call_site, process, wire
from ..errors import Error
from .errors import as_store_error, as_torch

_FIRST_FREE_PORT = 49152
_DEFAULT_TIMEOUT = timedelta(seconds=300)  # as PyTorch's

# C++ holds only its own half of a Store, and calls the Python half: keep it for good.
_kept: List["Store"] = []


def become(rank: int, world_size: int) -> None:
    """Makes this process rank `rank`. Raises InvalidArgument if it is another one already."""
    try:
        process.become(rank, world_size)
    except Error as error:
        raise as_torch(error) from None


class Store(dist.Store):
    """Keys and values that all ranks share; `prefix` comes before every key, and reports do not
    show it if it ends in a zero.

    Without a timeout of its own, it waits for a key until it is known that no rank sets it.
    """

    def __init__(self, prefix: str = "", timeout: Optional[timedelta] = None):
        super().__init__()
        _kept.append(self)
        self._prefix = prefix.encode()
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        return _DEFAULT_TIMEOUT if self._timeout is None else self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout

    def set(self, key: str, value) -> None:
        self._ask(wire.SET, [key], [_bytes(value)])

    def get(self, key: str) -> bytes:
        """Waits for the key."""
        return self._ask(wire.GET, [key], timeout=self._timeout)[1][0]

    def add(self, key: str, amount: int) -> int:
        return self._ask(wire.ADD, [key], number=amount)[0]

    def wait(self, keys: Sequence[str], timeout: Optional[timedelta] = None) -> None:
        self._ask(wire.WAIT_KEYS, keys, timeout=self._timeout if timeout is None else timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask(wire.CHECK, keys)[0])

    def delete_key(self, key: str) -> bool:
        return bool(self._ask(wire.DELETE, [key])[0])

    def num_keys(self) -> int:
        return self._ask(wire.COUNT, [])[0]

    def compare_set(self, key: str, expected, desired) -> bytes:
        return self._ask(wire.COMPARE_SET, [key], [_bytes(expected), _bytes(desired)])[1][0]

    def append(self, key: str, value) -> None:
        self._ask(wire.APPEND, [key], [_bytes(value)])

    def multi_get(self, keys: Sequence[str]) -> List[bytes]:
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence) -> None:
        for key, value in zip(keys, values):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        return True

    def clone(self) -> "Store":
        return self

    # What C++ calls, from a PrefixStore around this one.
    compareSet, deleteKey, getNumKeys = compare_set, delete_key, num_keys
    setTimeout, multiGet, multiSet = set_timeout, multi_get, multi_set
    hasExtendedApi = has_extended_api

    def getTimeout(self) -> timedelta:
        return self.timeout

    def _ask(self, function: int, keys: Sequence[str], values: Sequence[bytes] = (), *,
             number: int = 0, timeout: Optional[timedelta] = None):
        named = [self._prefix + _bytes(key) for key in keys]
        try:
            return process.connection().store(wire.store(
                function, call_site.here(), number=number, keys=named, values=values,
                timeout_ns=0 if timeout is None else int(timeout.total_seconds() * 1e9),
                threads=process.silent_threads()))
        except Error as error:
            raise as_store_error(error) from None


class RendezvousStore(Store):
    """The store of init_process_group, which sets the timeout of the group on it.

    The program did not choose that timeout for the store, so it bounds no wait for a key: such a
    wait still ends once it is known that no rank sets the key.
    """

    def __init__(self):
        super().__init__()
        self._group_timeout = _DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        return self._group_timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._group_timeout = timeout

    setTimeout = set_timeout


class TCPStore(Store):
    """A TCPStore that a rank makes: all ranks that name one port share it; port 0 is a new one."""

    def __init__(self, host_name, port, world_size=None, is_master=False,
                 timeout=None, wait_for_workers=True, *_, **__):
        super().__init__(timeout=timeout)
        self.host = host_name
        self.port = port or _FIRST_FREE_PORT + self.add("gangsim/ports", 1)
        self._prefix = f"tcp/{self.port}\0".encode()
        if wait_for_workers and world_size:
            self.add("gangsim/workers", 1)
            self._await_workers(world_size)

    def _await_workers(self, world_size: int) -> None:
        """Returns when `world_size` processes have made the store, as PyTorch's does."""
        if self.add("gangsim/workers", 0) == world_size:
            self.set("gangsim/complete", b"")
        self.wait(["gangsim/complete"])


class FileStore(Store):
    """A FileStore that a rank makes: all ranks that name one file share it."""

    def __init__(self, file_name, world_size=-1):
        super().__init__(f"file/{file_name}\0")
        self.path = file_name


def _bytes(value) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
