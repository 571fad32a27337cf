// What a context of a run is called.
#pragma once

#include <cstdint>
#include <string>

#include "sim/schedule/step_log.h"

namespace gang::sim {

// The same in every run of a program, if each context starts its own in the same order.
struct ContextName {
  int rank = 0;              // of the root gang
  std::string name;          // as the program calls it; empty: the rank's program
  std::uint64_t number = 1;  // of the rank's contexts of that name
};

ContextName context_name(const StepLog& log, TaskId task);

// "1", "1/loader", "1/loader 2", as tables call it.
std::string to_string(const ContextName& name);

}  // namespace gang::sim
