#include "sim/schedule/reduction.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/happens_before.h"

namespace gang::sim {
namespace {

bool has(const std::vector<SleepingStep>& steps, StepKey context) {
  return std::ranges::find(steps, context, &SleepingStep::context) != steps.end();
}

// Adds what is new; whether something was.
bool merge(AnyReceives& known, const AnyReceives& further) {
  bool is_new = false;
  for (const auto& [mailbox, tags] : further)
    for (const std::int32_t tag : tags) is_new |= known[mailbox].insert(tag).second;
  return is_new;
}

Contest contest_of(const StepLog& log, const HappensBefore& order, const Race& race) {
  Contest contest{.first = log.accesses[race.first_access],
                  .second = log.accesses[race.second_access],
                  .first_context = log.names[order.context_of(race.first_step)],
                  .second_context = log.names[order.context_of(race.second_step)]};
  if (contest.first.kind != AccessKind::message) return contest;
  for (const TakenByAny& taken : log.taken) {
    if (taken.message != contest.first.operation && taken.message != contest.second.operation)
      continue;
    contest.receive = taken;
    break;
  }
  return contest;
}

// The contexts that could make the first step of what `race` would be in the other order: of the
// steps that do not come after its first one, those that come after none of the others.
std::vector<StepKey> initials_of(const StepLog& log, const HappensBefore& order, const Race& race) {
  std::vector<std::uint32_t> firsts;  // the first step of each context
  std::vector<StepKey> initials;
  for (std::uint32_t step = race.first_step + 1; step <= race.second_step; ++step) {
    if (step != race.second_step && order.comes_after(step, race.first_step)) continue;
    const TaskId context = order.context_of(step);
    if (std::ranges::any_of(firsts,
                            [&](std::uint32_t f) { return order.context_of(f) == context; }))
      continue;
    if (std::ranges::none_of(firsts, [&](std::uint32_t f) { return order.comes_after(step, f); }))
      initials.push_back(log.contexts[context]);
    firsts.push_back(step);
  }
  // Preferably the one that was second itself.
  const auto second = std::ranges::find(initials, log.contexts[order.context_of(race.second_step)]);
  if (second != initials.end()) std::iter_swap(initials.begin(), second);
  return initials;
}

}  // namespace

std::optional<Beginning> Reduction::next() {
  if (has_diverged_ || is_too_large_) return std::nullopt;
  if (!has_begun_) {
    has_begun_ = true;
    decisive_.reset();
    return Beginning{};
  }
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    while (!node.left.empty()) {
      Alternative alternative = std::move(node.left.back());
      node.left.pop_back();
      if (has(node.sleeping, alternative.context)) continue;
      node.done.push_back({node.chosen, std::move(node.accesses)});
      node.chosen = alternative.context;
      node.accesses.clear();
      decisive_ = std::move(alternative.contest);
      Beginning beginning;
      for (const Node& step : nodes_) beginning.choices.push_back(step.chosen);
      undecided_ = beginning.choices;
      undecided_.back() = alternative.instead_of;
      beginning.sleeping = node.sleeping;
      beginning.sleeping.insert(beginning.sleeping.end(), node.done.begin(), node.done.end());
      return beginning;
    }
    nodes_.pop_back();
  }
  return std::nullopt;
}

void Reduction::learn(const Guide& guide) {
  const StepLog& log = guide.log();
  if (guide.has_diverged()) {
    has_diverged_ = true;
    return;
  }
  if (guide.is_full() || !HappensBefore::fits(log)) {
    is_too_large_ = true;
    return;
  }
  note_senders(log);
  if (merge(known_, log.any_receives) && !nodes_.empty() && are_messages_contested(log)) {
    // Messages that seemed to commute do not: what was left out may matter.
    nodes_.clear();
    classes_ = cut_ = contests_ = 0;
    has_begun_ = false;
    ++restarts_;
    return;
  }
  ++(guide.is_cut() ? cut_ : classes_);
  if (!take_nodes(log)) {
    has_diverged_ = true;
    return;
  }
  find_alternatives(log);
}

void Reduction::note_senders(const StepLog& log) {
  for (const StepMark& mark : log.marks) {
    if (mark.kind != StepMark::Kind::access) continue;
    const Access& access = log.accesses[mark.value];
    if (access.kind == AccessKind::message) senders_[access.object].insert(log.contexts[mark.task]);
  }
}

// Whether several contexts have sent to a mailbox from which this run receives from any source.
bool Reduction::are_messages_contested(const StepLog& log) const {
  return std::ranges::any_of(log.any_receives, [this](const auto& receives) {
    const auto senders = senders_.find(receives.first);
    return senders != senders_.end() && senders->second.size() > 1;
  });
}

// Adds the steps after the beginning; whether the run began as it was to.
bool Reduction::take_nodes(const StepLog& log) {
  if (log.choices.size() < nodes_.size()) return false;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (log.choices[i].enabled != nodes_[i].enabled) return false;
  const std::size_t known_nodes = nodes_.size();
  for (std::size_t i = known_nodes; i < log.choices.size(); ++i)
    nodes_.push_back({.chosen = log.choices[i].chosen, .enabled = log.choices[i].enabled});
  const std::size_t first_new = known_nodes == 0 ? 0 : known_nodes - 1;
  std::size_t step = 0;
  for (const StepMark& mark : log.marks) {
    if (mark.kind == StepMark::Kind::step) step = mark.value;
    if (mark.kind == StepMark::Kind::access && step >= first_new)
      nodes_[step].accesses.push_back(log.accesses[mark.value]);
  }
  for (std::size_t i = std::max<std::size_t>(known_nodes, 1); i < nodes_.size(); ++i) {
    const Node& before = nodes_[i - 1];
    for (const auto* steps : {&before.sleeping, &before.done})
      for (const SleepingStep& sleeping : *steps)
        if (!conflict(sleeping.accesses, before.accesses, known_))
          nodes_[i].sleeping.push_back(sleeping);
  }
  return true;
}

void Reduction::find_alternatives(const StepLog& log) {
  const HappensBefore order(log, known_);
  contests_ = std::max<std::uint64_t>(contests_, order.races().size());
  for (const Race& race : order.races())
    add_alternative(nodes_[race.first_step], initials_of(log, order, race),
                    contest_of(log, order, race));
}

void Reduction::add_alternative(Node& node, const std::vector<StepKey>& initials,
                                const Contest& contest) {
  const auto is_tried = [&node](StepKey context) {
    return context == node.chosen || has(node.done, context) || has(node.sleeping, context) ||
           std::ranges::find(node.left, context, &Alternative::context) != node.left.end();
  };
  if (std::ranges::any_of(initials, is_tried)) return;
  const auto can_run = [&node](StepKey context) {
    return std::ranges::find(node.enabled, context) != node.enabled.end();
  };
  // Where none can run, the second step cannot come first.
  const auto found = std::ranges::find_if(initials, can_run);
  if (found != initials.end()) node.left.push_back({*found, node.chosen, contest});
}

}  // namespace gang::sim
