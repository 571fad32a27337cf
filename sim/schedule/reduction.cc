#include "sim/schedule/reduction.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/happens_before.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_bytes_of_tree = std::size_t{1} << 30;

// Those that need not make their step right after another one that is tried here: not the ways of a
// pick, of which the context goes on in one only.
std::span<const ScheduleTree::Tried> asleep_after(const ScheduleTree::Node& node) noexcept {
  return node.is_pick ? std::span<const ScheduleTree::Tried>() : node.all_tried();
}

// In whose place another one would have to be made. Not a pick, but the step that the context makes
// so.
std::size_t first_step_of(const Reversal& reversal, const StepLog& log) noexcept {
  std::size_t step = reversal.race.first_step;
  while (log.choices[step].is_pick) --step;
  return step;
}

// Whether the context could have made the step.
bool is_enabled(const StepLog& log, const StepChoice& choice, StepKey context) noexcept {
  bool found = false;
  log.for_each_enabled(choice, [&](StepKey key) { found |= key == context; });
  return found;
}

}  // namespace

std::optional<Beginning> Reduction::next() {
  Beginning beginning;
  if (!next(beginning)) return std::nullopt;
  return beginning;
}

bool Reduction::next(Beginning& beginning) {
  if (has_diverged() || is_too_large_) return false;
  beginning.choices.clear();
  beginning.sleeping.clear();
  beginning.chooses_at_every_call = false;
  beginning.branch = nullptr;
  beginning.round = round_;
  beginning.knowledge = known_.get();
  if (!has_begun_) {
    has_begun_ = true;
    decisive_.reset();
    return true;
  }
  while (Node* node = tree_.take_open()) {
    if (!node->left.empty()) {
      node->running = std::move(node->left.back());
      node->left.pop_back();
      branch_off(*node, beginning);
      return true;
    }
    tree_.release(node);
  }
  return false;
}

// Where the node's run leads.
void Reduction::branch_off(Node& node, Beginning& beginning) {
  beginning.branch = &node;
  beginning.choices.resize(node.depth + 1);
  beginning.choices.back() = node.running->context;
  for (const Node* step = &node; step->parent != nullptr; step = step->parent)
    beginning.choices[step->depth - 1] = step->context;
  beginning.sleeping = node.sleeping;
  for (const ScheduleTree::Tried& tried : asleep_after(node))
    beginning.sleeping.push_back({tried.context, tried.accesses});
  decide(beginning.choices, *node.running);
}

void Reduction::begin_another() {
  tree_.begin_another();
  known_ = std::make_shared<const Knowledge>();
  former_known_.clear();
  senders_.clear();
  decisive_.reset();
  undecided_.clear();
  classes_ = cut_ = contests_ = restarts_ = round_ = 0;
  has_begun_ = is_forgotten_ = is_too_large_ = has_diverged_ = false;
  diverged_at_.reset();
}

void Reduction::decide(const std::vector<StepKey>& choices,
                       const ScheduleTree::Alternative& alternative) {
  decisive_ = alternative.contest;
  undecided_ = choices;
  undecided_.back() = alternative.instead_of;
}

void Reduction::learn(const Guide& guide, Reversals& reversals) {
  const Beginning& began = guide.beginning();
  auto* const branch = static_cast<Node*>(began.branch);
  is_forgotten_ = began.round != round_;
  if (is_forgotten_) return;
  if (branch != nullptr)
    decide(began.choices, *branch->running);
  else
    decisive_.reset();
  if (!can_learn(guide)) return;
  const StepLog& log = guide.log();
  note_senders(log, began.first_new_step());
  if (began.knowledge != known_.get()) return try_again(*branch);
  if (!contains(*known_, log.knowledge)) {
    if (branch == nullptr && restarts_ > 0) return diverge();  // it has been made before
    Knowledge known = *known_;
    merge(known, log.knowledge);
    const bool is_contested =
        known.erased_keys.size() > known_->erased_keys.size() || are_messages_contested(log);
    former_known_.push_back(
        std::exchange(known_, std::make_shared<const Knowledge>(std::move(known))));
    if (branch != nullptr && is_contested) return begin_anew();
  }
  ++(guide.is_cut() ? cut_ : classes_);
  if (!find_known_nodes(guide)) return;
  if (branch != nullptr) branch->running.reset();
  const std::size_t first_step = began.first_new_step();
  if (reversals.read_with() != known_.get()) reversals.read(log, *known_, first_step);
  add_steps(log, first_step, steps_before_branches(log, reversals, first_step));
  find_other_ways(log, first_step);
  find_alternatives(log, reversals);
  if (branch != nullptr && !branch->left.empty()) tree_.open(*branch);
  if (!path_.empty()) tree_.release(path_.back());
  if (tree_.bytes() > most_bytes_of_tree) is_too_large_ = true;
}

bool Reduction::can_learn(const Guide& guide) {
  if (guide.has_diverged())
    diverge(guide.log().choices.size());
  else if (guide.is_full() || !HappensBefore::fits(guide.log()))
    is_too_large_ = true;
  return !has_diverged() && !is_too_large_;
}

void Reduction::diverge(std::optional<std::size_t> step) {
  has_diverged_ = true;
  diverged_at_ = step;
}

void Reduction::try_again(Node& branch) {
  is_forgotten_ = true;
  branch.left.push_back(*std::exchange(branch.running, std::nullopt));
  tree_.open(branch);
}

// What seemed to commute does not: what was left out may matter.
void Reduction::begin_anew() {
  tree_.clear();
  classes_ = cut_ = contests_ = 0;
  has_begun_ = false;
  is_forgotten_ = true;
  ++round_;
  ++restarts_;
}

// What comes before `first_step` has been noted of another run.
void Reduction::note_senders(const StepLog& log, std::size_t first_step) {
  if (first_step >= log.choices.size()) return;
  for (const Access& access : std::span(log.accesses).subspan(log.choices[first_step].first_access))
    if (access.kind == AccessKind::message)
      senders_.insert({access.object, log.contexts[access.task]});
}

// Whether several contexts have sent to a mailbox from which this run receives from any source.
bool Reduction::are_messages_contested(const StepLog& log) const {
  return std::ranges::any_of(log.knowledge.any_receives, [this](const AnyReceive& receive) {
    const auto is_one = [&receive](const auto& sender) { return sender.first == receive.mailbox; };
    return std::ranges::count_if(senders_, is_one) > 1;
  });
}

// Those of the beginning; whether the run began as it was to.
bool Reduction::find_known_nodes(const Guide& guide) {
  auto* const branch = static_cast<Node*>(guide.beginning().branch);
  path_.assign(branch == nullptr ? 0 : branch->depth + 1, nullptr);
  for (Node* node = branch; node != nullptr; node = node->parent) path_[node->depth] = node;
  const StepLog& log = guide.log();
  for (std::size_t i = 0; i < path_.size(); ++i) {
    if (i < log.choices.size() && log.digest_of_enabled(log.choices[i]) == path_[i]->enabled)
      continue;
    diverge(i);
    return false;
  }
  return true;
}

// So many steps come until the last one in whose place another one may be tried.
std::size_t Reduction::steps_before_branches(const StepLog& log, const Reversals& reversals,
                                             std::size_t first_step) {
  std::size_t steps = 0;
  for (const Reversal& reversal : reversals.all())
    steps = std::max<std::size_t>(steps, first_step_of(reversal, log) + 1);
  if (!log.ways.empty())
    for (std::size_t step = first_step; step < log.choices.size(); ++step)
      if (log.choices[step].is_pick) steps = std::max(steps, step + 1);
  return steps;
}

// Takes in the run's own steps, as far as other runs may begin there, the first one always.
void Reduction::add_steps(const StepLog& log, std::size_t first_step, std::size_t steps) {
  const std::size_t known_nodes = path_.size();
  path_.resize(std::max(known_nodes, steps), nullptr);
  for (std::size_t step = first_step; step < path_.size(); ++step) {
    if (step >= known_nodes) add_node(step, log);
    const std::span<const Access> made = log.accesses_of(step);
    ScheduleTree::try_context(*path_[step], log.choices[step].chosen)
        .assign(made.begin(), made.end());
    if (step >= known_nodes) tree_.weigh(*path_[step]);
  }
}

// For the state before a step.
void Reduction::add_node(std::size_t step, const StepLog& log) {
  const StepChoice& choice = log.choices[step];
  Node* const before = step == 0 ? nullptr : path_[step - 1];
  Node* const node =
      tree_.add(before, before == nullptr ? StepKey{0} : before->all_tried().back().context);
  path_[step] = node;
  node->enabled = log.digest_of_enabled(choice);
  node->is_pick = choice.is_pick;
  if (before != nullptr) fall_asleep(*before, *node);
}

// Those that slept before the last step that was tried there, or have been tried there before, go
// on sleeping unless they do not commute with it.
void Reduction::fall_asleep(const Node& before, Node& node) const {
  const std::span<const ScheduleTree::Tried> tried = before.all_tried();
  const std::vector<Access>& made = tried.back().accesses;
  const std::span<const ScheduleTree::Tried> others =
      asleep_after(before).first(before.is_pick ? 0 : tried.size() - 1);
  for (const SleepingStep& sleeping : before.sleeping)
    if (!conflict(sleeping.accesses, made, *known_)) node.sleeping.push_back(sleeping);
  for (const ScheduleTree::Tried& other : others)
    if (!conflict(other.accesses, made, *known_))
      node.sleeping.push_back({other.context, other.accesses});
}

// All ways of the picks that this run was the first to make.
void Reduction::find_other_ways(const StepLog& log, std::size_t first_step) {
  if (log.ways.empty()) return;
  for (std::size_t step = first_step; step < path_.size(); ++step) {
    const StepChoice& choice = log.choices[step];
    if (!choice.is_pick || path_[step]->tried_count > 1) continue;
    const std::span<const Access> ways = log.ways_at(choice);
    const Access& made = *std::ranges::find(ways, choice.chosen, &Access::object);
    for (const Access& way : ways)
      if (!path_[step]->knows(way.object))
        path_[step]->left.push_back({way.object, choice.chosen, {.first = made, .second = way}});
    tree_.open(*path_[step]);
  }
}

void Reduction::find_alternatives(const StepLog& log, const Reversals& reversals) {
  const auto is_pick = [](const StepChoice& choice) { return choice.is_pick; };
  const auto picks = log.ways.empty() ? 0 : std::ranges::count_if(log.choices, is_pick);
  contests_ = std::max<std::uint64_t>(
      contests_, reversals.order().races().size() + static_cast<std::uint64_t>(picks));
  for (const Reversal& reversal : reversals.all()) {
    const std::size_t first_step = first_step_of(reversal, log);
    Node& node = *path_[first_step];
    const std::span<const StepKey> initials = reversals.initials_of(reversal);
    if (std::ranges::any_of(initials, [&](StepKey context) { return node.knows(context); }))
      continue;
    // Where none can run, the second step cannot come first.
    const auto found = std::ranges::find_if(initials, [&](StepKey context) {
      return is_enabled(log, log.choices[first_step], context);
    });
    if (found == initials.end()) continue;
    node.left.push_back({*found, log.choices[first_step].chosen,
                         contest_of(log, reversals.order(), reversal.race)});
    tree_.open(node);
  }
}

}  // namespace gang::sim
