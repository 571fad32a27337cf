// A program that some faults make fail, and others do not.
#pragma once

#include <cstdint>

#include "gang/error.h"
#include "harness/program/program.h"
#include "harness/program/rank.h"

namespace gang::harness {

// Rank 0 takes an error of the gang for success: what it puts out is wrong then.
inline Program careless_program() {
  return {.name = "careless",
          .description = "",
          .run =
              [](Rank& rank) {
                std::int32_t sum = 1;
                for (int i = 0; i < 3; ++i) {
                  try {
                    rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                  } catch (const GangError&) {
                    if (rank.rank() != 0) throw;
                  }
                }
                rank.output("sum", sum);
              },
          .default_world_size = 4};
}

}  // namespace gang::harness
