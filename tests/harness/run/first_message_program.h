// A program whose result depends on the order of messages.
#pragma once

#include <cstdint>

#include "harness/program/program.h"
#include "harness/program/rank.h"

namespace gang::harness {

// Rank 0 receives two messages from any source and puts out the first, the number of its sender.
// For 3 ranks.
inline Program first_message_program() {
  return {.name = "first", .description = "", .run = [](Rank& rank) {
            std::int32_t value = rank.rank();
            if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
            rank.root()->recv(view_of(value));
            rank.output("first", value);
            rank.root()->recv(view_of(value));
          }};
}

}  // namespace gang::harness
