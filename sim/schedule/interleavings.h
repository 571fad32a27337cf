// Every interleaving of a program's steps, one after the other: what Reduction is compared with.
#pragma once

#include <utility>
#include <vector>

#include "sim/schedule/guide.h"

namespace gang::sim {

// Without any reduction, so for tiny programs only.
//
//   Interleavings all;
//   do {
//     guide->begin(all.beginning(), none);
//     ... one run under SchedulerKind::guided ...
//   } while (all.next(guide->log()));
class Interleavings {
 public:
  // Steps that end at every call; or those of explorations, which go on until they have done
  // something: fewer.
  enum class Steps { calls, deeds };
  explicit Interleavings(Steps steps = Steps::calls) {
    beginning_.chooses_at_every_call = steps == Steps::calls;
  }

  // Of the run to be made.
  const Beginning& beginning() const noexcept { return beginning_; }

  // Takes in the run that has been made; whether another one is left.
  bool next(const StepLog& log) {
    beginning_.choices.clear();
    for (const StepChoice& choice : log.choices) beginning_.choices.push_back(choice.chosen);
    for (std::size_t i = left_.size(); i < log.choices.size(); ++i) {
      left_.emplace_back();
      ways_.push_back(0);
      log.for_each_enabled(log.choices[i], [&](StepKey context) {
        ++ways_.back();
        if (context != log.choices[i].chosen) left_.back().push_back(context);
      });
    }
    while (!left_.empty() && left_.back().empty()) left_.pop_back();
    ways_.resize(left_.size());
    if (left_.empty()) return false;
    beginning_.choices.resize(left_.size());
    beginning_.choices.back() = left_.back().back();
    left_.back().pop_back();
    return true;
  }

  // While some are left: which share of all has been seen, if as many follow each way of a choice.
  double share_seen() const noexcept {
    double seen = 0;
    double of_this = 1;  // the share of what begins like the next run
    for (std::size_t i = 0; i < left_.size(); ++i) {
      of_this /= static_cast<double>(ways_[i]);
      seen += of_this * static_cast<double>(ways_[i] - left_[i].size() - 1);
    }
    return seen;
  }

 private:
  Beginning beginning_;
  std::vector<std::vector<StepKey>> left_;  // by choice: who has not been tried
  std::vector<std::size_t> ways_;           // by choice: who could be
};

}  // namespace gang::sim
