#include "sim/backends/nccl/nccl_gpu.h"

#include <algorithm>
#include <utility>

#include "sim/backends/nccl/nccl_steps.h"
#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {

GpuStream::GpuStream(NcclGpu& gpu) : gpu_(gpu) { gpu_.streams_.push_back(this); }

GpuStream::~GpuStream() {
  const Engine::Guard guard(gpu_.world_.engine);
  std::erase(gpu_.streams_, this);
}

NcclGpu::NcclGpu(World& world, const NcclModel& model, int rank)
    : world_(world), model_(model), rank_(rank), driver_(rank) {}

void NcclGpu::launch(GpuStream& stream, std::shared_ptr<NcclKernel> kernel) {
  kernel->gpu = this;
  kernel->serial = launched_++;
  if (Guide* guide = this->guide()) {
    note_launch(*guide, world_.engine.current(), *kernel);
    stream.last_step_key = kernel->step_key;
    stream.last_call_site = kernel->purpose.call.call_site;
  }
  stream.items.push_back({std::move(kernel), nullptr});
  if (model_.order == LaunchOrder::host) settle();
}

void NcclGpu::act(GpuStream& stream, std::function<void()> action) {
  if (stream.items.empty()) return action();
  stream.items.push_back({nullptr, std::move(action)});
}

void NcclGpu::record(GpuStream& stream, GpuEvent& event) {
  event.after = stream.last_step_key;
  event.call_site = stream.last_call_site;
  if (stream.items.empty()) return;
  event.is_pending = true;
  event.stream = &stream;
  stream.items.push_back({nullptr, [this, &event] {
                            event.is_pending = false;
                            wake_waiters();
                          }});
}

// Does nothing after the run, when the streams' memory may be gone.
bool NcclGpu::settle() {
  if (world_.engine.is_over()) return false;
  if (model_.order == LaunchOrder::any) return settle_one();
  std::vector<NcclGpu*> touched = {this};
  is_touched_ = true;
  while (!touched.empty()) {
    NcclGpu* const gpu = touched.back();
    touched.pop_back();
    gpu->is_touched_ = false;
    gpu->step(touched);
  }
  return false;
}

bool NcclGpu::settle_one() {
  run_actions();
  const std::uint64_t picks_before = picks_;
  if (NcclKernel* const next = next_kernel()) start(*next);
  return picks_ != picks_before;
}

void NcclGpu::start(NcclKernel& kernel) {
  std::vector<NcclGpu*> touched;
  start(kernel, touched);
  for (NcclGpu* gpu : touched) {
    gpu->is_touched_ = false;
    gpu->run_actions();
  }
  run_actions();
}

void NcclGpu::step(std::vector<NcclGpu*>& touched) {
  while (true) {
    run_actions();
    NcclKernel* const next = next_kernel();
    if (next == nullptr) return;
    start(*next, touched);
  }
}

// An action may make others, on any stream, the first ones of theirs.
void NcclGpu::run_actions() {
  for (bool has_run = true; has_run;) {
    has_run = false;
    for (GpuStream* stream : streams_) {
      while (!stream->items.empty() && stream->items.front().kernel == nullptr) {
        const GpuStream::Item item = std::move(stream->items.front());
        stream->items.pop_front();
        item.action();
        has_run = true;
      }
    }
    if (has_run && is_idle()) wake_waiters();
  }
}

std::vector<NcclKernel*> NcclGpu::ready() const {
  std::vector<NcclKernel*> heads;
  if (resident_.size() >= static_cast<std::size_t>(model_.resident)) return heads;
  NcclKernel* first = nullptr;  // among all queued kernels
  for (const GpuStream* stream : streams_) {
    for (const GpuStream::Item& item : stream->items) {
      NcclKernel* const kernel = item.kernel.get();
      if (kernel == nullptr || kernel->state != NcclKernel::State::queued) continue;
      if (&item == &stream->items.front()) heads.push_back(kernel);
      if (first == nullptr || kernel->serial < first->serial) first = kernel;
    }
  }
  if (model_.order == LaunchOrder::host)
    std::erase_if(heads, [first](const NcclKernel* head) { return head != first; });
  std::ranges::sort(heads, {}, &NcclKernel::serial);
  return heads;
}

NcclKernel* NcclGpu::next_kernel() {
  const std::vector<NcclKernel*> kernels = ready();
  if (kernels.empty()) return nullptr;
  if (kernels.size() == 1) return kernels.front();
  const std::uint64_t number = next_pick();
  std::vector<Access> ways;
  for (const NcclKernel* kernel : kernels)
    ways.push_back(way_to_start(*kernel, number, ways.size()));
  return kernels[world_.engine.choices().pick(ways)];
}

void NcclGpu::start(NcclKernel& kernel, std::vector<NcclGpu*>& touched) {
  kernel.state = NcclKernel::State::running;
  resident_.push_back(&kernel);
  const std::vector<NcclKernel*> completed = kernel.clique->start(kernel);
  if (Guide* guide = this->guide()) {
    note_start(*guide, world_.engine.current(), kernel, last_retired_);
    note_end(*guide, completed);
  }
  for (NcclKernel* complete : completed) {
    NcclGpu* const gpu = complete->gpu;
    gpu->retire(*complete);
    if (gpu != this && !std::exchange(gpu->is_touched_, true)) touched.push_back(gpu);
  }
  world_.engine.note_progress();
}

Guide* NcclGpu::guide() const noexcept { return world_.engine.choices().guide(); }

// A running kernel is always at the head of its stream.
void NcclGpu::retire(NcclKernel& kernel) {
  kernel.state = NcclKernel::State::done;
  last_retired_ = kernel.step_key;
  std::erase(resident_, &kernel);
  for (GpuStream* stream : streams_)
    if (!stream->items.empty() && stream->items.front().kernel.get() == &kernel) {
      stream->items.pop_front();
      break;
    }
  wake_waiters();
}

bool NcclGpu::is_idle() const noexcept {
  return std::ranges::all_of(streams_,
                             [](const GpuStream* stream) { return stream->items.empty(); });
}

void NcclGpu::end_kernels(const NcclClique& clique) {
  for (GpuStream* stream : streams_) {
    for (const GpuStream::Item& item : stream->items) {
      if (item.kernel == nullptr || item.kernel->clique.get() != &clique) continue;
      if (item.kernel->state == NcclKernel::State::running) {
        item.kernel->clique->withdraw(*item.kernel);
        std::erase(resident_, item.kernel.get());
      }
      item.kernel->state = NcclKernel::State::done;
    }
    std::erase_if(stream->items, [](const GpuStream::Item& item) {
      return item.kernel != nullptr && item.kernel->state == NcclKernel::State::done;
    });
  }
  wake_waiters();
  settle();
}

void NcclGpu::die() {
  for (NcclKernel* kernel : std::exchange(resident_, {})) kernel->clique->withdraw(*kernel);
  for (GpuStream* stream : streams_) stream->items.clear();
}

void NcclGpu::retire_all(const std::vector<NcclKernel*>& complete) {
  std::vector<NcclGpu*> gpus;  // retiring a kernel may destroy it
  for (NcclKernel* kernel : complete) {
    gpus.push_back(kernel->gpu);
    kernel->gpu->retire(*kernel);
  }
  for (NcclGpu* gpu : gpus) gpu->settle();
}

std::vector<const NcclKernel*> NcclGpu::kernels() const {
  std::vector<const NcclKernel*> all;
  for (const GpuStream* stream : streams_)
    for (const GpuStream::Item& item : stream->items)
      if (item.kernel != nullptr) all.push_back(item.kernel.get());
  std::ranges::sort(all, {}, [](const NcclKernel* kernel) { return kernel->serial; });
  return all;
}

const NcclKernel* NcclGpu::blocker_of(const GpuEvent& event) const {
  if (!event.is_pending) return nullptr;
  for (const GpuStream::Item& item : event.stream->items)
    if (item.kernel != nullptr) return item.kernel.get();
  return nullptr;
}

const NcclKernel* NcclGpu::blocker() const {
  const std::vector<const NcclKernel*> all = kernels();
  return all.empty() ? nullptr : all.front();
}

std::vector<const NcclKernel*> NcclGpu::ahead_of(const NcclKernel& kernel) const {
  std::vector<const NcclKernel*> ahead;
  if (kernel.state != NcclKernel::State::queued) return ahead;
  for (const NcclKernel* other : kernels()) {
    const bool is_earlier = other->serial < kernel.serial;
    if (other->state == NcclKernel::State::running &&
        (is_earlier || model_.order == LaunchOrder::any))
      ahead.push_back(other);
  }
  if (ahead.empty())
    for (const NcclKernel* other : kernels())
      if (other->serial < kernel.serial) ahead.push_back(other);
  return ahead;
}

void NcclGpu::wake_waiters() {
  for (Task* task : std::exchange(waiters_, {})) world_.engine.wake(*task);
}

}  // namespace gang::sim
