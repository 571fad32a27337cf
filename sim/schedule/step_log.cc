#include "sim/schedule/step_log.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "gang/hash.h"
#include "gang/operation.h"

namespace gang::sim {

void StepLog::clear() noexcept {
  marks.clear();
  accesses.clear();
  choices.clear();
  enabled.clear();
  ways.clear();
  contexts.clear();
  names.clear();
  parents.clear();
  taken.clear();
  knowledge.clear();
  seats.clear();
  is_incomplete = false;
}

namespace {

enum class Part : std::uint8_t { receive, any_message, message_of_rank };

StepKey part_of(StepKey mailbox, Part part, std::uint32_t index) noexcept {
  return splitmix64(mailbox, static_cast<std::uint64_t>(part) << 32 | index);
}

// What receives from any source have asked for at the mailbox.
auto asked_at(const AnyReceives& known, StepKey mailbox) {
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const auto first = known.lower_bound({mailbox, least});
  return std::ranges::subrange(
      first, std::ranges::find_if(first, known.end(),
                                  [=](const auto& one) { return one.mailbox != mailbox; }));
}

bool is_looked_for(const Access& message, const Access& look) noexcept {
  return look.mode == AccessMode::look && message.kind == AccessKind::message &&
         (look.object == coming_to(message.object) ||
          look.object == coming_from(message.rank, message.object));
}

// Whether the gang of a call is broken by `other`.
bool is_broken_by(const Access& call, const Access& other) noexcept {
  return call.gang == other.object && call.gang != 0 && other.mode == AccessMode::write;
}

// Of each pair of which one is among `keys`, the other one, too.
void spread(const boost::container::flat_set<std::pair<StepKey, StepKey>>& pairs,
            boost::container::flat_set<StepKey>& keys) {
  for (std::size_t before = ~std::size_t{0}; keys.size() != before && !keys.empty();) {
    before = keys.size();
    for (const auto& [one, other] : pairs) {
      if (keys.contains(one)) keys.insert(other);
      if (keys.contains(other)) keys.insert(one);
    }
  }
}

bool do_not_commute(const Access& a, const Access& b, const Knowledge& known) {
  if (a.object != b.object)
    return is_looked_for(a, b) || is_looked_for(b, a) || is_broken_by(a, b) || is_broken_by(b, a);
  if (!conflict(a.mode, b.mode)) return false;
  if (a.kind == AccessKind::presence) return known.erased_keys.contains(a.object);
  const AnyReceives& asked = known.any_receives;
  return a.kind != AccessKind::message || asked.contains({a.object, any_tag}) ||
         (a.tag == b.tag && asked.contains({a.object, a.tag}));
}

}  // namespace

void merge(Knowledge& known, const Knowledge& further) {
  known.any_receives.insert(further.any_receives.begin(), further.any_receives.end());
  known.erased_keys.insert(further.erased_keys.begin(), further.erased_keys.end());
  known.awaited_together.insert(further.awaited_together.begin(), further.awaited_together.end());
  spread(known.awaited_together, known.erased_keys);
}

bool contains(const Knowledge& known, const Knowledge& further) {
  return std::ranges::includes(known.any_receives, further.any_receives) &&
         std::ranges::includes(known.erased_keys, further.erased_keys) &&
         std::ranges::includes(known.awaited_together, further.awaited_together);
}

StepKey coming_to(StepKey mailbox) noexcept { return part_of(mailbox, Part::any_message, 0); }

StepKey coming_from(int rank, StepKey mailbox) noexcept {
  return part_of(mailbox, Part::message_of_rank, static_cast<std::uint32_t>(rank));
}

void add_objects(const Access& access, const Knowledge& known, std::vector<UsedObject>& into) {
  if (access.gang != 0) into.push_back({access.gang, AccessMode::read});
  if (access.kind == AccessKind::presence && !known.erased_keys.contains(access.object)) return;
  if (access.kind != AccessKind::message) return into.push_back({access.object, access.mode});
  add_takers(access, known, into);
  add_arrivals(access, into);
}

void add_takers(const Access& message, const Knowledge& known, std::vector<UsedObject>& into) {
  for (const auto& [mailbox, tag] : asked_at(known.any_receives, message.object))
    if (tag == any_tag || tag == message.tag)
      into.push_back(
          {part_of(mailbox, Part::receive, static_cast<std::uint32_t>(tag)), message.mode});
}

void add_arrivals(const Access& message, std::vector<UsedObject>& into) {
  into.push_back({coming_to(message.object), AccessMode::arrive});
  into.push_back({coming_from(message.rank, message.object), AccessMode::arrive});
}

bool conflict(std::span<const Access> a, std::span<const Access> b, const Knowledge& known) {
  for (const Access& first : a)
    for (const Access& second : b)
      if (do_not_commute(first, second, known)) return true;
  return false;
}

}  // namespace gang::sim
