#include "sim/schedule/step_log.h"

#include <algorithm>

#include "gang/hash.h"
#include "gang/operation.h"

namespace gang::sim {

void StepLog::clear() noexcept {
  marks.clear();
  accesses.clear();
  choices.clear();
  enabled.clear();
  contexts.clear();
  names.clear();
  parents.clear();
  taken.clear();
  any_receives.clear();
  seats.clear();
  is_incomplete = false;
}

void merge(AnyReceives& known, const AnyReceives& further) {
  for (const auto& [mailbox, tags] : further) known[mailbox].insert(tags.begin(), tags.end());
}

bool contains(const AnyReceives& known, const AnyReceives& further) {
  return std::ranges::all_of(further, [&known](const auto& receives) {
    const auto tags = known.find(receives.first);
    return tags != known.end() && std::ranges::includes(tags->second, receives.second);
  });
}

void add_objects(const Access& access, const AnyReceives& known, std::vector<StepKey>& into) {
  if (access.kind != AccessKind::message) return into.push_back(access.object);
  const auto tags = known.find(access.object);
  if (tags == known.end()) return;
  for (const std::int32_t tag : tags->second)
    if (tag == any_tag || tag == access.tag)
      into.push_back(splitmix64(access.object, static_cast<std::uint32_t>(tag)));
}

namespace {

bool do_not_commute(const Access& a, const Access& b, const AnyReceives& known) {
  if (a.object != b.object || !conflict(a.mode, b.mode)) return false;
  if (a.kind != AccessKind::message) return true;
  const auto tags = known.find(a.object);
  return tags != known.end() && std::ranges::any_of(tags->second, [&](std::int32_t tag) {
           return tag == any_tag || (tag == a.tag && tag == b.tag);
         });
}

}  // namespace

bool conflict(std::span<const Access> a, std::span<const Access> b, const AnyReceives& known) {
  for (const Access& first : a)
    for (const Access& second : b)
      if (do_not_commute(first, second, known)) return true;
  return false;
}

}  // namespace gang::sim
