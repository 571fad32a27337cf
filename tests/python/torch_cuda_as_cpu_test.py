"""Scripts for GPUs on the CPU: every call that names a CUDA device."""

import os
import subprocess
import sys
import tempfile
import unittest

from package import PACKAGES, has

SCRIPT = """
import os, threading, torch
from gangsim.torch import cuda_as_cpu
wants = RuntimeError("Torch not compiled with CUDA enabled")
assert cuda_as_cpu.hint(wants) == ""  # it was asked for
del os.environ["GANGSIM_CUDA_AS_CPU"]
assert "--cuda-as-cpu" in cuda_as_cpu.hint(wants)
assert "--cuda-as-cpu" in cuda_as_cpu.hint(
    RuntimeError("Cannot access accelerator device when none is available."))
assert cuda_as_cpu.hint(RuntimeError("out of memory")) == ""

os.environ["GANGSIM_CUDA_AS_CPU"] = "2"
assert cuda_as_cpu.hint(RuntimeError("Found no NVIDIA driver")) == ""

cuda_as_cpu.install()
mode = cuda_as_cpu._mode
cuda_as_cpu.install()
assert cuda_as_cpu._mode is mode

x = torch.ones(2, 3)
for moved in (x.cuda(), x.cuda(1), x.to("cuda"), x.to("cuda:1"), x.to(1), x.pin_memory(),
              x.to(torch.device("cuda", 1)), x.to(device="cuda:1"),
              x.to("cuda", torch.float32, True), torch.ones(2, device="cuda:1"),
              torch.ones(2, device=1), torch.zeros(2, pin_memory=True),
              torch.empty(2, device=torch.device("cuda"), pin_memory=True)):
    assert moved.device.type == "cpu", moved
assert x.to(torch.float64, True).dtype is torch.float64
for number in (torch.device(1), torch.device(device=1)):
    assert number == torch.device("cuda", 1)
assert torch.ones(2, device=torch.device(0)).device.type == "cpu"
assert torch.ones(2, device="meta").device.type == "meta"
assert torch.ones(2, device=torch.device("meta")).device.type == "meta"

with torch.cuda.device(1) as nothing:
    assert torch.cuda.current_device() == 1 and nothing is None
    with torch.cuda.device(-1), torch.cuda.device(None):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device("cuda:0"):
        assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device() == 1
assert torch.cuda.current_device() == 0

before, other = torch.cuda.current_stream(), torch.cuda.Stream()
with torch.cuda.stream(other), torch.cuda.stream(None):
    assert torch.cuda.current_stream() is other
assert torch.cuda.current_stream() is before
assert isinstance(torch.cuda.stream(other), torch.cuda.StreamContext)

assert x.cuda().type() == "torch.cuda.FloatTensor"
for wanted in (torch.float64, torch.cuda.DoubleTensor, "torch.cuda.DoubleTensor"):
    assert x.type(wanted).type() == "torch.cuda.DoubleTensor"
    assert x.type(dtype=wanted).dtype is torch.float64

layer = torch.nn.Linear(2, 2)
for moved in (layer.cuda(), layer.cuda(0), layer.to("cuda:1"), layer.to(device="cuda"), layer.to(1),
              layer.to(dtype=torch.float64, device="cuda:0")):
    assert moved.weight.device.type == "cpu"
assert layer.weight.dtype is torch.float64

# What moves to the CPU is a copy, as from a GPU; what is on the GPU already stays where it is.
for moved in (x.cpu(), x.to("cpu"), x.to(torch.device("cpu")), x.to(device="cpu"),
              x.to("cpu", torch.float32)):
    assert torch.equal(moved, x) and moved.data_ptr() != x.data_ptr()
for moved in (x.cuda(), x.to("cuda"), x.to(1), x.to(torch.float32)):
    assert moved.data_ptr() == x.data_ptr()
weight = layer.weight.data_ptr()
for moved in (layer.cuda(), layer.to("cuda"), layer.to(1), layer.to(device="cuda:0")):
    assert moved.weight.data_ptr() == weight
kept = {name: value.cpu() for name, value in layer.state_dict().items()}
with torch.no_grad():
    layer.weight.add_(1)
assert not torch.equal(kept["weight"], layer.weight)
assert layer.cpu().weight.data_ptr() != weight

assert torch.version.cuda
cuda = torch.cuda
assert cuda.is_available() and cuda.device_count() == 2 and cuda.current_device() == 0
for device, index in ((1, 1), ("cuda:0", 0), (torch.device("cuda", 1), 1), ("cuda", 0)):
    cuda.set_device(device)
    assert cuda.current_device() == index
stream, event = cuda.Stream(), cuda.Event(enable_timing=True)
given = cuda.Event()
assert stream.record_event(given) is given and stream.record_event().query()
assert stream.query() and event.elapsed_time(given) == 0
assert not stream.is_capturing() and cuda.Stream.priority_range() == (0, -1)
x.record_stream(stream)
with cuda.stream(stream), cuda.device(1):
    stream.synchronize()
default = cuda.default_stream()
assert cuda.current_stream() is default
with cuda.stream(stream):
    with cuda.stream(cuda.Stream()), cuda.stream(stream):
        assert cuda.current_stream(0) is stream
    assert cuda.current_stream() is stream
assert cuda.current_stream() is default
cuda.set_stream(stream)
assert cuda.current_stream() is stream and cuda.default_stream() is default
cuda.set_stream(default)
accelerator = getattr(torch, "accelerator", None)
if accelerator is not None:
    assert accelerator.is_available() and accelerator.device_count() == 2
    assert accelerator.current_accelerator() == torch.device("cuda")
    accelerator.set_device_index(1)
    assert accelerator.current_device_index() == cuda.current_device() == 1
    accelerator.set_device_index(0)
    accelerator.set_stream(stream)
    assert accelerator.current_stream() is stream
    accelerator.set_stream(default)
    accelerator.synchronize()
    assert torch.Event().query() and torch.Stream("cuda", priority=-1).query()
    assert isinstance(stream, torch.Stream)
    if hasattr(accelerator, "get_device_capability"):
        assert torch.float32 in accelerator.get_device_capability()["supported_dtypes"]
if not torch.__version__.startswith("1."):  # what FSDP does on a GPU
    with torch.device("cuda"):
        assert torch.ones(2).device.type == "cpu"
    torch.set_default_device("cuda:1")
    assert torch.ones(2).device.type == "cpu"
    torch.set_default_device(None)
    torch.cpu.current_stream().synchronize()
    torch.cpu.Stream().wait_event(torch.cpu.current_stream().record_event())
    out = [torch.zeros(1), torch.zeros(2)]
    torch.split_with_sizes_copy(torch.arange(3.0), [1, 2], out=out)
    assert [(each._version, each.tolist()) for each in out] == [(0, [0]), (0, [1, 2])]
seen = []  # in a backward pass
weights = torch.ones(2, requires_grad=True)
def hooked():
    result = weights * 2
    result.register_hook(lambda grad: seen.append(torch.empty(1, device="cuda").to("cuda:1")))
    return result.sum()
hooked().backward()
torch.autograd.grad(hooked(), weights)
torch.autograd.backward(hooked())
assert len(seen) == 3 and all(each.device.type == "cpu" for each in seen)
moved = []  # in a thread
thread = threading.Thread(target=lambda: moved.append(x.to("cuda").pin_memory()))
thread.start()
thread.join()
assert moved[0] is x
data = torch.utils.data.TensorDataset(torch.arange(6.0))
assert sum(float(each.sum()) for each, in torch.utils.data.DataLoader(data, 2, pin_memory=True,
                                                                      num_workers=1)) == 15
for place in (cuda, cuda.random):
    state = place.get_rng_state(device="cuda:1")
    first = torch.rand(1)
    place.set_rng_state(state, device="cuda:1")
    assert torch.equal(torch.rand(1), first)
    assert len(place.get_rng_state_all()) == 2
assert cuda.memory.max_memory_allocated() == 0 and cuda.memory.__name__ == "torch.cuda.memory"

properties = cuda.get_device_properties(0)
assert properties.total_memory == cuda.mem_get_info()[1] and properties.name
assert cuda.memory_summary() == "" and cuda.memory_allocated() == 0
cuda.memory._record_memory_history(True)
cuda.memory._dump_snapshot("memory.pickle")
assert cuda.memory_snapshot() == [] and cuda.utilization() == 0
assert cuda.cudart().cudaProfilerStart() == 0
cuda.profiler.stop()
cuda._sleep(1000)
assert cuda.default_generators[1].initial_seed() == cuda.initial_seed() == torch.initial_seed()
cuda.nvtx.range_push("step")
with cuda.nvtx.range("forward"):
    cuda.nvtx.range_pop()
of_gpus = [torch.profiler.ProfilerActivity.CUDA]
for activities in (of_gpus, [torch.profiler.ProfilerActivity.CPU, *of_gpus]):
    with torch.profiler.profile(activities=activities) as profile:
        x + x
    names = [event.key for event in profile.key_averages()]
    assert "aten::add" in names, names
    assert profile.key_averages().table(sort_by="cuda_time_total")
for device in ("cuda", torch.device("cuda", 1), "cpu"):
    generator = torch.Generator(device=device).manual_seed(7)
    assert isinstance(generator, torch.Generator) and not isinstance(7, torch.Generator)
    assert torch.equal(torch.rand(2, generator=generator, device=device), torch.rand(
        2, generator=torch.Generator().manual_seed(7)))

assert cuda.FloatTensor([1.0]).tolist() == [1] and cuda.LongTensor(2).dtype is torch.int64

torch.save(x, "x.pt")
for place in ("cuda:1", torch.device("cuda"), "cpu"):
    assert torch.equal(torch.load("x.pt", map_location=place), x)
with torch.autocast("cuda", dtype=torch.float16):
    assert (x @ x.t()).dtype is torch.bfloat16
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert (x @ x.t()).dtype is torch.bfloat16
assert not torch.cuda.amp.GradScaler().is_enabled()
assert not torch.cuda.amp.GradScaler(init_scale=2.0, enabled=True).is_enabled()
print("all well")
"""


@unittest.skipUnless(has("torch"), "runs where PyTorch is installed")
class Cuda(unittest.TestCase):
    def test_what_scripts_for_gpus_do_works_on_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                [sys.executable, "-c", SCRIPT], cwd=folder, check=False, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "PYTHONPATH": str(PACKAGES), "GANGSIM_CUDA_AS_CPU": "1",
                     "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "8"})
        self.assertEqual((ended.returncode, ended.stdout[-9:]), (0, "all well\n"), ended.stdout)


if __name__ == "__main__":
    unittest.main()
