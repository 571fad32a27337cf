// The faults of a run: those still waiting for their moment, and those that have happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "sim/faults/fault_plan.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"
#include "sim/schedule/step_log.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// One fault of a plan and one of its victims; for a link, its source.
struct ArmedFault {
  const Fault* fault = nullptr;
  std::size_t index = 0;   // in the plan
  int rank = 0;            // root rank
  std::uint64_t seen = 0;  // matching operations or messages so far
  bool has_fired = false;
  bool is_spent = false;              // it has no further effect
  TimePoint ends = TimePoint::max();  // for faults that last
  std::size_t record = 0;             // its index in the report
};

// A consequence of a fault at a known time.
enum class FaultAct : std::uint8_t {
  notice,   // its peers learn of it
  restart,  // its rank begins again
  release,  // operations that it held up continue
};

struct FaultEvent {
  TimePoint time{0};
  std::uint64_t order = 0;
  FaultAct act = FaultAct::notice;
  ArmedFault* fault = nullptr;

  bool operator<(const FaultEvent& other) const noexcept {  // a heap keeps the largest in front
    return time != other.time ? time > other.time : order > other.order;
  }
};

// "crashed", as in "rank 3 crashed before ...".
std::string_view verb_of(FaultKind kind);

// Records what happens. Random choices use a separate stream, so faults that do not fire change
// nothing.
class FaultRecord {
 public:
  explicit FaultRecord(World& world);

  RandomStream& stream() noexcept { return stream_; }

  // Whether the trigger selects this operation or message, which matches.
  bool is_picked(ArmedFault& fault);

  // `fault` has happened: "rank 3 crashed", "before all_reduce #4 on dp[0,2]". Only the first
  // occurrence is described; the others are counted.
  void fire(ArmedFault& fault, const std::string& what, const std::string& place = {});
  const std::vector<FiredFault>& fired() const noexcept { return fired_; }
  // Asked by whoever acts on it.
  bool have_fired() const;

  // The operation inside which the rank of `dead` died completes for these ranks, itself included.
  void note_witnesses(const ArmedFault& dead, const std::vector<int>& ranks);

  // The finding for a fired fault that ends a program.
  std::shared_ptr<const Finding> finding_of(const ArmedFault& fault) const;

  void schedule(TimePoint time, FaultAct act, ArmedFault& fault);
  TimePoint next_event() const { return events_.empty() ? TimePoint::max() : events_.top().time; }

  // Removes and returns the earliest event if it is due.
  std::optional<FaultEvent> take_due(TimePoint now);

 private:
  void note_access(AccessMode mode, int rank) const;

  World& world_;
  RandomStream stream_;
  std::priority_queue<FaultEvent> events_;
  std::uint64_t next_event_ = 0;
  std::vector<FiredFault> fired_;
};

// Whether a Guide is told of all that decides when a drawn fault happens, and what comes of it.
bool is_guided(const Fault& fault) noexcept;

// -- When faults happen --

// Whether the fault happens at a fixed time, whatever the rank does then. An exception needs a call
// to be thrown from; faults that only slow a rank down need calls to slow down.
bool happens_by_itself(const Fault& fault);

// Whether `fault` happens at this call of its rank. Counts the call if the trigger counts calls.
bool is_due(World& world, FaultRecord& record, ArmedFault& fault, const GangState& gang,
            const Operation& operation);

// The number of calls that are certain to pass before one that a fault of the rank may affect.
std::uint64_t quiet_calls_of(std::span<const ArmedFault> armed) noexcept;

}  // namespace gang::sim
