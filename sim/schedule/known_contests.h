// What the contexts of a program contest, as far as some of its runs have shown.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/schedule/step_log.h"

namespace gang::sim {

// Learns from logs which objects several contexts access in ways that do not commute; then counts
// the steps that do so.
class KnownContests {
 public:
  void learn(const StepLog& log);

  // Counts the contested steps of a run, once all has been learned.
  void measure(const StepLog& log);
  std::uint64_t contested_steps(const StepLog& log) const;
  // The same of what the steps did, which a Guide notes that only watches, too.
  std::uint64_t contested_accesses(const StepLog& log) const;

  // Whether a step with these accesses may not commute with one of another context. It may if it
  // does something to an object that has not been seen.
  bool is_contested(std::span<const Access> accesses) const;

  // What the step number `index` of a context, from 0, did in the latest run that was learned from.
  // None: it was not seen.
  const std::vector<Access>* step_of(StepKey context, std::size_t index) const;

  const Knowledge& knowledge() const noexcept { return knowledge_; }
  std::uint64_t contexts() const noexcept { return contexts_; }  // the most in a run
  std::uint64_t steps() const noexcept { return steps_; }        // contested, the most in a run

 private:
  // Who has accessed an object, and how.
  struct Object {
    struct User {
      StepKey context;
      AccessMode mode;
    };
    std::vector<User> users;
    bool is_contested = false;
  };

  Knowledge knowledge_;
  std::unordered_map<StepKey, Object> objects_;  // mailboxes, too: those that have been seen
  std::unordered_map<StepKey, std::vector<std::vector<Access>>> steps_of_;  // by context
  std::uint64_t contexts_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace gang::sim
