// Which schedules of a program have to be run so that all others are like one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/container/flat_set.hpp>

#include "sim/schedule/guide.h"
#include "sim/schedule/reversals.h"
#include "sim/schedule/schedule_tree.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// Dynamic partial-order reduction with source sets and sleep sets. Two runs are equivalent if one
// becomes the other by exchanging neighbouring steps that commute; of each class exactly one run is
// completed, and none twice. A run may be cut short once all that could follow has been seen.
// Source: Abdulla, Aronsson, Jonsson and Sagonas, "Optimal dynamic partial order reduction", POPL
// 2014 (algorithm 1).
//
//   Reduction reduction;
//   while (auto beginning = reduction.next()) {
//     guide->begin(*std::move(beginning), reduction.known());
//     ... one run under SchedulerKind::guided ...
//     reduction.learn(*guide);
//   }
//
// Several runs may be under way at once: next() may be called again before learn(). What comes of
// it depends on the order of these calls only.
class Reduction {
 public:
  // What a further run begins with; none if there is none until others have been learned, or after
  // a problem.
  std::optional<Beginning> next();
  // The same in the memory of `beginning`; returns whether there is one.
  bool next(Beginning& beginning);

  // Takes in a run that has been made. `reversals` are those of its log, if they have been read;
  // otherwise, or if known() has changed since, they are read here.
  void learn(const Guide& guide, Reversals& reversals);

  // Stays as it is as long as this object: what is learned later is in another one.
  const Knowledge& known() const noexcept { return *known_; }

  std::uint64_t classes() const noexcept { return classes_; }    // runs to the end
  std::uint64_t cut() const noexcept { return cut_; }            // runs that were cut short
  std::uint64_t contests() const noexcept { return contests_; }  // most in a run

  // How often the search has begun anew, because a run received from any source, or erased a key,
  // where none before did: what seemed to commute does not.
  std::uint64_t restarts() const noexcept { return restarts_; }

  // Of the run that was begun or learned last: the contest that it decides in the other way than a
  // run before it, which went the same way until then; and what a run begins with that decides it
  // as before. None for the first run.
  const std::optional<Contest>& decisive() const noexcept { return decisive_; }
  const std::vector<StepKey>& undecided() const noexcept { return undecided_; }

  // The run that was learned last counts neither as a class nor as cut: it was made with less
  // knowledge of the program than there is now, and will be made again.
  bool is_forgotten() const noexcept { return is_forgotten_; }

  // A run did not repeat what one before did under the same choices; the step that it came to then,
  // unless it only showed something of the program that the other one did not.
  bool has_diverged() const noexcept { return has_diverged_; }
  const std::optional<std::size_t>& diverged_at() const noexcept { return diverged_at_; }

  // A run had too many steps of too many contexts to tell which of them commute, or there are too
  // many runs to begin.
  bool is_too_large() const noexcept { return is_too_large_; }

  // As if new, for another program, but for memory: that of most programs is used again.
  void begin_another();

 private:
  using Node = ScheduleTree::Node;

  bool can_learn(const Guide& guide);
  void diverge(std::optional<std::size_t> step = {});
  void branch_off(Node& node, Beginning& beginning);
  void decide(const std::vector<StepKey>& choices, const ScheduleTree::Alternative& alternative);
  void try_again(Node& branch);
  void begin_anew();
  void note_senders(const StepLog& log, std::size_t first_step);
  bool are_messages_contested(const StepLog& log) const;
  bool find_known_nodes(const Guide& guide);
  static std::size_t steps_before_branches(const StepLog& log, const Reversals& reversals,
                                           std::size_t first_step);
  void add_steps(const StepLog& log, std::size_t first_step, std::size_t steps);
  void add_node(std::size_t step, const StepLog& log);
  void fall_asleep(const Node& before, Node& node) const;
  void find_other_ways(const StepLog& log, std::size_t first_step);
  void find_alternatives(const StepLog& log, const Reversals& reversals);

  ScheduleTree tree_;
  std::vector<Node*> path_;  // of the run that is learned, by step
  std::shared_ptr<const Knowledge> known_ = std::make_shared<const Knowledge>();
  std::vector<std::shared_ptr<const Knowledge>> former_known_;  // which runs may still refer to
  boost::container::flat_set<std::pair<StepKey, StepKey>> senders_;  // a mailbox, and a context
  std::optional<Contest> decisive_;
  std::vector<StepKey> undecided_;
  std::uint64_t classes_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t contests_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t round_ = 0;  // of the tree
  bool has_begun_ = false;
  bool is_forgotten_ = false;
  bool has_diverged_ = false;
  std::optional<std::size_t> diverged_at_;
  bool is_too_large_ = false;
};

}  // namespace gang::sim
