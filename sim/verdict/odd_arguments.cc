#include "sim/verdict/odd_arguments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace gang::sim {
namespace {

using ByArguments = std::map<Arguments, std::vector<Place>>;

constexpr std::uint32_t no_gang = ~std::uint32_t{0};  // messages are compared among all

bool is_wrong(const CallSequences& sequences, Place place) {
  return step_at(sequences, place).call->status == SliceStatus::failed;
}

// What more than half of them pass.
std::optional<Arguments> majority_of(const ByArguments& groups) {
  std::size_t all = 0;
  for (const auto& [arguments, places] : groups) all += places.size();
  for (const auto& [arguments, places] : groups)
    if (2 * places.size() > all) return arguments;
  return std::nullopt;
}

// What a rank passed when it made the call before, if it did.
std::optional<Arguments> earlier_arguments(const CallSequences& sequences, Place place) {
  const Token token = step_at(sequences, place).token;
  for (std::size_t at = place.at; at-- > 0;)
    if (sequences.of(place.rank)[at].token == token)
      return arguments_of(sequences, {place.rank, at});
  return std::nullopt;
}

// Those that pass something else than before.
std::vector<Place> changed_in(const CallSequences& sequences, const ByArguments& groups) {
  std::vector<Place> changed;
  for (const auto& [arguments, places] : groups)
    for (const Place& place : places) {
      const std::optional<Arguments> earlier = earlier_arguments(sequences, place);
      if (earlier && *earlier != arguments) changed.push_back(place);
    }
  return changed;
}

// By gang.
using Gangs = std::map<std::uint32_t, ByArguments>;

// What the members of all other gangs pass, whose members agree; nothing where gangs differ.
std::optional<Arguments> agreed_by(const Gangs& gangs) {
  std::set<Arguments> agreed;
  for (const auto& [gang, groups] : gangs)
    if (groups.size() == 1) agreed.insert(groups.begin()->first);
  return agreed.size() == 1 ? std::optional(*agreed.begin()) : std::nullopt;
}

// Whether gangs whose members agree pass what they passed before.
bool is_constant(const CallSequences& sequences, const Gangs& gangs) {
  return std::ranges::all_of(gangs, [&sequences](const auto& gang) {
    return gang.second.size() > 1 || changed_in(sequences, gang.second).empty();
  });
}

}  // namespace

std::vector<int> odd_in_arguments(const CallSequences& sequences,
                                  const std::vector<Place>& places) {
  Gangs gangs;
  for (const Place& place : places) {
    const SequenceStep& step = step_at(sequences, place);
    if (step.call == nullptr) return {};
    gangs[sequences.is_message(step.token) ? no_gang : step.call->gang]
         [arguments_of(sequences, place)]
             .push_back(place);
  }
  std::vector<int> odd;
  const auto add = [&](Place place) {
    if (is_wrong(sequences, place)) odd.push_back(place.rank);
  };
  for (const auto& [gang, groups] : gangs) {
    if (groups.size() == 1) continue;
    std::optional<Arguments> expected = majority_of(groups);
    if (!expected) {
      const std::vector<Place> changed = changed_in(sequences, groups);
      if (!changed.empty() && is_constant(sequences, gangs)) {
        std::ranges::for_each(changed, add);
        continue;
      }
      expected = agreed_by(gangs);
      if (!expected || !groups.contains(*expected)) continue;
    }
    for (const auto& [arguments, members] : groups)
      if (arguments != *expected) std::ranges::for_each(members, add);
  }
  return odd;
}

}  // namespace gang::sim
