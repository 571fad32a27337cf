// How two runs go on from the step where they part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/reversals.h"

namespace gang::sim {

// What a context did that others may have noticed.
struct Deed {
  std::string context;  // as tables call it: "1", "1/loader"
  std::string did;      // "sends (pump.cc:31)", "locks a mutex"

  friend bool operator==(const Deed&, const Deed&) = default;
};

// One of the two. A value.
struct Continuation {
  static constexpr std::size_t most_deeds = 8;

  std::vector<Deed> deeds;    // up to two before the runs part, and the first ones after that
  std::uint64_t further = 0;  // and how many came after those
  std::string end;            // what became of the run: "deadlock", "completed"

  friend bool operator==(const Continuation&, const Continuation&) = default;
};

struct Continuations {
  Continuation found;      // the run that is shown
  Continuation otherwise;  // the one that decides a choice of it the other way

  friend bool operator==(const Continuations&, const Continuations&) = default;
};

// What the ranks that `contest` is about do in the two runs, without their ends. Empty where the
// runs do not part, or one of the logs is.
Continuations continuations_of(const StepLog& found, const StepLog& otherwise,
                               const Contest& contest);

// Side by side, in lines of 80 columns; empty where there is nothing to show.
std::string to_text(const Continuations& continuations);

}  // namespace gang::sim
