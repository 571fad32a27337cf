#include "harness/conductor/joined_gangs.h"

#include <utility>

#include <fmt/format.h>

#include "harness/conductor/messages.h"

namespace gang::harness {
namespace {

// Shorter ones are those of every step; no timeout that is meant is as short.
constexpr Duration shortest_absence = std::chrono::seconds(1);

}  // namespace

void JoinedGangs::join(std::uint32_t group, std::shared_ptr<Gang> gang) {
  gangs_[group] = {.gang = std::move(gang), .timeout = {}};
}

JoinedGangs::Joined& JoinedGangs::joined(std::uint32_t group) {
  const auto known = gangs_.find(group);
  if (known == gangs_.end()) throw ProtocolError(fmt::format("there is no group {}", group));
  return known->second;
}

void JoinedGangs::set_timeout(std::uint32_t group, Duration timeout) {
  joined(group).timeout = timeout;
}

void JoinedGangs::abort_all() const {
  for (const auto& [group, joined] : gangs_) joined.gang->abort();
}

void JoinedGangs::close_all() const {
  for (const auto& [group, joined] : gangs_) joined.gang->close();
}

void JoinedGangs::note_outside(const TimeOutside& outside) {
  if (outside.end - outside.begin < shortest_absence) return;
  ++absences_;
  last_absence_ = outside;
}

GangCall JoinedGangs::begin_call(std::uint32_t group, OperationKind kind) {
  Joined& known = joined(group);
  GangCall call{.gang = known.gang, .timeout = known.timeout};
  if (is_point_to_point(kind)) return call;
  call.number = known.collectives++;
  if (std::exchange(known.absences, absences_) != absences_) known.first_after = call.number;
  return call;
}

const TimeOutside* JoinedGangs::absence_before(const GangInfo& info, std::uint64_t number) const {
  const Joined* found = nullptr;
  for (const auto& [group, joined] : gangs_) {
    const GangInfo& known = joined.gang->info();
    if (known.name != info.name || known.root_ranks != info.root_ranks) continue;
    if (std::exchange(found, &joined) != nullptr) return nullptr;
  }
  const bool is_late = found != nullptr && absences_ != 0 && found->absences == absences_ &&
                       found->first_after <= number && number < found->collectives;
  return is_late ? &last_absence_ : nullptr;
}

}  // namespace gang::harness
