// Deeds as tests compare them.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/continuations.h"

namespace gang::sim::test {

// "1/loader: locks a mutex".
inline std::vector<std::string> deeds_of(const Continuation& continuation) {
  std::vector<std::string> deeds;
  for (const auto& [context, did] : continuation.deeds) deeds.push_back(context + ": " + did);
  return deeds;
}

}  // namespace gang::sim::test
