#include "sim/schedule/step_log.h"

#include <algorithm>

#include "gang/hash.h"
#include "gang/operation.h"

namespace gang::sim {

void StepLog::clear() noexcept {
  marks.clear();
  accesses.clear();
  choices.clear();
  contexts.clear();
  names.clear();
  taken.clear();
  any_receives.clear();
  seats.clear();
  is_incomplete = false;
}

void add_objects(const Access& access, const AnyReceives& known, std::vector<StepKey>& into) {
  if (access.kind != AccessKind::message) return into.push_back(access.object);
  const auto tags = known.find(access.object);
  if (tags == known.end()) return;
  for (const std::int32_t tag : tags->second)
    if (tag == any_tag || tag == access.tag)
      into.push_back(splitmix64(access.object, static_cast<std::uint32_t>(tag)));
}

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b,
              const AnyReceives& known) {
  std::vector<StepKey> of_a, of_b;
  for (const Access& first : a) {
    for (const Access& second : b) {
      if (!conflict(first.mode, second.mode)) continue;
      of_a.clear();
      of_b.clear();
      add_objects(first, known, of_a);
      add_objects(second, known, of_b);
      for (const StepKey object : of_a)
        if (std::ranges::find(of_b, object) != of_b.end()) return true;
    }
  }
  return false;
}

}  // namespace gang::sim
