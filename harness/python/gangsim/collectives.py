"""The collective operations of a Gang."""

import pickle
import struct
from typing import List, Optional, Sequence

from . import wire
from .errors import InvalidArgument, one_of
from .operation import Operation
from .tensor_view import TensorView, moved, reduced, tensor_view, writable
from .work import Work

# Names of reductions, fairseq2's and PyTorch's included.
_REDUCTIONS = {**{name: (name, code) for name, code in wire.REDUCTIONS.items()},
               "avg": ("mean", 1), "mul": ("product", 2), "prod": ("product", 2)}


def _items_moved(source: TensorView, target: TensorView) -> int:
    """How many elements of the wire make one of the tensors, of which one may be empty."""
    return 1 if source.data_type is not None else max(source.item_bytes, target.item_bytes)


class Collectives:
    """The collective operations of a Gang. n is the size of the gang.

    Tensors are what tensor_view accepts; their shape does not matter, only their type and their
    number of elements. `operation` of a reduction is sum, mean, product, min, max, band, bor or
    bxor (avg, mul and prod are accepted, too). Bitwise ones need integers or bool; sum, mean and
    product need numbers; complex numbers can be summed and averaged. Other types (16-bit integers)
    can be moved but not reduced: NotSupported.

    Errors are those of Gang. Each start_ form returns at once; its tensors belong to the Work.
    """

    # -- Reductions --

    def all_reduce(self, tensor: object, operation: str = "sum", *, label: str = "") -> None:
        """Reduces over the ranks and leaves the result in `tensor` on every rank.

        `tensor`: same type and number of elements on every rank.
        """
        self._run(self._all_reduce(tensor, operation, label))

    def start_all_reduce(self, tensor: object, operation: str = "sum", *, label: str = "") -> Work:
        """Starts all_reduce, and returns at once."""
        return self._begin(self._all_reduce(tensor, operation, label), tensor)

    def reduce(self, tensor: object, operation: str = "sum", destination_rank: int = 0, *,
               label: str = "") -> None:
        """Reduces to `destination_rank`; the tensors of the other ranks are unchanged.

        `tensor`: same type and number of elements on every rank.
        """
        self._run(self._reduce(tensor, operation, destination_rank, label))

    def start_reduce(self, tensor: object, operation: str = "sum", destination_rank: int = 0, *,
                     label: str = "") -> Work:
        """Starts reduce, and returns at once."""
        return self._begin(self._reduce(tensor, operation, destination_rank, label), tensor)

    def reduce_scatter(self, output: object, input: object, operation: str = "sum", *,
                       label: str = "") -> None:
        """Reduces `input` over the ranks and leaves chunk r of the result in `output` of rank r.

        `input`: n times the elements of `output`, of its type; the same on every rank.
        """
        self._run(self._reduce_scatter(output, input, operation, label))

    def start_reduce_scatter(self, output: object, input: object, operation: str = "sum", *,
                             label: str = "") -> Work:
        """Starts reduce_scatter, and returns at once."""
        return self._begin(self._reduce_scatter(output, input, operation, label), (output, input))

    def scan(self, tensor: object, operation: str = "sum", *, label: str = "") -> None:
        """Reduces over ranks 0 to `rank`, in rank order, and leaves that in `tensor`.

        `tensor`: same type and number of elements on every rank. No mean: InvalidArgument.
        """
        self._run(self._scan(wire.SCAN, tensor, operation, label))

    def start_scan(self, tensor: object, operation: str = "sum", *, label: str = "") -> Work:
        """Starts scan, and returns at once."""
        return self._begin(self._scan(wire.SCAN, tensor, operation, label), tensor)

    def exclusive_scan(self, tensor: object, operation: str = "sum", *, label: str = "") -> None:
        """As scan, but over ranks 0 to `rank` - 1; the tensor of rank 0 stays as it is."""
        self._run(self._scan(wire.EXCLUSIVE_SCAN, tensor, operation, label))

    def start_exclusive_scan(self, tensor: object, operation: str = "sum", *,
                             label: str = "") -> Work:
        """Starts exclusive_scan, and returns at once."""
        return self._begin(self._scan(wire.EXCLUSIVE_SCAN, tensor, operation, label), tensor)

    # -- Gathers and scatters --

    def all_gather(self, output: object, input: object, *, counts: Sequence[int] = (),
                   label: str = "") -> None:
        """Leaves the inputs of all ranks, in rank order, in `output` on every rank.

        `output`: n times the elements of `input`, of its type; the same on every rank. With
        counts, the same n on every rank, rank i passes counts[i] elements.
        """
        self._run(self._all_gather([output], input, label, counts))

    def start_all_gather(self, output: object, input: object, *, counts: Sequence[int] = (),
                         label: str = "") -> Work:
        """Starts all_gather, and returns at once."""
        return self._begin(self._all_gather([output], input, label, counts), (output, input))

    def all_gather_to_list(self, outputs: Sequence, input: object, *, label: str = "") -> None:
        """all_gather into n tensors, each with the type and number of elements of `input`."""
        self._check_list("outputs", outputs)
        self._run(self._all_gather(outputs, input, label))

    def start_all_gather_to_list(self, outputs: Sequence, input: object, *,
                                 label: str = "") -> Work:
        """Starts all_gather_to_list, and returns at once."""
        self._check_list("outputs", outputs)
        return self._begin(self._all_gather(outputs, input, label), (outputs, input))

    def gather(self, outputs: Optional[Sequence], input: object, destination_rank: int = 0, *,
               label: str = "") -> None:
        """Copies the inputs of all ranks into the n `outputs` of `destination_rank`; the other
        ranks pass None.

        `outputs`: each with the type and number of elements of `input`, the same on every rank.
        """
        self._run(self._gather(outputs, input, destination_rank, label))

    def start_gather(self, outputs: Optional[Sequence], input: object, destination_rank: int = 0, *,
                     label: str = "") -> Work:
        """Starts gather, and returns at once."""
        return self._begin(self._gather(outputs, input, destination_rank, label), (outputs, input))

    def scatter(self, output: object, inputs: Optional[Sequence], source_rank: int = 0, *,
                label: str = "") -> None:
        """Copies inputs[r] of `source_rank` to `output` of rank r; the other ranks pass None.

        `inputs`: n tensors with the type and number of elements of `output`, the same on every
        rank.
        """
        self._run(self._scatter(output, inputs, source_rank, label))

    def start_scatter(self, output: object, inputs: Optional[Sequence], source_rank: int = 0, *,
                      label: str = "") -> Work:
        """Starts scatter, and returns at once."""
        return self._begin(self._scatter(output, inputs, source_rank, label), (output, inputs))

    def all_to_all(self, output: object, input: object, *, output_splits: Sequence[int] = (),
                   input_splits: Sequence[int] = (), label: str = "") -> None:
        """Chunk i of rank j goes to slot j of rank i.

        Without splits the chunks are even: output and input have the same count, which n divides.
        With them, n counts each, input_splits[i] elements go to rank i and output_splits[j] come
        from rank j: what rank j sends rank i is what rank i expects (else GangError mismatch).
        """
        self._run(self._all_to_all(output, input, output_splits, input_splits, label))

    def start_all_to_all(self, output: object, input: object, *, output_splits: Sequence[int] = (),
                         input_splits: Sequence[int] = (), label: str = "") -> Work:
        """Starts all_to_all, and returns at once."""
        return self._begin(self._all_to_all(output, input, output_splits, input_splits, label),
                           (output, input))

    # -- Broadcasts and barriers --

    def broadcast(self, tensor: object, source_rank: int = 0, *, label: str = "") -> None:
        """Copies the data of `source_rank` to every rank.

        `tensor`: same type and number of elements on every rank.
        """
        self._run(self._broadcast(tensor, source_rank, label))

    def start_broadcast(self, tensor: object, source_rank: int = 0, *, label: str = "") -> Work:
        """Starts broadcast, and returns at once."""
        return self._begin(self._broadcast(tensor, source_rank, label), tensor)

    def broadcast_objects(self, objects: List[object], source_rank: int = 0, *,
                          label: str = "") -> None:
        """Replaces `objects`, in place, by those of `source_rank`; they are pickled.

        All ranks pass the same number of objects.
        """
        is_source = self._member("source_rank", source_rank) == self.rank
        pickles = [pickle.dumps(each) for each in objects] if is_source else []
        sizes = bytearray(struct.pack(f"<{len(objects)}q", *map(len, pickles))
                          if is_source else 8 * len(objects))
        self.broadcast(memoryview(sizes).cast("q") if objects else sizes, source_rank, label=label)
        counts = struct.unpack(f"<{len(objects)}q", sizes)
        data = bytearray(b"".join(pickles) if is_source else sum(counts))
        self.broadcast(data, source_rank, label=label)
        at = 0
        for index, size in enumerate(counts):
            if not is_source:
                objects[index] = pickle.loads(data[at:at + size])
            at += size

    def barrier(self, *, label: str = "") -> None:
        """Returns when all members have arrived."""
        self._run(Operation(self._open(), wire.BARRIER, label=label))

    def start_barrier(self, *, label: str = "") -> Work:
        """Starts barrier, and returns at once."""
        return self._begin(Operation(self._open(), wire.BARRIER, label=label))

    def monitored_barrier(self, timeout: float, report_all: bool = False, *,
                          label: str = "") -> None:
        """A barrier with its own timeout in seconds (> 0).

        If it fails, every rank that arrived gets a GangError timeout that names the missing ranks,
        or only the first of them.
        """
        if timeout <= 0:
            raise InvalidArgument(f"timeout is {timeout} s; must be greater than 0")
        self._run(Operation(self._open(), wire.MONITORED_BARRIER, count=int(timeout * 1e9),
                            label=label, flags=wire.ALL_MISSING if report_all else 0))

    # -- Checked operations --

    def _all_reduce(self, tensor, operation: str, label: str) -> Operation:
        found, code = self._to_reduce(writable(tensor), operation)
        views = (found.view,)
        return Operation(self._open(), wire.ALL_REDUCE, data_type=found.data_type,
                         count=found.count, reduction=code, label=label, inputs=views,
                         outputs=views)

    def _reduce(self, tensor, operation: str, destination_rank: int, label: str) -> Operation:
        is_destination = self._member("destination_rank", destination_rank) == self.rank
        found, code = self._to_reduce((writable if is_destination else tensor_view)(tensor),
                                      operation)
        return Operation(
            self._open(), wire.REDUCE, data_type=found.data_type, count=found.count,
            reduction=code, label=label, peer=destination_rank, inputs=(found.view,),
            outputs=(found.view,) if is_destination else ())

    def _reduce_scatter(self, output, input, operation: str, label: str) -> Operation:
        found, code = self._to_reduce(tensor_view(input), operation)
        target, _ = self._to_reduce(writable(output), operation)
        self._check_counts(target, found, "input", "output")
        return Operation(self._open(), wire.REDUCE_SCATTER, data_type=target.data_type,
                         reduction=code, count=target.count, label=label, inputs=(found.view,),
                         outputs=(target.view,))

    def _scan(self, kind: int, tensor, operation: str, label: str) -> Operation:
        found, code = self._to_reduce(writable(tensor), operation)
        if code == wire.REDUCTIONS["mean"]:
            raise InvalidArgument("mean is not defined for a scan; use sum, and divide")
        gets_nothing = kind == wire.EXCLUSIVE_SCAN and self.rank == 0
        views = (found.view,)
        return Operation(self._open(), kind, data_type=found.data_type, count=found.count,
                         reduction=code, label=label, inputs=views,
                         outputs=() if gets_nothing else views)

    def _all_gather(self, outputs: Sequence, input, label: str,
                    counts: Sequence[int] = ()) -> Operation:
        source = tensor_view(input)
        found = moved(source)
        targets = [moved(writable(output)) for output in outputs]
        if len(targets) > 1:
            targets = [self._alike(target, found) for target in targets]
        whole = targets[0]._replace(count=sum(target.count for target in targets))
        scale = _items_moved(source, writable(outputs[0]))
        first = tuple(scale * count for count in counts)
        if not counts:
            self._check_counts(found, whole, "output", "input")
        elif (len(first) != self.size or min(first) < 0 or sum(first) != whole.count
              or first[self.rank] != found.count or found.data_type != whole.data_type):
            raise InvalidArgument(
                f"counts are {list(counts)}, input has {source.count} elements of {found.name} "
                f"and output {whole.count // scale} of {whole.name}; counts must be {self.size} "
                f"numbers that add up to those of output, counts[{self.rank}] that of input")
        return Operation(self._open(), wire.ALL_GATHER, data_type=found.data_type,
                         count=found.count, label=label, first=first, inputs=(found.view,),
                         outputs=[target.view for target in targets])

    def _gather(self, outputs: Optional[Sequence], input, destination_rank: int,
                label: str) -> Operation:
        found, targets = moved(tensor_view(input)), []
        if self._member("destination_rank", destination_rank) == self.rank:
            self._check_list("outputs", outputs)
            targets = [self._alike(moved(writable(output)), found) for output in outputs]
        return Operation(self._open(), wire.GATHER, data_type=found.data_type, count=found.count,
                         peer=destination_rank, label=label, inputs=(found.view,),
                         outputs=[target.view for target in targets])

    def _scatter(self, output, inputs: Optional[Sequence], source_rank: int,
                 label: str) -> Operation:
        target, sources = moved(writable(output)), []
        if self._member("source_rank", source_rank) == self.rank:
            self._check_list("inputs", inputs)
            sources = [self._alike(moved(tensor_view(each)), target) for each in inputs]
        return Operation(self._open(), wire.SCATTER, data_type=target.data_type,
                         count=target.count, peer=source_rank, label=label,
                         outputs=(target.view,), inputs=[source.view for source in sources])

    def _all_to_all(self, output, input, output_splits: Sequence[int],
                    input_splits: Sequence[int], label: str) -> Operation:
        source, target = tensor_view(input), writable(output)
        if bool(output_splits) != bool(input_splits):
            raise InvalidArgument("only one of output_splits and input_splits is given; "
                                  "give both or none")
        for name, splits, found in (("output_splits", output_splits, target),
                                    ("input_splits", input_splits, source)):
            if splits and (len(splits) != self.size or sum(splits) != found.count):
                raise InvalidArgument(f"{name} are {list(splits)}; they must be {self.size} counts "
                                      f"that add up to {found.count}")
        if not input_splits and (source.count != target.count or source.count % self.size):
            raise InvalidArgument(f"input has {source.count} elements and output {target.count}; "
                                  f"both must have the same number, a multiple of {self.size}")
        scale = _items_moved(source, target)
        source, target = moved(source), moved(target)
        return Operation(
            self._open(), wire.ALL_TO_ALL, data_type=source.data_type, count=source.count,
            label=label, first=tuple(scale * count for count in input_splits),
            inputs=(source.view,), second=tuple(scale * count for count in output_splits),
            outputs=(target.view,))

    def _broadcast(self, tensor, source_rank: int, label: str) -> Operation:
        is_source = self._member("source_rank", source_rank) == self.rank
        found = moved((tensor_view if is_source else writable)(tensor))
        views = (found.view,)
        return Operation(self._open(), wire.BROADCAST, data_type=found.data_type,
                         count=found.count, peer=source_rank, label=label,
                         inputs=views if is_source else (), outputs=() if is_source else views)

    def _to_reduce(self, found: TensorView, operation: str):
        known = _REDUCTIONS.get(operation)
        if known is None:
            raise one_of("the reduction", operation, list(wire.REDUCTIONS))
        return (found if found.data_type is not None else reduced(found, known[0])), known[1]

    def _check_list(self, what: str, tensors: Optional[Sequence]) -> None:
        if tensors is None or len(tensors) != self.size:
            count = "None" if tensors is None else f"{len(tensors)} tensors"
            raise InvalidArgument(f"{what} are {count}; must be {self.size}, one for each rank")

    def _check_counts(self, part: TensorView, whole: TensorView, whole_name: str,
                      part_name: str) -> None:
        if part.data_type != whole.data_type or part.count * self.size != whole.count:
            raise InvalidArgument(
                f"{whole_name} has {whole.count} elements of {whole.name} and {part_name} "
                f"{part.count} of {part.name}; {whole_name} must have {self.size} times as many, "
                "of the same type")

    def _alike(self, found: TensorView, other: TensorView) -> TensorView:
        if found.data_type != other.data_type or found.count != other.count:
            raise InvalidArgument(f"tensors have {found.count} elements of {found.name} and "
                                  f"{other.count} of {other.name}; all must be alike")
        return found
