// Which races of a run have to be run in the other order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/schedule/happens_before.h"
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

Contest contest_of(const StepLog& log, const HappensBefore& order, const Race& race);

// Before the first step of the race, one of `initials` would have to run.
struct Reversal {
  Race race;
  std::uint32_t first_initial = 0;
  std::uint32_t initials = 0;
};

// One object can read many logs, one after the other.
class Reversals {
 public:
  // Of the races whose second step is number `first_step` or later.
  void read(const StepLog& log, const Knowledge& known, std::size_t first_step);
  // Nothing has been read.
  void clear() noexcept { read_with_ = nullptr; }
  // What messages were known to be received from any source when a log was read; null: none was.
  const Knowledge* read_with() const noexcept { return read_with_; }

  std::span<const Reversal> all() const noexcept { return all_; }
  // The contexts that could make the first step of what the race would be in the other order: of
  // the steps that do not come after its first one, those that come after none of the others.
  std::span<const StepKey> initials_of(const Reversal& reversal) const noexcept {
    return std::span(initials_).subspan(reversal.first_initial, reversal.initials);
  }
  const HappensBefore& order() const noexcept { return order_; }

 private:
  void add_initials(const StepLog& log, const Race& race);

  HappensBefore order_;
  const Knowledge* read_with_ = nullptr;
  std::vector<Reversal> all_;
  std::vector<StepKey> initials_;
  std::vector<std::uint32_t> firsts_;  // the first step of each context
};

}  // namespace gang::sim
