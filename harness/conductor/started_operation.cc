#include "harness/conductor/started_operation.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "gang/shape.h"

namespace gang::harness {
namespace {

constexpr std::size_t alignment = 64;  // of an output behind its input

std::size_t aligned(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }

// Whether a rank's tensor is changed by an operation in place.
bool gets_in_place(OperationKind kind, bool is_root, int rank) {
  if (kind == OperationKind::reduce) return is_root;
  if (kind == OperationKind::broadcast) return !is_root;
  return kind != OperationKind::exclusive_scan || rank != 0;
}

// The elements of all parts, or more than `most`.
std::size_t sum_of(const std::vector<std::int64_t>& parts, std::size_t most) {
  std::size_t sum = 0;
  for (const std::int64_t part : parts) {
    if (part < 0) throw ProtocolError(fmt::format("a split is {}; must be 0 or more", part));
    sum = std::min(most + 1, sum + std::min(most + 1, static_cast<std::size_t>(part)));
  }
  return sum;
}

}  // namespace

StartedOperation::StartedOperation(OperationMessage message, GangCall call,
                                   std::shared_ptr<const SharedBlock> block)
    : message_(std::move(message)),
      gang_(std::move(call.gang)),
      timeout_(call.timeout),
      number_(call.number),
      block_(std::move(block)) {
  const bool makes_gang = message_.kind == OperationKind::create_gang ||
                          message_.kind == OperationKind::split ||
                          message_.kind == OperationKind::shrink;
  if (makes_gang && message_.result == 0)
    throw ProtocolError(
        fmt::format("{} makes group 0, which is the gang of all ranks", to_string(message_.kind)));
  layout_ = lay_out();
  take_memory(layout_);
}

StartedOperation::Layout StartedOperation::lay_out() const {
  const auto element = size_bytes(message_.type);
  const auto size = static_cast<std::size_t>(gang_->size());
  const auto count = static_cast<std::size_t>(message_.count);
  const bool is_root = message_.peer == gang_->rank();
  const std::size_t most = (block_ ? block_->size() : std::size_t{most_frame_bytes}) / element;
  const auto bytes = [&](std::size_t elements, std::size_t times) {
    if (elements > most / times)
      throw ProtocolError(fmt::format("{} of {} elements on {} ranks exceeds its memory",
                                      to_string(message_.kind), elements, size));
    return elements * times * element;
  };
  Layout layout;
  switch (message_.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
    case OperationKind::broadcast:
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      layout.input_bytes = layout.output_bytes = bytes(count, 1);
      layout.has_input = message_.kind != OperationKind::broadcast || is_root;
      layout.has_output = gets_in_place(message_.kind, is_root, gang_->rank());
      return layout;
    case OperationKind::reduce_scatter:
      layout.input_bytes = bytes(count, size);
      layout.output_bytes = bytes(count, 1);
      break;
    case OperationKind::all_gather:
      layout.input_bytes = bytes(count, 1);
      layout.output_bytes =
          message_.first.empty() ? bytes(count, size) : bytes(sum_of(message_.first, most), 1);
      break;
    case OperationKind::gather:
      layout.input_bytes = bytes(count, 1);
      layout.output_bytes = is_root ? bytes(count, size) : 0;
      break;
    case OperationKind::scatter:
      layout.input_bytes = is_root ? bytes(count, size) : 0;
      layout.output_bytes = bytes(count, 1);
      break;
    case OperationKind::all_to_all:
      layout.input_bytes = bytes(count, 1);
      layout.output_bytes =
          bytes(message_.second.empty() ? count : sum_of(message_.second, most), 1);
      break;
    case OperationKind::send:
      layout.input_bytes = bytes(count, 1);
      layout.has_output = false;
      break;
    case OperationKind::recv:
      layout.output_bytes = bytes(count, 1);
      layout.has_input = false;
      break;
    default:
      layout.has_input = layout.has_output = false;
      return layout;
  }
  layout.output_begin = aligned(layout.input_bytes);
  return layout;
}

void StartedOperation::take_memory(const Layout& layout) {
  const std::size_t needed =
      std::max(layout.input_bytes,
               layout.has_output ? layout.output_begin + layout.output_bytes : std::size_t{0});
  if (block_) {
    if (needed > block_->size())
      throw ProtocolError(fmt::format("{} needs {} bytes; its block has {}",
                                      to_string(message_.kind), needed, block_->size()));
    memory_ = block_->data();
    return;
  }
  const std::size_t expected = layout.has_input ? layout.input_bytes : 0;
  if (message_.data.size() != expected)
    throw ProtocolError(fmt::format("{} comes with {} bytes; must be {}", to_string(message_.kind),
                                    message_.data.size(), expected));
  own_ = std::move(message_.data);
  own_.resize(needed);
  memory_ = own_.data();
}

TensorView StartedOperation::input() const {
  const std::size_t count = layout_.input_bytes / size_bytes(message_.type);
  return {memory_, message_.type, Shape::vector(static_cast<std::int64_t>(count))};
}

TensorView StartedOperation::output() const {
  const std::size_t count = layout_.output_bytes / size_bytes(message_.type);
  return {memory_ + layout_.output_begin, message_.type,
          Shape::vector(static_cast<std::int64_t>(count))};
}

std::vector<TensorView> StartedOperation::slices(const TensorView& whole) const {
  std::vector<TensorView> slices;
  if (message_.peer != gang_->rank()) return slices;
  for (int rank = 0; rank < gang_->size(); ++rank)
    slices.push_back(whole.slice(rank * message_.count, message_.count));
  return slices;
}

std::span<const std::byte> StartedOperation::data() const {
  if (block_ || error_ || !layout_.has_output) return {};
  return {memory_ + layout_.output_begin, layout_.output_bytes};
}

// -- The call --

void StartedOperation::start() {
  try {
    call();
  } catch (const std::exception&) {
    error_ = std::current_exception();
    has_ended_ = true;
  }
}

bool StartedOperation::wait(Runtime& runtime, std::optional<TimePoint> deadline) {
  if (has_ended_) return true;
  if (!waiting_) waiting_ = runtime.make_mutex();
  const std::lock_guard lock(*waiting_);
  if (has_ended_) return true;
  const auto ends_in_time = [&] {
    const Duration left = *deadline - runtime.now();
    return left > Duration{0} ? work_.wait(left) : work_.test();
  };
  try {
    if (!deadline) work_.wait();
    if (deadline && !ends_in_time()) return false;
    if (message_.kind == OperationKind::recv) received_ = work_.received();
  } catch (const std::exception&) {
    error_ = std::current_exception();
  }
  has_ended_ = true;
  return true;
}

bool StartedOperation::wait_all(std::span<const std::shared_ptr<StartedOperation>> operations,
                                std::optional<Duration> timeout, Runtime& runtime) {
  std::optional<TimePoint> deadline;
  if (timeout) deadline = deadline_after(runtime.now(), *timeout);
  return std::ranges::all_of(
      operations, [&](const auto& operation) { return operation->wait(runtime, deadline); });
}

std::size_t StartedOperation::wait_any(
    std::span<const std::shared_ptr<StartedOperation>> operations, Runtime& runtime) {
  // Their works side by side, and back again however this ends.
  struct Borrowed {
    explicit Borrowed(std::span<const std::shared_ptr<StartedOperation>> from) : owners(from) {
      for (const auto& owner : owners) works.push_back(std::move(owner->work_));
    }
    ~Borrowed() {
      for (std::size_t i = 0; i < works.size(); ++i) owners[i]->work_ = std::move(works[i]);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    std::span<const std::shared_ptr<StartedOperation>> owners;
    std::vector<Work> works;
  };

  const auto ended = [&] {
    return std::ranges::find_if(operations, [](const auto& each) { return each->has_ended_; });
  };
  // In the order of their numbers, so that threads that wait for the same ones get all or none.
  std::vector<StartedOperation*> in_order;
  for (const auto& each : operations) in_order.push_back(each.get());
  std::ranges::sort(in_order, {}, [](const auto* each) { return each->message_.id; });
  std::vector<std::unique_lock<RuntimeMutex>> locks;
  for (StartedOperation* const each : in_order) {
    if (ended() != operations.end()) break;
    if (!each->waiting_) each->waiting_ = runtime.make_mutex();
    locks.emplace_back(*each->waiting_);
  }
  if (const auto found = ended(); found != operations.end())
    return static_cast<std::size_t>(found - operations.begin());
  Borrowed borrowed(operations);
  return Work::wait_any(borrowed.works);
}

bool StartedOperation::test(Runtime& runtime) {
  if (has_ended_) return true;
  if (!waiting_) waiting_ = runtime.make_mutex();
  {
    const std::unique_lock lock(*waiting_, std::try_to_lock);
    if (!lock) {
      runtime.yield();
      return has_ended_;
    }
    try {
      if (!work_.test()) return false;
    } catch (const std::exception&) {
      error_ = std::current_exception();
      has_ended_ = true;
      return true;
    }
  }
  wait(runtime);
  return true;
}

// The gang's Work, which of a blocking call is complete.
void StartedOperation::take(Work work) {
  work_ = std::move(work);
  if (!message_.is_blocking) return;
  if (message_.kind == OperationKind::recv) received_ = work_.received();
  has_ended_ = true;
}

Duration StartedOperation::timeout() const noexcept {
  if (message_.kind == OperationKind::monitored_barrier && message_.count != 0)
    return Duration{message_.count};
  return timeout_.value_or(gang_->timeout());
}

void StartedOperation::call() {
  const CallOptions options{.label = message_.label,
                            .timeout = timeout_,
                            .guarded = {},
                            .mode = message_.is_blocking ? CallMode::blocking : CallMode::started};
  switch (message_.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
    case OperationKind::reduce_scatter:
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      return call_reduction(options);
    case OperationKind::send:
    case OperationKind::recv:
      return call_message(options);
    case OperationKind::create_gang:
    case OperationKind::split:
    case OperationKind::shrink:
      return make_gang(options);
    default:
      return call_copy(options);
  }
}

void StartedOperation::call_reduction(const CallOptions& options) {
  const CallSite& site = message_.call_site;
  const ReduceOperation reduce = message_.reduce;
  switch (message_.kind) {
    case OperationKind::all_reduce:
      return take(gang_->start_all_reduce(input(), reduce, options, site));
    case OperationKind::reduce:
      return take(gang_->start_reduce(input(), reduce, message_.peer, options, site));
    case OperationKind::scan:
      return take(gang_->start_scan(input(), reduce, options, site));
    case OperationKind::exclusive_scan:
      return take(gang_->start_exclusive_scan(input(), reduce, options, site));
    default:
      return take(gang_->start_reduce_scatter(output(), input(), reduce, options, site));
  }
}

void StartedOperation::call_copy(const CallOptions& options) {
  Gang& gang = *gang_;
  const CallSite& site = message_.call_site;
  const int peer = message_.peer;
  const Gang::SplitSizes splits{message_.second, message_.first};
  const bool has_splits = !message_.first.empty() || !message_.second.empty();
  switch (message_.kind) {
    case OperationKind::all_gather:
      if (!message_.first.empty())
        return take(gang.start_all_gather(output(), input(), message_.first, options, site));
      return take(gang.start_all_gather(output(), input(), options, site));
    case OperationKind::gather:
      list_ = slices(output());
      return take(gang.start_gather(list_, input(), peer, options, site));
    case OperationKind::scatter:
      list_ = slices(input());
      return take(gang.start_scatter(output(), list_, peer, options, site));
    case OperationKind::all_to_all:
      return take(has_splits ? gang.start_all_to_all(output(), input(), splits, options, site)
                             : gang.start_all_to_all(output(), input(), options, site));
    case OperationKind::broadcast:
      return take(gang.start_broadcast(input(), peer, options, site));
    case OperationKind::barrier:
      return take(gang.start_barrier(options, site));
    default:
      gang.monitored_barrier(
          message_.count == 0 ? no_timeout : Duration{message_.count},
          message_.all_missing ? Gang::MissingRanks::all : Gang::MissingRanks::first, options,
          site);
      has_ended_ = true;
  }
}

void StartedOperation::call_message(const CallOptions& options) {
  const CallSite& site = message_.call_site;
  if (message_.kind == OperationKind::send)
    return take(gang_->start_send(input(), message_.peer, message_.tag, options, site));
  const int source = message_.from_any ? any_rank : message_.peer;
  const int tag = message_.any_tag ? any_tag : message_.tag;
  if (!message_.from_any && source < 0)
    throw InvalidArgument(
        fmt::format("recv: source_rank is {}; must be 0 to {}", source, gang_->size() - 1));
  take(gang_->start_recv(output(), source, tag, options, site));
}

void StartedOperation::make_gang(const CallOptions&) {
  const GangOptions options{.name = message_.label, .timeout = {}};
  const std::vector<std::int64_t>& numbers = message_.first;
  if (message_.kind == OperationKind::create_gang) {
    const std::vector<int> ranks(numbers.begin(), numbers.end());
    made_ = gang_->create_gang(ranks, options, message_.call_site);
  } else if (message_.kind == OperationKind::split) {
    if (numbers.size() != 2) throw ProtocolError("split takes a color and a key");
    made_ = gang_->split({static_cast<int>(numbers[0]), static_cast<int>(numbers[1])}, options,
                         message_.call_site);
  } else {
    ShrinkOptions shrink{.name = message_.label, .timeout = {}, .grace = {}};
    if (!numbers.empty()) shrink.grace = Duration{numbers.front()};
    made_ = gang_->shrink(shrink, message_.call_site);
  }
  has_ended_ = true;
}

}  // namespace gang::harness
