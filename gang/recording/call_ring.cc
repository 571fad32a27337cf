#include "gang/recording/call_ring.h"

#include <algorithm>
#include <utility>

#include "gang/operation.h"

namespace gang {
namespace {

// Messages have numbers of their own, far from those of collectives.
constexpr std::uint64_t first_message = 1'000'000'000;

}  // namespace

CallRing::CallRing(const Options& options) : options_(options) {}

std::uint32_t CallRing::add_gang(const GangInfo& info) {
  const Lock lock(busy_);
  const auto same = std::ranges::find_if(gangs_, [&info](const Gang& gang) {
    return gang.group.ranks == info.root_ranks && gang.group.name == info.name;
  });
  if (same != gangs_.end()) return static_cast<std::uint32_t>(same - gangs_.begin());
  const bool is_root = gangs_.empty();
  gangs_.push_back({.group = {.name = info.name,
                              .description = is_root ? "default_pg" : info.name,
                              .ranks = info.root_ranks}});
  return static_cast<std::uint32_t>(gangs_.size() - 1);
}

CallRing::Entry& CallRing::add(std::uint32_t gang, const Operation& operation,
                               const Collective& call, std::uint64_t sequence) {
  if (records_ == entries_.size() && records_ < options_.capacity) entries_.emplace_back();
  Entry& entry = entry_of(records_);
  entry.call = call;
  entry.call.sequence_number = sequence;
  entry.label.assign(call.label);
  entry.record = entry.first_of_batch = records_++;
  entry.time = options_.runtime == nullptr ? TimePoint(0) : options_.runtime->now();
  entry.waited.reset();
  entry.timeout = operation.timeout;
  entry.gang = gang;
  entry.state = DumpedState::started;
  return entry;
}

std::uint64_t CallRing::begin(std::uint32_t gang, const Operation& operation) {
  const Collective& call = operation.collective;
  const Lock lock(busy_);
  if (!is_point_to_point(call.kind))
    return add(gang, operation, call, gangs_[gang].collectives++).record;
  const std::uint64_t number = first_message + messages_++;
  if (call.kind != OperationKind::batch) return add(gang, operation, call, number).record;
  const std::uint64_t first = records_;
  for (const PointToPoint& message : operation.extras->batch) {
    Collective single = call;
    single.kind = message.kind;
    single.data_type = message.tensor.type();
    single.shape = message.tensor.shape();
    single.count = message.tensor.count();
    single.peer = message.peer;
    single.tag = message.tag;
    add(gang, operation, single, number).first_of_batch = first;
  }
  return first;
}

template <typename Change>
void CallRing::change_batch(std::uint64_t record, const Change& change) {
  const Lock lock(busy_);
  for (std::uint64_t at = std::max(record, oldest()); at < records_; ++at) {
    Entry& entry = entry_of(at);
    if (entry.first_of_batch != record) return;
    change(entry);
  }
}

void CallRing::begin_wait(std::uint64_t record) {
  change_batch(record, [this](Entry& entry) {
    if (!entry.waited) entry.waited = records_;
  });
}

void CallRing::give_up_wait(std::uint64_t record) {
  change_batch(record, [](Entry& entry) { entry.waited.reset(); });
}

void CallRing::complete(std::uint64_t record) {
  change_batch(record, [](Entry& entry) { entry.state = DumpedState::completed; });
}

void CallRing::note_broken(std::uint32_t gang) noexcept {
  {
    const Lock lock(busy_);
    if (std::exchange(gangs_[gang].is_broken, true)) return;
  }
  gang_broke();
}

std::uint64_t CallRing::last_overdue() const {
  if (options_.runtime == nullptr) return 0;
  const TimePoint now = options_.runtime->now();
  const Lock lock(busy_);
  for (std::uint64_t record = records_; record-- > oldest();) {
    const Entry& entry = entry_of(record);
    if (entry.state != DumpedState::completed && now >= deadline_after(entry.time, entry.timeout))
      return record + 1;
  }
  return 0;
}

Dump CallRing::dump(CallTable& calls, ProgramEnd end) const {
  const Lock lock(busy_);
  Dump dump{.rank = options_.rank, .end = end, .version = "2.4"};
  for (const Gang& gang : gangs_) {
    dump.groups.push_back(gang.group);
    dump.groups.back().last_enqueued = static_cast<std::int64_t>(gang.collectives) - 1;
  }
  for (std::uint64_t record = oldest(); record < records_; ++record) {
    const Entry& entry = entry_of(record);
    Collective call = entry.call;
    call.label = entry.label;
    dump.calls.push_back({.record = entry.record,
                          .group = entry.gang,
                          .call = calls.index_of(call, call.call_site.file()),
                          .sequence = entry.call.sequence_number,
                          .created_ns = (entry.time + options_.clock_offset).count(),
                          .state = entry.state,
                          .is_message = is_point_to_point(call.kind),
                          .has_state = true,
                          .is_in_stream = options_.is_in_stream,
                          .has_waits = true,
                          .waited = entry.waited});
  }
  return dump;
}

}  // namespace gang
