// Every way in which the faults of a plan can come about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/faults/fault_plan.h"

namespace gang::sim {

// Whether the course of its rank alone decides when the fault happens and what it does: not chance,
// another rank, or messages on their way.
bool is_of_rank_alone(const Fault& fault) noexcept;

// Why the cases of the plan cannot be listed: "fault 2, drop_message, holds up or changes
// messages"; empty if they can.
std::string why_not_listed(const FaultPlan& plan);

// What the runs with one case have shown of one of its faults.
struct SeenFault {
  bool has_fired = false;
  // Of a death inside an operation: its other members, if it completed; see FiredFault::witnesses.
  std::vector<int> witnesses;
};

// All of them, one after the other: each is a drawn plan. Faults that may stay away do; victims are
// all that may be drawn; operations are counted up for as long as there are so many; of a death
// inside an operation, any of those who see it complete may get the error instead.
//
//   FaultCases cases(plan, world_size);
//   while (const std::optional<FaultPlan> drawn = cases.next()) {
//     ... all runs with it ...
//     cases.learn(seen);
//   }
class FaultCases {
 public:
  // Of a plan that can be listed. Throws what validate does.
  FaultCases(const FaultPlan& plan, int world_size);
  FaultCases(const FaultCases&) = delete;
  FaultCases& operator=(const FaultCases&) = delete;

  // The next one; none: that was all. The first one has as few faults as can be.
  std::optional<FaultPlan> next();

  // What the runs with the last case have shown: one for each of its faults, in their order.
  void learn(const std::vector<SeenFault>& seen);

 private:
  // Some of the numbers below a bound; all choices of so many, one after the other.
  struct Combination {
    std::vector<int> chosen;
    int bound = 0;

    void begin(int count);
    bool advance();
  };

  // Where one fault of the plan stands.
  struct Place {
    const Fault* fault = nullptr;
    bool is_absent = false;
    Combination ranks;
    Combination nodes;
    std::vector<FaultMoment> moments;
    std::size_t moment = 0;
    std::uint64_t operation = 0;
    std::uint64_t told = 0;  // a bit for each of the witnesses that get the error
    SeenFault seen;          // in all runs since it stands there
  };

  void begin(Place& place) const;
  void begin_victims(Place& place) const;
  bool advance(Place& place) const;
  Fault drawn(const Place& place) const;

  FaultPlan plan_;
  int world_size_;
  std::vector<Place> places_;
  bool has_begun_ = false;
  bool is_over_ = false;
};

}  // namespace gang::sim
