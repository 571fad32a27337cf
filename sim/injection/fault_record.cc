#include "sim/injection/fault_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/faults/fault_cases.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/rank_text.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {

std::string_view verb_of(FaultKind kind) {
  static constexpr auto verbs = names_in_order<FaultKind>(
      "crashed", "threw an injected exception", "exited", "stalled", "was slow", "started late",
      "crashed, to be restarted,", "aborted the gang by its watchdog", "contributed corrupt data",
      "received a corrupt result", "had its data read late");
  const std::string_view verb = name_of(verbs, kind);
  return verb.empty() ? to_string(kind) : verb;
}

bool is_guided(const Fault& fault) noexcept {
  const bool may_have_contributed = fault.trigger.moment == FaultMoment::inside &&
                                    (ends_rank(fault.kind) || fault.kind == FaultKind::stall) &&
                                    fault.kind != FaultKind::exception;
  return is_of_rank_alone(fault) && (!may_have_contributed || fault.error_at);
}

FaultRecord::FaultRecord(World& world)
    : world_(world), stream_(world.options.seed, "fault injector") {}

bool FaultRecord::is_picked(ArmedFault& fault) {
  const FaultTrigger& trigger = fault.fault->trigger;
  const std::uint64_t number = fault.seen++;
  if (trigger.operation) return number == trigger.operation->least;
  if (trigger.message) return number == trigger.message->least;
  if (trigger.probability) return stream_.uniform() < *trigger.probability;
  return number == 0 || is_of_link(fault.fault->kind);
}

void FaultRecord::fire(ArmedFault& fault, const std::string& what, const std::string& place) {
  if (fault.has_fired) {
    ++fired_[fault.record].count;
    return;
  }
  fault.has_fired = true;
  fault.record = fired_.size();
  fired_.push_back({.fault = fault.index,
                    .rank = fault.rank,
                    .time = world_.engine.now(),
                    .description = place.empty() ? what : what + " " + place,
                    .place = place});
  world_.recorder.fault_fired(fault.rank);
  const bool is_known = is_guided(*fault.fault) && !world_.rank(fault.rank).has_threads;
  if (!is_known) return world_.engine.choices().note_choice_point(Unguided::fault);
  world_.engine.choices().note_guided_choice();
  note_access(AccessMode::write, fault.rank);
}

bool FaultRecord::have_fired() const {
  const RankState* asking = world_.engine.current().rank;
  note_access(AccessMode::read, asking == nullptr ? 0 : asking->rank);
  return !fired_.empty();
}

void FaultRecord::note_access(AccessMode mode, int rank) const {
  constexpr StepKey all_faults = 0x6661756c74;
  if (Guide* guide = world_.engine.choices().guide())
    guide->access({.kind = AccessKind::fault, .mode = mode, .rank = rank, .object = all_faults});
}

void FaultRecord::note_witnesses(const ArmedFault& dead, const std::vector<int>& ranks) {
  std::vector<int>& witnesses = fired_[dead.record].witnesses;
  witnesses = ranks;
  std::erase(witnesses, dead.rank);
}

std::shared_ptr<const Finding> FaultRecord::finding_of(const ArmedFault& fault) const {
  auto finding = std::make_shared<Finding>();
  finding->id = finding_id::rank_failed;
  finding->ranks = {fault.rank};
  finding->message =
      capitalised(fired_[fault.record].description) + " (injected by the fault plan).";
  return finding;
}

void FaultRecord::schedule(TimePoint time, FaultAct act, ArmedFault& fault) {
  events_.push({time, next_event_++, act, &fault});
}

std::optional<FaultEvent> FaultRecord::take_due(TimePoint now) {
  if (events_.empty() || events_.top().time > now) return std::nullopt;
  const FaultEvent event = events_.top();
  events_.pop();
  return event;
}

}  // namespace gang::sim
