#include "sim/contexts/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace gang::sim {

void invariant_broken(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "gangsim: internal invariant broken at %s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace gang::sim
