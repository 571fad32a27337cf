// Drawn runs that put out something else because another message came first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/schedule/taken_messages.h"

namespace gang::harness {

// What runs that hold have put out, with the messages that their receives from any source took. One
// thread at a time.
class OutputsByMessages {
 public:
  // Run number `index` holds. Whether it may change `race`.
  bool note(std::uint64_t index, std::uint64_t digest, const sim::StepLog& log);

  // Two runs with different outputs.
  struct Race {
    std::uint64_t first = 0;  // the lowest number
    std::uint64_t second = 0;
    sim::Contest contest;  // of messages, as `first` decides it
  };

  // The lowest `second` of those whose receives took other messages; none: outputs do not differ,
  // or not by messages. Does not depend on the order in which runs were noted. Of many outputs, the
  // first few are compared.
  std::optional<Race> race() const;

 private:
  struct Held {
    std::uint64_t index = 0;  // the lowest
    std::vector<sim::TakenMessage> taken;
  };

  std::map<std::uint64_t, Held> held_;  // by digest
};

}  // namespace gang::harness
