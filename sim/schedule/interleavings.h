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
  // Of the run to be made.
  const Beginning& beginning() const noexcept { return beginning_; }

  // Takes in the run that has been made; whether another one is left.
  bool next(const StepLog& log) {
    beginning_.choices.clear();
    for (const StepChoice& choice : log.choices) beginning_.choices.push_back(choice.chosen);
    for (std::size_t i = left_.size(); i < log.choices.size(); ++i) {
      left_.emplace_back();
      for (const StepKey context : log.choices[i].enabled)
        if (context != log.choices[i].chosen) left_.back().push_back(context);
    }
    while (!left_.empty() && left_.back().empty()) left_.pop_back();
    if (left_.empty()) return false;
    beginning_.choices.resize(left_.size());
    beginning_.choices.back() = left_.back().back();
    left_.back().pop_back();
    return true;
  }

 private:
  Beginning beginning_;
  std::vector<std::vector<StepKey>> left_;  // by choice: who has not been tried
};

}  // namespace gang::sim
