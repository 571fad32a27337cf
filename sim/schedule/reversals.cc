#include "sim/schedule/reversals.h"

#include <algorithm>

namespace gang::sim {
namespace {

// As a call, if what matters is that it called the gang that `other` broke.
Access as_part_of_contest(const Access& access, const Access& other) {
  if (access.gang == 0 || access.gang != other.object) return access;
  Access call = access;
  call.kind = AccessKind::call;
  call.mode = AccessMode::read;
  call.object = access.gang;
  return call;
}

}  // namespace

Contest contest_of(const StepLog& log, const HappensBefore& order, const Race& race) {
  const Access& first = log.accesses[race.first_access];
  const Access& second = log.accesses[race.second_access];
  Contest contest{.first = as_part_of_contest(first, second),
                  .second = as_part_of_contest(second, first),
                  .first_context = log.names[order.context_of(race.first_step)],
                  .second_context = log.names[order.context_of(race.second_step)]};
  if (contest.first.kind != AccessKind::message || contest.second.kind != AccessKind::message)
    return contest;
  for (const TakenByAny& taken : log.taken) {
    if (taken.message != contest.first.operation && taken.message != contest.second.operation)
      continue;
    contest.receive = taken;
    break;
  }
  return contest;
}

void Reversals::read(const StepLog& log, const Knowledge& known, std::size_t first_step) {
  order_.read(log, known);
  read_with_ = &known;
  all_.clear();
  initials_.clear();
  for (const Race& race : order_.races())
    if (race.second_step >= first_step) add_initials(log, race);
}

void Reversals::add_initials(const StepLog& log, const Race& race) {
  firsts_.clear();
  const auto begin = static_cast<std::uint32_t>(initials_.size());
  for (std::uint32_t step = race.first_step + 1; step <= race.second_step; ++step) {
    if (step != race.second_step && order_.comes_after(step, race.first_step)) continue;
    const TaskId context = order_.context_of(step);
    if (std::ranges::any_of(
            firsts_, [&](std::uint32_t first) { return order_.context_of(first) == context; }))
      continue;
    if (std::ranges::none_of(firsts_,
                             [&](std::uint32_t first) { return order_.comes_after(step, first); }))
      initials_.push_back(log.contexts[context]);
    firsts_.push_back(step);
  }
  // Preferably the one that was second itself.
  const auto first = initials_.begin() + begin;
  const auto second =
      std::find(first, initials_.end(), log.contexts[order_.context_of(race.second_step)]);
  if (second != initials_.end()) std::iter_swap(first, second);
  all_.push_back({race, begin, static_cast<std::uint32_t>(initials_.size()) - begin});
}

}  // namespace gang::sim
