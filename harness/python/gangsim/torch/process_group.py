"""The process group that torch.distributed calls: every operation is one of gangsim's.

A Python subclass of ProcessGroup is the one form that PyTorch 1.13 to 2.14 all accept. Methods are
named as PyTorch's Python and C++ callers name them, old names and new.
"""

import sys
from typing import List, Optional, Sequence

import torch
from torch.distributed import distributed_c10d as c10d

from .. import call_site, process, wire
from ..errors import Error, InvalidArgument, InvalidOperation, NotSupported
from ..operation import Operation
from . import coalescing, group_making, sizes, sparse, timeouts
from .calls import is_blocking_call, method_called_by
from .errors import as_torch
from .group_making import making
from .reductions import reduces, reduction_name
from .tensors import Piece, type_to_move, type_to_reduce
from .work import Work, run

# Methods that are called by further names, by the name that their code has.
_OTHER_NAMES = {
    "allreduce": ("allreduce_coalesced",), "_reduce_scatter_base": ("reduce_scatter_single",),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter_single_coalesced",),
    "_allgather_base": ("all_gather_single",), "alltoall_base": ("all_to_all_single",),
    "allgather_into_tensor_coalesced": ("all_gather_single_coalesced",)}


class ProcessGroup(c10d.ProcessGroup):
    """The gang of `ranks` (ranks of the run), of which this process is member `rank`."""

    supports_splitting = False
    bound_device_id = None

    def __init__(self, name: str, rank: int, ranks: Sequence[int], timeout_ns: int):
        super().__init__(rank, len(ranks))
        own = process.identity()
        self._name, self._rank, self._size = name, rank, len(ranks)
        self._ranks, self._timeout_ns = tuple(ranks), timeout_ns
        self._description = ""
        self._splits = 0
        self._destroyed_at = b""
        self._backend = getattr(making, "backend", "")
        self._open_block: Optional[List[Work]] = None
        is_root = self._ranks == tuple(range(own.world_size)) and not own.has_root
        self._number = 0 if is_root else next(own.numbers)
        place = call_site.here()
        if is_root:
            own.has_root = True
            process.connection()
            if timeout_ns != timeouts.to_ns(None):  # which gangsim assumes
                self._ask(wire.group(0, "", "", (), timeout_ns, place))
        else:
            role = getattr(making, "role", "") or f"group:{call_site.line_of(place)}"
            self._ask(wire.group(self._number, name, role, ranks, timeout_ns, place))

    # -- What PyTorch asks about a group --

    def size(self) -> int:
        return self._size

    def rank(self) -> int:
        return self._rank

    def name(self) -> str:
        return "gangsim"  # PyTorch's C++ takes others for its own classes

    def _get_backend_name(self) -> str:
        return sizes.backend_of_tensors(self._backend)

    getSize, getRank, getBackendName = size, rank, name

    def rank_of_run(self, rank: int) -> int:
        return self._ranks[rank]

    @property
    def _is_nccl(self) -> bool:
        """Of batches of messages, NCCL makes one work; of groups, only its can be shrunk."""
        return self._get_backend_name() == "nccl"

    supports_coalescing = supports_shrinking = _is_nccl

    def getGroupName(self) -> str:
        return self._name

    group_name = pg_name = property(getGroupName)

    @property
    def group_desc(self) -> str:
        return self._description

    @property
    def _device_types(self) -> List[torch.device]:
        return [torch.device("cpu")]

    def _set_group_name(self, name: str) -> None:
        self._name = name

    setGroupName = _set_group_name

    def name_of_split(self) -> str:
        """The same on all members that split this group: it counts."""
        self._splits += 1
        return f"{self._name}/split {self._splits}"

    def shrink(self, excluded: Sequence[int], flags: int = 0, _=None) -> "ProcessGroup":
        """The group of the members that are not excluded. Only those call it."""
        if flags:  # SHRINK_ABORT
            self.abort()
        remaining = [rank for index, rank in enumerate(self._ranks) if index not in excluded]
        own = remaining.index(self._ranks[self._rank])
        with group_making.asking(role="shrunk", backend=self._backend):
            return ProcessGroup(f"{self._name}/without {list(excluded)}", own, remaining,
                                self._timeout_ns)

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def _get_backend(self, device) -> "ProcessGroup":
        return self

    def _set_sequence_number_for_group(self) -> None:
        """The conductor counts."""

    def _get_sequence_number_for_group(self) -> int:
        return 0

    def _has_hooks(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<gangsim process group {self._name} of ranks {list(self._ranks)}>"

    def shutdown(self, *_) -> None:
        """Nothing runs in the background."""

    def closed_by_program(self) -> None:
        """Closes this rank's side; the gang of all ranks stays, for a later init_process_group."""
        if self._number and not self._destroyed_at:
            process.connection().say(wire.close(self._number))
            self._destroyed_at = call_site.here()

    def abort(self, *_) -> None:
        if not self._destroyed_at:
            process.connection().say(wire.abort(self._number))

    # -- Reductions --

    def allreduce(self, tensors, opts=None) -> Work:
        tensors = _as_list(tensors)
        try:
            return self._reduction(wire.ALL_REDUCE, tensors, opts)
        except NotSupported:
            if tensors[0].layout is not torch.sparse_coo:
                raise
        return self._sum_of_sparse(tensors, opts)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, opts) -> Work:
        return self._reduction(wire.REDUCE, _as_list(tensors), opts, root=opts.rootRank)

    def reduce_scatter(self, outputs, input_lists, opts=None) -> Work:
        outputs = _as_list(outputs)
        lists = input_lists if isinstance(input_lists[0], (list, tuple)) else [input_lists]
        return self._reduce_scatter(outputs, lists, opts)

    def _reduce_scatter_base(self, output, input, opts=None) -> Work:
        return self._reduce_scatter([output], [[input]], opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None) -> Work:
        return self._reduce_scatter(outputs, [[each] for each in inputs], opts)

    reduce_scatter_single, reduce_scatter_single_coalesced = (
        _reduce_scatter_base, reduce_scatter_tensor_coalesced)

    # -- Gathers and scatters --

    def allgather(self, output_lists, inputs, opts=None) -> Work:
        inputs = _as_list(inputs)
        lists = output_lists if isinstance(output_lists[0], (list, tuple)) else [output_lists]
        return self._all_gather(lists, inputs, output_lists)

    def allgather_coalesced(self, output_lists, inputs, opts=None) -> Work:
        per_input = [[outputs[index] for outputs in output_lists] for index in range(len(inputs))]
        return self._all_gather(per_input, inputs, output_lists)

    def _allgather_base(self, output, input, opts=None) -> Work:
        return self._all_gather([[output]], [input], [output])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None) -> Work:
        return self._all_gather([[each] for each in outputs], inputs, list(outputs))

    all_gather_single, all_gather_single_coalesced = (
        _allgather_base, allgather_into_tensor_coalesced)

    def gather(self, output_lists, inputs, opts) -> Work:
        inputs = _as_list(inputs)
        is_root = opts.rootRank == self._rank
        outputs = list(output_lists[0]) if is_root else []
        if is_root and len(outputs) != self._size:
            raise InvalidArgument(f"gather into {len(outputs)} tensors; must be {self._size}, one "
                                  "for each rank")
        return self._move(wire.GATHER, inputs, outputs, root=opts.rootRank, counted=inputs)

    def gather_single(self, output, input, opts) -> Work:
        is_root = opts.rootRank == self._rank
        return self._move(wire.GATHER, [input], [output] if is_root else [], root=opts.rootRank,
                          counted=[input])

    def scatter(self, outputs, input_lists, opts) -> Work:
        outputs = _as_list(outputs)
        is_root = opts.rootRank == self._rank
        inputs = list(input_lists[0]) if is_root else []
        if is_root and len(inputs) != self._size:
            raise InvalidArgument(f"scatter of {len(inputs)} tensors; must be {self._size}, one "
                                  "for each rank")
        return self._move(wire.SCATTER, inputs, outputs, root=opts.rootRank, counted=outputs)

    def alltoall_base(self, output, input, output_splits=(), input_splits=(), opts=None) -> Work:
        rows = {}
        for name, tensor, splits in (("output", output, output_splits),
                                     ("input", input, input_splits)):
            extent = tensor.shape[0] if tensor.dim() else 1
            if not splits and extent % self._size:
                raise InvalidArgument(f"all_to_all {name} has {extent} rows, which {self._size} "
                                      "ranks do not divide evenly")
            splits = list(splits) or [extent // self._size] * self._size
            if len(splits) != self._size or sum(splits) != extent:
                raise InvalidArgument(f"all_to_all {name} splits are {splits}; they must be "
                                      f"{self._size} numbers that add up to {extent}")
            row = tensor.numel() // extent if extent else 0
            rows[name] = [row * count for count in splits]
        return self._all_to_all([output], [input], rows["output"], rows["input"])

    all_to_all_single = alltoall_base

    def alltoall(self, outputs, inputs, opts=None) -> Work:
        return self._all_to_all(outputs, inputs, [each.numel() for each in outputs],
                                [each.numel() for each in inputs])

    # -- Broadcasts, barriers and messages --

    def broadcast(self, tensors, opts=None) -> Work:
        tensors = _as_list(tensors)
        root = opts if isinstance(opts, int) else getattr(opts, "rootRank", 0)
        is_root = root == self._rank
        return self._move(wire.BROADCAST, tensors if is_root else [], [] if is_root else tensors,
                          root=root, counted=tensors, value=tensors)

    def barrier(self, opts=None) -> Work:
        return self._perform([Operation(self._number, wire.BARRIER)], [], [], [])

    def monitored_barrier(self, timeout=None, wait_all_ranks: bool = False) -> None:
        self._check_exists()
        run([Operation(self._number, wire.MONITORED_BARRIER, count=timeouts.to_ns(timeout),
                       flags=wire.ALL_MISSING if wait_all_ranks else 0)], [])

    def labelled_barrier(self, label: str) -> None:
        """A barrier that reports call `label`."""
        run([Operation(self._number, wire.BARRIER, label=label)], [])

    def send(self, tensors, dst: int, tag: int = 0) -> Work:
        tensors = _as_list(tensors)
        return self._move(wire.SEND, tensors, [], root=dst, tag=tag, counted=tensors)

    def recv(self, tensors, src: int, tag: int = 0) -> Work:
        tensors = _as_list(tensors)
        return self._move(wire.RECV, [], tensors, root=src, tag=tag, counted=tensors)

    def recv_anysource(self, tensors, tag: int = 0) -> Work:
        tensors = _as_list(tensors)
        return self._move(wire.RECV, [], tensors, tag=tag, counted=tensors, flags=wire.FROM_ANY)

    # -- Coalescing --

    def _start_coalescing(self, device=None) -> None:
        self._open_block = []

    def _end_coalescing(self, requests=None) -> Optional[Work]:
        """One Work for the block; none where PyTorch 1 gives a list and waits for each."""
        works, self._open_block = self._open_block or [], None
        if isinstance(requests, list):
            return None
        together = Work([tensor for work in works for tensor in work._value])
        together.adopt(works)
        return together

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing

    # -- Operations --

    def _reduction(self, kind: int, tensors: List[torch.Tensor], opts, root: int = 0) -> Work:
        pieces = [Piece(tensor) for tensor in tensors]
        reduction = reduction_name(opts, pieces[0].kind, self._backend)
        data_type, scale = type_to_reduce(pieces, reduction)
        views = [piece.view for piece in pieces]
        has_output = kind == wire.ALL_REDUCE or root == self._rank
        operation = Operation(
            self._number, kind, data_type=data_type, reduction=wire.REDUCTIONS[reduction],
            peer=root, count=scale * sum([piece.count for piece in pieces]), inputs=views,
            outputs=views if has_output else ())
        return self._perform([operation], pieces if has_output else [], pieces, tensors)

    def _sum_of_sparse(self, tensors: List[torch.Tensor], opts) -> Work:
        if reduction_name(opts, tensors[0].dtype, self._backend) != "sum":
            raise NotSupported("sparse tensors can only be summed; pass tensor.to_dense()")
        for tensor in tensors:
            sparse.sum_in_place(self, tensor)
        work = Work(tensors)
        work.keep_for_cpp()
        return work

    def _reduce_scatter(self, outputs, input_lists, opts) -> Work:
        operations, in_pieces, targets = [], [], [Piece(output) for output in outputs]
        for target, inputs in zip(targets, input_lists):
            sources = [Piece(each) for each in inputs]
            reduction = reduction_name(opts, target.kind, self._backend)
            data_type, scale = type_to_reduce([target, *sources], reduction)
            named = {"data_type": data_type, "reduction": wire.REDUCTIONS[reduction]}
            if sizes.are_scattered_unevenly(sources, target, self._rank, self._size, self._backend):
                operations += reduces(self._number, self._rank, sources, target, scale, named)
            else:
                operations.append(Operation(
                    self._number, wire.REDUCE_SCATTER, count=scale * target.count, **named,
                    inputs=[piece.view for piece in sources], outputs=[target.view]))
            in_pieces += sources
        return self._perform(operations, targets, in_pieces, list(outputs))

    def _all_gather(self, output_lists, inputs, value) -> Work:
        operations, out_pieces, in_pieces = [], [], []
        for outputs, input in zip(output_lists, inputs):
            source, targets = Piece(input), [Piece(each) for each in outputs]
            data_type, scale = type_to_move([source, *targets])
            counts = sizes.gathered_counts(targets, source, self._rank, self._size, self._backend)
            operations.append(Operation(
                self._number, wire.ALL_GATHER, data_type=data_type, count=scale * source.count,
                first=tuple(scale * count for count in counts), inputs=[source.view],
                outputs=[piece.view for piece in targets]))
            out_pieces += targets
            in_pieces.append(source)
        return self._perform(operations, out_pieces, in_pieces, value)

    def _all_to_all(self, outputs, inputs, output_counts, input_counts) -> Work:
        sources, targets = [Piece(each) for each in inputs], [Piece(each) for each in outputs]
        data_type, scale = type_to_move([*sources, *targets])
        operation = Operation(
            self._number, wire.ALL_TO_ALL, data_type=data_type, count=scale * sum(input_counts),
            first=tuple(scale * count for count in input_counts),
            second=tuple(scale * count for count in output_counts),
            inputs=[piece.view for piece in sources], outputs=[piece.view for piece in targets])
        return self._perform([operation], targets, sources, list(outputs))

    def _move(self, kind: int, inputs, outputs, *, counted, root: int = 0, tag: int = 0,
              flags: int = 0, value: Optional[List] = None) -> Work:
        sources, targets = [Piece(each) for each in inputs], [Piece(each) for each in outputs]
        data_type, scale = type_to_move([*sources, *targets])
        operation = Operation(
            self._number, kind, data_type=data_type, peer=root, tag=tag, flags=flags,
            count=scale * sum(each.numel() for each in counted),
            inputs=[piece.view for piece in sources], outputs=[piece.view for piece in targets])
        return self._perform([operation], targets, sources, list(outputs) if value is None
                             else value)

    def _perform(self, operations: List[Operation], outputs: List[Piece], guarded: List[Piece],
                 value: List) -> Work:
        self._check_exists()
        caller = sys._getframe(2)
        while caller.f_code.co_filename == __file__:
            caller = caller.f_back
        coalescing.check(self, operations)
        if self._open_block is None and is_blocking_call(caller):
            return Work(value, run(operations, outputs))
        work = Work(value)
        work.start(operations, outputs, guarded)
        if self._open_block is not None:
            self._open_block.append(work)
        names, method = caller.f_code.co_names, method_called_by(caller)
        if method not in names and not any(name in names for name in _OTHER_NAMES.get(method, ())):
            work.keep_for_cpp()
        return work

    def _check_exists(self) -> None:
        if self._destroyed_at:
            raise InvalidOperation(f"process group {self._name} of ranks {list(self._ranks)} was "
                                   f"destroyed at {call_site.text_of(self._destroyed_at)}")

    def _ask(self, frame: bytes) -> None:
        try:
            process.connection().ask(frame)
        except Error as error:
            raise as_torch(error) from None


def _as_list(tensors) -> List[torch.Tensor]:
    return tensors if isinstance(tensors, (list, tuple)) else [tensors]
