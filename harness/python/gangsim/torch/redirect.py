"""Makes every process group of torch.distributed gangsim's, whatever backend is asked for.

`install` runs as soon as torch and torch.distributed have been loaded; `prepare`, which takes
longer, when the first group is made.
"""

import functools
import inspect
import multiprocessing.process
import os
import sys
import warnings
import zlib
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

import torch
import torch.distributed as dist

from .. import call_site, process, wire
from ..errors import NotSupported
from . import cuda_as_cpu

_BACKEND = "gangsim"
_installed = False


def install() -> None:
    """Patches torch.distributed in this process. Idempotent."""
    global _installed
    if _installed or not dist.is_available():
        return
    _installed = True
    from torch.distributed import distributed_c10d as c10d
    call_site.skip(os.path.dirname(torch.__file__) + os.sep)
    call_site.skip(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)),
                                "typing_extensions.py"))
    if hasattr(warnings, "deprecated"):  # Python 3.13's, in place of that
        call_site.skip(warnings.deprecated.__call__.__code__.co_filename)
    _replace(c10d, "_new_process_group_helper", _group_maker)
    _replace(c10d, "rendezvous", _rendezvous)
    _replace(c10d, "_store_based_barrier", _barrier)
    _replace(c10d, "init_process_group", _initializer)
    _replace(c10d, "destroy_process_group", _destroyer)
    if hasattr(c10d, "split_group"):
        _replace(c10d, "split_group", _splitter)
    if hasattr(c10d, "_create_shrunk_process_group"):
        _replace(c10d, "_create_shrunk_process_group", _shrunk_maker)
    if cuda_as_cpu.is_asked_for() and _batches_by_device(c10d):
        _replace(c10d, "batch_isend_irecv", _batcher)
    for name in ("TCPStore", "FileStore"):
        _put(getattr(dist, name), _store_class(name, getattr(dist, name)))
    _stand_in_for_nccl(c10d)
    _tell_of_children()
    process.explain_with(cuda_as_cpu.hint)
    if process.is_rank():
        process.hook_exceptions()


@functools.lru_cache(maxsize=None)
def prepare() -> None:
    """Registers the backend, and lets futures and backward passes tell who waits. Idempotent."""
    from . import backward, future, group_making, reducer
    backward.install()
    future.install()
    reducer.install()
    devices = {} if _is_first_generation() else {"devices": ["cpu", "cuda"]}
    dist.Backend.register_backend(_BACKEND, group_making.create, extended_api=True, **devices)


def refuse_rpc() -> None:
    """Makes init_rpc say that there is no RPC here."""

    def init_rpc(*_, **__):
        raise NotSupported("torch.distributed.rpc opens connections of its own, which gangsim does "
                           "not simulate: it simulates process groups and stores")

    sys.modules["torch.distributed.rpc"].init_rpc = init_rpc


def _tell_of_children() -> None:
    """Ranks that multiprocessing starts tell what ends them: their exceptions go to no hook."""
    spawn = sys.modules["torch.multiprocessing.spawn"]
    wrap = spawn._wrap
    spawn._wrap = functools.wraps(wrap)(
        lambda function, *arguments: wrap(process.told(function), *arguments))
    multiprocessing.process.BaseProcess.run = process.told(
        multiprocessing.process.BaseProcess.run)


def _is_first_generation() -> bool:
    return torch.__version__.startswith("1.")


def _replace(module, name: str, make) -> None:
    """Puts make(original) in the place of a function, wherever it was imported to."""
    original = getattr(module, name)
    _put(original, functools.wraps(original)(make(original)))


def _put(original, replacement) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.distributed") and module is not None:
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, replacement)


def _group_maker(original):
    """Makes our group, and lets get_backend still name what was asked for."""
    signature = inspect.signature(original)

    def make(*arguments, **named):
        prepare()
        from . import group_making, process_group
        bound = signature.bind(*arguments, **named)
        given = bound.arguments
        asked = given["backend"]
        given["backend"] = _BACKEND
        for name in ("pg_options", "backend_options", "device_id"):
            if name in given:
                given[name] = None
        ranks = list(given["global_ranks_in_group"])
        if ranks:
            _tell_of_group(given.get("group_name") or _next_name(),
                           group_making.ranks_of_run(ranks))
        description = given.get("group_desc")
        named_by_user = description not in (None, "undefined", "default_pg")
        with group_making.asking(role=description if named_by_user else "",
                                 backend="" if asked is None else str(asked)):
            made = original(*bound.args, **bound.kwargs)
        group = made[0] if isinstance(made, tuple) else made
        if isinstance(group, process_group.ProcessGroup):
            _rename(group, asked)
        return made

    return make


def _next_name() -> str:
    """The name that PyTorch 1 gives the next group."""
    from torch.distributed import distributed_c10d as c10d
    return str(c10d._group_count)


def _rename(group, asked) -> None:
    from torch.distributed import distributed_c10d as c10d
    world = getattr(c10d, "_world", None)
    groups = c10d._pg_map if world is None else world.pg_map
    groups[group] = (asked, groups[group][1])
    if world is not None and hasattr(world, "pg_backend_config"):
        world.pg_backend_config[group] = str(c10d.BackendConfig(c10d.Backend(asked)))


def _tell_of_group(name: str, ranks) -> None:
    """All ranks tell of all groups: whether they make them in one order is compared."""
    process.connection().say(wire.new_group(process.identity().inits, name, ranks,
                                            call_site.here()))


def _rendezvous(original):
    """Yields our store; the rank and the world size are those of the run."""

    def meet(url, rank=-1, world_size=-1, **_):
        from . import store
        query = {key: int(values[-1]) for key, values in parse_qs(urlparse(url).query).items()
                 if values[-1].lstrip("-").isdigit()}
        rank, world_size = query.get("rank", rank), query.get("world_size", world_size)
        if rank in (-1, None):
            rank = process.identity().rank
        if world_size in (-1, None):
            world_size = process.identity().world_size
        store.become(rank, world_size)
        yield store.RendezvousStore(), rank, world_size

    return meet


def _barrier(original):
    """PyTorch's barrier polls the store; ours is one call, so that it is known who waits."""

    def wait(rank, store, *_, **__):
        from torch.distributed import distributed_c10d as c10d
        group = c10d._get_default_group()
        if hasattr(group, "labelled_barrier"):
            group.labelled_barrier("new_group")

    return wait


def _initializer(original):
    """Waits for all ranks after the first group is made, as the backends do that connect them."""

    def initialize(*arguments, **named):
        if process.SOCKET in os.environ and not process.is_simulated():
            process.connection()  # raises: a forked process is not a rank
        hook = sys.excepthook
        result = original(*arguments, **named)
        if process.has_thread_ranks():
            sys.excepthook = hook  # PyTorch's names one rank, and is the process's
        if not _is_first_generation():  # PyTorch 1 waits by itself
            from torch.distributed import distributed_c10d as c10d
            c10d._get_default_group().labelled_barrier("init_process_group")
        return result

    return initialize


def _destroyer(original):
    """Closes what is destroyed."""

    def destroy(group=None):
        from torch.distributed import distributed_c10d as c10d
        world = getattr(c10d, "_world", None)
        groups = list(c10d._pg_map if world is None else world.pg_map)
        if group is not None and group is not dist.group.WORLD:
            groups = [group]
        original(group)
        for each in groups:
            if hasattr(each, "closed_by_program"):
                each.closed_by_program()

    return destroy


def _splitter(original):
    """split_group for any group: PyTorch's needs NCCL and a device."""

    def split(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None,
              **_):
        from . import group_making
        if not split_ranks:
            raise ValueError("split_ranks is missing: give a list of lists of ranks")
        parent = parent_pg or dist.group.WORLD
        own = dist.get_rank(parent)
        # PyTorch's name depends on how many groups this rank has, which may differ from the others.
        with group_making.asking(name=parent.name_of_split()):
            for ranks in split_ranks:
                if own in ranks:
                    members = [dist.get_global_rank(parent, rank) for rank in sorted(ranks)]
                    return dist.new_group(members, timeout=timeout, group_desc=group_desc,
                                          use_local_synchronization=True)
        return None

    return split


def _shrunk_maker(original):
    """For shrink_group: what the old group made is the new group already, not a backend of it."""

    def make(made, _remaining_ranks, metadata, is_default_group):
        made._set_group_name(metadata["new_group_name"])
        made._set_group_desc("default:shrunken" if is_default_group else
                             f"{metadata['original_group_name']}:shrunk")
        return made

    return make


def _batches_by_device(c10d) -> bool:
    """Whether this PyTorch makes one work of a batch of messages where the tensors are on a GPU.

    Newer ones go by what the group supports.
    """
    code = inspect.unwrap(c10d.batch_isend_irecv).__code__
    return not _is_first_generation() and "supports_coalescing" not in code.co_consts


def _batcher(original):
    """One work of a batch of messages in a group with NCCL, although the tensors are the CPU's."""
    from torch.distributed import distributed_c10d as c10d

    def batch(p2p_op_list):
        c10d._check_p2p_op_list(p2p_op_list)
        group = p2p_op_list[0].group or dist.group.WORLD
        if group._get_backend_name() != "nccl":
            return original(p2p_op_list)
        with c10d._coalescing_manager(group, torch.device("cpu"), async_ops=True) as block:
            original(p2p_op_list)
        return block.works

    return batch


def _store_class(name: str, original):
    """A class that makes our store in a process that knows its rank, otherwise PyTorch's.

    A launcher and its agents keep what they need among themselves.
    """
    takes_libuv = "use_libuv" in (original.__init__.__doc__ or "")

    class Chosen(type):
        def __call__(cls, *arguments, **named):
            if process.is_simulated() and process.is_rank():
                from . import store
                return getattr(store, name)(*arguments, **named)
            if takes_libuv:  # not every build has it
                named["use_libuv"] = False
            return original(*arguments, **named)

        def __instancecheck__(cls, instance):
            from . import store
            return isinstance(instance, (original, getattr(store, name)))

    return Chosen(name, (), {"__doc__": original.__doc__})


def _stand_in_for_nccl(c10d) -> None:
    """Scripts that ask for NCCL find its names."""
    c10d.is_nccl_available = dist.is_nccl_available = lambda: True
    if not hasattr(torch._C, "_nccl_version"):  # PyTorch logs it with any error of a group
        torch.cuda.nccl.version = lambda: (2, 21, 5)
    native = torch._C._distributed_c10d
    if not hasattr(native, "_hash_tensors"):  # logged at the debug level DETAIL
        native._hash_tensors = lambda tensors: zlib.crc32(
            b"".join(tensor.clone().numpy().tobytes() for tensor in tensors))
    if hasattr(c10d, "ProcessGroupNCCL"):
        return

    class ProcessGroupNCCL:
        """Stands in for NCCL's; no process group is one."""

        class Options:
            is_high_priority_stream = False

            def __init__(self, *_, **named):
                self.__dict__.update(named)

    c10d.ProcessGroupNCCL = dist.ProcessGroupNCCL = ProcessGroupNCCL
    if getattr(c10d, "default_pg_nccl_timeout", 0) is None:
        c10d.default_pg_nccl_timeout = timedelta(minutes=10)
