// Which schedules of a program have to be run so that all others are like one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/guide.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// Two steps of different contexts that do not commute, in the order in which a run took them, and
// could have come in the other order.
struct Contest {
  Access first;
  Access second;
  std::string first_context;  // its name; empty: a rank's program
  std::string second_context;
  std::optional<TakenByAny> receive;  // of messages: the first that took one of the two
};

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
class Reduction {
 public:
  // What the next run begins with; none once every class has been seen, or after a problem.
  std::optional<Beginning> next();

  // Takes in the run that has been made.
  void learn(const Guide& guide);

  const AnyReceives& known() const noexcept { return known_; }

  std::uint64_t classes() const noexcept { return classes_; }    // runs to the end
  std::uint64_t cut() const noexcept { return cut_; }            // runs that were cut short
  std::uint64_t contests() const noexcept { return contests_; }  // most in a run

  // How often the search has begun anew, because a run received from any source where none before
  // did: messages that seemed to commute do not.
  std::uint64_t restarts() const noexcept { return restarts_; }

  // What a run begins with that decides that contest as the run before did.
  const std::vector<StepKey>& undecided() const noexcept { return undecided_; }

  // The contest that the last run decided in the other way than a run before it, which went the
  // same way until then. None for the first run.
  const std::optional<Contest>& decisive() const noexcept { return decisive_; }

  // The run did not repeat what the one before did under the same choices.
  bool has_diverged() const noexcept { return has_diverged_; }

  // A run had too many steps of too many contexts to tell which of them commute.
  bool is_too_large() const noexcept { return is_too_large_; }

 private:
  struct Alternative {
    StepKey context = 0;
    StepKey instead_of = 0;
    Contest contest;
  };
  // The state before a step.
  struct Node {
    StepKey chosen = 0;
    std::vector<StepKey> enabled;
    std::vector<Access> accesses;        // of the chosen step
    std::vector<SleepingStep> sleeping;  // before this node was reached
    std::vector<SleepingStep> done;      // chosen here before
    std::vector<Alternative> left;
  };

  void note_senders(const StepLog& log);
  bool are_messages_contested(const StepLog& log) const;
  bool take_nodes(const StepLog& log);
  void find_alternatives(const StepLog& log);
  void add_alternative(Node& node, const std::vector<StepKey>& initials, const Contest& contest);

  std::vector<Node> nodes_;
  AnyReceives known_;
  std::map<StepKey, std::set<StepKey>> senders_;  // contexts, by mailbox
  std::optional<Contest> decisive_;
  std::vector<StepKey> undecided_;
  std::uint64_t classes_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t contests_ = 0;
  std::uint64_t restarts_ = 0;
  bool has_begun_ = false;
  bool has_diverged_ = false;
  bool is_too_large_ = false;
};

}  // namespace gang::sim
