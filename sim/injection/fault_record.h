// The faults of a run: those that wait for their moment, and those that have happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "sim/faults/fault_plan.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

struct World;

// One fault of a plan and one of its victims; of a link, its source.
struct ArmedFault {
  const Fault* fault = nullptr;
  std::size_t index = 0;   // in the plan
  int rank = 0;            // root rank
  std::uint64_t seen = 0;  // operations or messages that fitted so far
  bool has_fired = false;
  bool is_spent = false;              // nothing more will come of it
  TimePoint ends = TimePoint::max();  // of one that goes on for a while
  std::size_t record = 0;             // where in the report it is noted
};

// What follows from a fault at a known time.
enum class FaultAct : std::uint8_t {
  notice,   // its peers learn of it
  restart,  // its rank begins again
  release,  // what it has held up goes on
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

// `time` and so much more; TimePoint::max() is never passed.
TimePoint later(TimePoint time, Duration by) noexcept;

// "crashed", as in "rank 3 crashed before ...".
std::string_view verb_of(FaultKind kind);

// Notes what happens. Random choices come from a stream of their own, so that faults that do not
// fire change nothing.
class FaultRecord {
 public:
  explicit FaultRecord(World& world);

  RandomStream& stream() noexcept { return stream_; }

  // Whether this operation or message, which fits, is one that the trigger picks.
  bool is_picked(ArmedFault& fault);

  // `fault` has happened; of one that goes on, all but the first time are only counted.
  void fire(ArmedFault& fault, std::string description);
  const std::vector<FiredFault>& fired() const noexcept { return fired_; }

  // The finding that a fault which has fired is, once it ends a program.
  std::shared_ptr<const Finding> finding_of(const ArmedFault& fault) const;

  void schedule(TimePoint time, FaultAct act, ArmedFault& fault);
  TimePoint next_event() const { return events_.empty() ? TimePoint::max() : events_.top().time; }

  // The earliest event, if it is due by now; it is not kept.
  std::optional<FaultEvent> take_due(TimePoint now);

 private:
  World& world_;
  RandomStream stream_;
  std::priority_queue<FaultEvent> events_;
  std::uint64_t next_event_ = 0;
  std::vector<FiredFault> fired_;
};

}  // namespace gang::sim
