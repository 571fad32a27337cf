"""Lets a script that was written for GPUs run without one: `cuda` devices mean the CPU.

Asked for with `gangsim torch --cuda-as-cpu`. Calls that name a CUDA device get the CPU instead;
streams, events and memory statistics are empty. What is moved to the CPU is copied, as from a GPU.
It cannot run CUDA or Triton kernels or flash attention, nor make `tensor.is_cuda` true; GradScaler
is disabled, and half-precision autocast is bfloat16.
"""

import contextlib
import functools
import importlib.util
import os
import threading
import types

import torch

from . import streams, sync_batch_norm

VARIABLE = "GANGSIM_CUDA_AS_CPU"  # the number of devices of a process that is not a rank

# What PyTorch says where it is built without CUDA, or finds no GPU.
_COMPLAINTS = ("not compiled with CUDA", "_cuda_", "NVIDIA driver", "CUDA GPUs", "CUDA driver",
               "requires CUDA", "when CUDA is available", "from the 'CUDA' backend",
               "Cannot access accelerator device")
_MEMORY_BYTES = 1 << 36
_mode = None


def is_asked_for() -> bool:
    return bool(os.environ.get(VARIABLE))


def hint(error: BaseException) -> str:
    """What to do about an error of a script that wants CUDA; "" for any other error."""
    if is_asked_for() or not any(complaint in str(error) for complaint in _COMPLAINTS):
        return ""
    return "`gangsim torch --cuda-as-cpu` runs scripts that ask for CUDA devices on the CPU"


def install() -> None:
    """Takes `cuda` to mean the CPU in this process. Idempotent; needs all of PyTorch."""
    global _mode
    if _mode is not None:
        return
    _replace_cuda()
    _replace_accelerator()
    _replace_constructors()
    sync_batch_norm.install()
    mode_class = _mode_class()
    _mode = mode_class()
    _mode.__enter__()
    variable = torch.autograd.Variable
    variable._execution_engine = _EngineWithin(mode_class, variable._execution_engine)
    _wrap(threading.Thread, "_bootstrap_inner", lambda original: lambda thread: (
        _run_within(mode_class(), original, thread)))


def _run_within(mode, function, argument):
    """A mode is one thread's: this is for the others, such as a DataLoader's that pins memory."""
    with mode:
        return function(argument)


class _EngineWithin:
    """Autograd's engine. A mode is off while it handles a call, as `loss.backward()` is, whose
    hooks and recomputed parts make and move tensors, too."""

    def __init__(self, mode_class, engine):
        self._mode_class, self._engine = mode_class, engine

    def run_backward(self, *arguments, **named):
        with self._mode_class():
            return self._engine.run_backward(*arguments, **named)

    def __getattr__(self, name: str):
        return getattr(self._engine, name)


def _cpu(device):
    """The CPU for a CUDA device, anything else as it is."""
    if isinstance(device, torch.device):
        return torch.device("cpu") if device.type == "cuda" else device
    if isinstance(device, str) and device.split(":")[0] == "cuda":
        return "cpu"
    return device


def _cpu_or_index(device):
    """The same where a number names a GPU."""
    is_index = isinstance(device, int) and not isinstance(device, bool)
    return "cpu" if is_index else _cpu(device)


def _named_gpu(device):
    """A GPU that is given by its number, as a device; anything else as it is."""
    is_index = isinstance(device, int) and not isinstance(device, bool)
    return torch.device("cuda", device) if is_index else device


def _names_cpu(values) -> bool:
    """Whether a tensor is to be moved to the CPU itself, from what would be a GPU."""
    return any(isinstance(value, (str, torch.device)) and str(value).split(":")[0] == "cpu"
               for value in values)


def _mode_class():
    from torch.overrides import TorchFunctionMode

    class CudaAsCpu(TorchFunctionMode):
        """Sees every call that makes or moves a tensor in this thread."""

        def __torch_function__(self, function, types, arguments=(), named=None):
            named = named or {}
            if function is torch.device:  # of a number, PyTorch 2 asks for a GPU
                return function(*map(_named_gpu, arguments[:1]), *arguments[1:],
                                **{key: _named_gpu(value) if key == "device" else value
                                   for key, value in named.items()})
            name = getattr(function, "__name__", "")
            if name in ("cuda", "pin_memory") and arguments:
                return arguments[0]
            if name == "cpu" and arguments:
                return arguments[0].clone(**named)
            if name == "type":
                return _type(function, *arguments, **named)
            if name == "to":
                if _names_cpu([*arguments[1:], named.get("device")]):
                    named = {**named, "copy": True}  # as from a GPU
                arguments = (arguments[0], *map(_cpu_or_index, arguments[1:]))
            if "device" in named and name != "_parse_to":  # Module.to's, which then calls `to`
                named = {**named, "device": _cpu_or_index(named["device"])}
            if named.get("pin_memory"):
                named = {**named, "pin_memory": False}
            return function(*arguments, **named)

    return CudaAsCpu


def _type(function, tensor, dtype=None, *rest, **named):
    """Of a tensor as of a GPU's: "torch.cuda.FloatTensor"; or the tensor in another type."""
    if isinstance(dtype, str):
        dtype = dtype.replace("torch.cuda.", "torch.")
    result = function(tensor, dtype, *rest, **named)
    return result.replace("torch.", "torch.cuda.") if isinstance(result, str) else result


def _replace_cuda() -> None:
    cuda, current = torch.cuda, [0]

    def set_device(device) -> None:
        index = device if isinstance(device, int) else torch.device(device).index or 0
        if index >= 0:  # as with a GPU, nothing happens otherwise
            current[0] = index

    for value, names in (
            (None, ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "init",
                    "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect",
                    "_lazy_init", "set_per_process_memory_fraction", "_sleep",
                    "reset_accumulated_memory_stats", "set_sync_debug_mode")),
            (0, ("memory_allocated", "max_memory_allocated", "memory_reserved",
                 "max_memory_reserved", "get_sync_debug_mode", "utilization", "memory_usage")),
            (1.0, ("get_per_process_memory_fraction",)),
            (False, ("is_current_stream_capturing",)),
            (True, ("is_available", "is_initialized", "is_bf16_supported",
                    "can_device_access_peer"))):
        for name in names:
            setattr(cuda, name, _returning(value))
    for name in ("_record_memory_history", "_dump_snapshot"):
        setattr(cuda.memory, name, _returning(None))
    cuda.memory_snapshot = cuda.memory._snapshot = lambda *_, **__: []
    cuda.profiler.start = cuda.profiler.stop = _returning(None)
    cuda.cudart = lambda: types.SimpleNamespace(
        cudaProfilerStart=_returning(0), cudaProfilerStop=_returning(0))
    cuda.initial_seed, cuda.seed, cuda.seed_all = torch.initial_seed, torch.seed, torch.seed
    cuda.default_generators = (torch.default_generator,) * _device_count()
    torch.version.cuda = torch.version.cuda or "12.4"  # DDP's bf16_compress_hook asks for it
    cuda.device_count = _device_count
    cuda.current_device, cuda.set_device = lambda: current[0], set_device
    cuda.get_device_name = lambda *_: "the CPU as CUDA"
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_properties = lambda *_: types.SimpleNamespace(
        name="the CPU as CUDA", major=9, minor=0, total_memory=_MEMORY_BYTES,
        multi_processor_count=1)
    cuda.mem_get_info = lambda *_: (_MEMORY_BYTES, _MEMORY_BYTES)
    cuda.memory_stats = lambda *_: {}
    cuda.memory_summary = lambda *_, **__: ""
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        setattr(cuda.nvtx, name, _returning(None))
    cuda.nvtx.range = lambda *_, **__: contextlib.nullcontext()
    cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    cuda.set_rng_state = lambda new_state, *_, **__: torch.set_rng_state(new_state)
    cuda.get_rng_state_all = lambda: [torch.get_rng_state()] * _device_count()
    cuda.set_rng_state_all = lambda new_states: torch.set_rng_state(new_states[0])
    for name in dir(cuda):  # FloatTensor and the like
        if name.endswith("Tensor") and hasattr(torch, name):
            setattr(cuda, name, getattr(torch, name))
    for place in (cuda, torch, getattr(torch, "cpu", cuda)):  # FSDP takes those of its device
        for kind in (streams.Stream, streams.Event):
            if hasattr(place, kind.__name__):
                setattr(place, kind.__name__, kind)
    cuda.current_stream, cuda.default_stream = streams.current, lambda *_: streams.DEFAULT
    cuda.set_stream = streams.set_current
    cuda.StreamContext = streams.StreamContext
    cuda.stream = lambda stream: streams.StreamContext(stream)
    if hasattr(torch, "cpu"):
        torch.cpu.current_stream = lambda *_: streams.current()
    cuda.device = _DeviceContext
    for part in (cuda.random, cuda.memory):  # where these functions are from
        for name in list(vars(part)):
            if hasattr(cuda, name) and not name.startswith("__"):
                setattr(part, name, getattr(cuda, name))


class _DeviceContext:
    """`with torch.cuda.device(d)`: the current device is `d`, or remains if that is None."""

    def __init__(self, device=None):
        self.device, self._before = device, []

    def __enter__(self) -> None:
        self._before.append(torch.cuda.current_device())
        if self.device is not None:
            torch.cuda.set_device(self.device)

    def __exit__(self, *_) -> None:
        torch.cuda.set_device(self._before.pop())


def _device_count() -> int:
    """One for each rank: a script may also start a rank for each."""
    return int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get(VARIABLE) or 1)


def _replace_accelerator() -> None:
    """What newer scripts ask in place of torch.cuda: CUDA is the accelerator."""
    accelerator, cuda = getattr(torch, "accelerator", None), torch.cuda
    if accelerator is None:
        return
    replacements = {
        "is_available": _returning(True),
        "device_count": lambda: cuda.device_count(),
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "current_stream": lambda *_: streams.current(),
        "set_stream": lambda stream: streams.set_current(stream),
        "synchronize": _returning(None),
        "device_index": _DeviceContext,
        "empty_cache": _returning(None),
        "empty_host_cache": _returning(None),
        "get_device_capability": lambda *_: {"supported_dtypes": {
            value for value in vars(torch).values() if isinstance(value, torch.dtype)}},
        "reset_peak_memory_stats": _returning(None),
        "reset_accumulated_memory_stats": _returning(None),
        "memory_stats": lambda *_: {},
        "get_memory_info": lambda *_: (_MEMORY_BYTES, _MEMORY_BYTES),
        **{name: lambda: cuda.current_device()
           for name in ("current_device_index", "current_device_idx")},
        **{name: lambda device, /: cuda.set_device(device)
           for name in ("set_device_index", "set_device_idx")},
        **{name: _returning(0) for name in ("memory_allocated", "max_memory_allocated",
                                            "memory_reserved", "max_memory_reserved")}}
    for name, replacement in replacements.items():
        if hasattr(accelerator, name):
            setattr(accelerator, name, replacement)


def _returning(value):
    """A function of its own for each name: torch.compile refuses one with two names."""
    return lambda *_, **__: value


def _replace_constructors() -> None:
    """Those that take a device and are no torch functions."""
    torch.Tensor.record_stream = _returning(None)  # takes no stream but PyTorch's
    module = torch.nn.Module
    _wrap(module, "cuda", lambda original: lambda self, device=None: self)
    _wrap(module, "to", lambda original: lambda self, *arguments, **named: original(
        self, *map(_named_gpu, arguments),
        **{name: _named_gpu(value) if name == "device" else value
           for name, value in named.items()}))
    _wrap(torch, "load", lambda original: lambda file, map_location="cpu", *rest, **named: original(
        file, _cpu(map_location), *rest, **named))
    torch.Generator = _cpu_generators(torch.Generator)
    _wrap(torch.autograd.profiler.profile, "__init__", _on_cpu_profiler)
    _wrap(torch.autocast, "__init__", _on_cpu_autocast)
    for amp in (torch.cuda.amp, getattr(torch, "amp", None)):
        if hasattr(amp, "GradScaler"):
            _wrap(amp.GradScaler, "__init__", _disabled)

    from torch.nn.parallel import DistributedDataParallel
    _wrap(DistributedDataParallel, "__init__", lambda original: (
        lambda self, module, device_ids=None, output_device=None, *rest, **named: original(
            self, module, None, None, *rest, **named)))
    if torch.__version__.startswith("1."):
        return
    from torch.utils import _device  # of `with torch.device("cuda")` and set_default_device
    _wrap(_device.DeviceContext, "__init__", lambda original: lambda self, device: original(
        self, _cpu_or_index(device)))
    from torch.distributed import device_mesh, fsdp
    states = fsdp._init_utils
    if hasattr(states, "_check_module_states_for_sync_module_states"):  # that all are on a GPU
        states._check_module_states_for_sync_module_states = _returning(None)
    _wrap(fsdp.FullyShardedDataParallel, "__init__", lambda original: (
        lambda self, *arguments, **named: original(
            self, *arguments, **{**named, "device_id": torch.device("cpu")})))
    if importlib.util.find_spec("torch.distributed.tensor.experimental") is not None:
        _wrap(torch.nn.functional, "scaled_dot_product_attention", _attention_of_parts)
    if hasattr(torch, "split_with_sizes_copy"):
        _wrap(torch, "split_with_sizes_copy", _leaving_versions)
    for place in (device_mesh, torch.distributed):
        if hasattr(place, "init_device_mesh"):
            _wrap(place, "init_device_mesh", lambda original: lambda device, *rest, **named: (
                original(_cpu(device), *rest, **named)))


def _cpu_generators(original):
    """A class that makes generators for the CPU, and of which all generators are instances."""

    class OnCpu(type):
        def __call__(cls, device="cpu"):
            return original(device=_cpu(device))

        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    return OnCpu("Generator", (), {"__doc__": original.__doc__})


def _on_cpu_autocast(original):
    def construct(self, device_type, dtype=None, *rest, **named):
        if _cpu(device_type) != device_type:
            device_type, dtype = "cpu", torch.bfloat16
        return original(self, device_type, dtype, *rest, **named)

    return construct


def _on_cpu_profiler(original):
    def construct(self, *arguments, **named):
        on_cpu = {"use_cpu": True, "use_cuda": False, "use_device": None}
        original(self, *arguments, **{name: on_cpu.get(name, value)
                                      for name, value in named.items()})

    return construct


def _disabled(original):
    def construct(self, *arguments, **named):
        is_named = "device" in named or (arguments and isinstance(arguments[0], str))
        original(self, *((("cpu",) if is_named else ())), enabled=False)

    return construct


def _attention_of_parts(original):
    """Of what is sharded, DTensor knows CUDA's kernels of attention, but not the CPU's."""

    def attend(query, *arguments, **named):
        if type(query).__name__ != "DTensor":
            return original(query, *arguments, **named)
        from torch.distributed.tensor.experimental import implicit_replication  # of the mask
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with implicit_replication(), sdpa_kernel(SDPBackend.MATH):
            return original(query, *arguments, **named)

    return attend


def _leaving_versions(original):
    """FSDP 2 gathers parameters into tensors that autograd has saved. CUDA's kernel does not count
    that as a change; the CPU's does."""

    def copy(*arguments, out=None, **named):
        with contextlib.ExitStack() as kept:
            for tensor in out or ():
                kept.enter_context(torch.autograd._unsafe_preserve_version_counter(tensor))
            return original(*arguments, out=out, **named)

    return copy


def _wrap(place, name: str, make) -> None:
    original = getattr(place, name)
    setattr(place, name, functools.wraps(original)(make(original)))
