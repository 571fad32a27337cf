"""Messages between two ranks of a gang."""

from typing import NamedTuple, Sequence

from . import wire
from .errors import InvalidArgument
from .operation import Operation
from .tensor_view import moved, tensor_view, writable
from .work import Received, Work

ANY_RANK = -1
ANY_TAG = -1


class Message(NamedTuple):
    """One operation of a batch: `kind` is "send" or "recv"; `peer` may be ANY_RANK for recv."""

    kind: str
    tensor: object
    peer: int
    tag: int = 0


class PointToPoint:
    """The point-to-point operations of a Gang."""

    def send(self, tensor: object, destination_rank: int, tag: int = 0, *, label: str = "") -> None:
        """Sends to `destination_rank`; tag >= 0.

        Messages with the same source, destination and tag arrive in order. May block until the
        receive has been called.
        """
        self._run(self._send(tensor, destination_rank, tag, label))

    def start_send(self, tensor: object, destination_rank: int, tag: int = 0, *,
                   label: str = "") -> Work:
        """Starts send, and returns at once."""
        return self._begin(self._send(tensor, destination_rank, tag, label), tensor)

    def recv(self, tensor: object, source_rank: int = ANY_RANK, tag: int = 0, *,
             label: str = "") -> Received:
        """Receives from `source_rank` or ANY_RANK, with `tag` or ANY_TAG, into `tensor`, whose type
        and number of elements are those of the send. Returns the source and the tag."""
        return self._run(self._recv(tensor, source_rank, tag, label))

    def start_recv(self, tensor: object, source_rank: int = ANY_RANK, tag: int = 0, *,
                   label: str = "") -> Work:
        """Starts recv, and returns at once."""
        return self._begin(self._recv(tensor, source_rank, tag, label), tensor)

    def batch(self, messages: Sequence[Message]) -> None:
        """All sends and receives of the list progress together; returns when all have ended."""
        self.start_batch(messages).wait()

    def start_batch(self, messages: Sequence[Message]) -> Work:
        """Starts batch, and returns at once."""
        operations = []
        for message in messages:
            if message.kind not in ("send", "recv"):
                raise InvalidArgument(
                    f"a message of kind {message.kind!r}; must be send or recv")
            make = self._send if message.kind == "send" else self._recv
            operations.append(make(message.tensor, message.peer, message.tag, ""))
        return Work([pending for operation in operations
                     for pending in self._begin(operation).release()], list(messages))

    def _send(self, tensor, destination_rank: int, tag: int, label: str) -> Operation:
        found = moved(tensor_view(tensor))
        if tag < 0:
            raise InvalidArgument(f"tag is {tag}; the tag of a send must be at least 0")
        return Operation(
            self._open(), wire.SEND, data_type=found.data_type, count=found.count, tag=tag,
            label=label, peer=self._member("destination_rank", destination_rank),
            inputs=(found.view,))

    def _recv(self, tensor, source_rank: int, tag: int, label: str) -> Operation:
        found = moved(writable(tensor))
        flags = wire.FROM_ANY * (source_rank == ANY_RANK) + wire.WITH_ANY_TAG * (tag == ANY_TAG)
        if source_rank != ANY_RANK:
            self._member("source_rank", source_rank)
        return Operation(
            self._open(), wire.RECV, data_type=found.data_type, count=found.count, flags=flags,
            peer=max(source_rank, 0), tag=max(tag, 0), label=label, outputs=(found.view,))
