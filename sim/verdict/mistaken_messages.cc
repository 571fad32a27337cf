#include "sim/verdict/mistaken_messages.h"

#include <algorithm>
#include <set>

namespace gang::sim {
namespace {

using ByArguments = std::map<Arguments, std::size_t>;  // how many ranks pass them

// What more than half of them pass.
std::optional<Arguments> majority_of(const ByArguments& counts) {
  std::size_t all = 0;
  for (const auto& [arguments, count] : counts) all += count;
  for (const auto& [arguments, count] : counts)
    if (2 * count > all) return arguments;
  return std::nullopt;
}

}  // namespace

std::vector<int> MistakenMessages::among(const std::vector<Place>& places) {
  if (places.empty() || !sequences_.is_message(step_at(places.front()).token)) return {};
  ByArguments counts;
  std::set<Arguments> settled;
  for (const Place& place : places) {
    const Arguments arguments = arguments_of(sequences_, place);
    ++counts[arguments];
    if (sequences_.is_settled(step_at(place))) settled.insert(arguments);
  }
  if (counts.size() == 1) return {};
  std::optional<Arguments> expected = majority_of(counts);
  const bool is_majority = expected.has_value();
  if (!expected && settled.size() == 1) expected = *settled.begin();
  if (!expected) return {};
  std::vector<int> mistaken;
  for (const Place& place : places) {
    if (arguments_of(sequences_, place) == *expected) continue;
    const std::optional<Place> other = other_end_of(place);
    if (!other) continue;
    const bool expects_it = is_majority && arguments_of(sequences_, *other) == *expected;
    if (expects_it || is_usual(*other)) mistaken.push_back(place.rank);
  }
  return mistaken;
}

// The message that the rank's program is blocked in, if it is recorded.
std::optional<Place> MistakenMessages::blocked_message_of(int rank) const {
  const auto blocked = blocked_.find(rank);
  if (blocked == blocked_.end()) return std::nullopt;
  const BlockedCall& call = *blocked->second;
  const auto& steps = sequences_.of(rank);
  for (std::size_t at = steps.size(); at-- > 0;) {
    const RecordedCall* recorded = steps[at].call;
    if (recorded == nullptr || recorded->status != SliceStatus::pending ||
        !sequences_.is_message(steps[at].token))
      continue;
    const TimelineCall& made = sequences_.histories().calls[recorded->call];
    if (made.location == call.location && made.call.kind == call.call.kind) return Place{rank, at};
  }
  return std::nullopt;
}

// The message that would meet this one, if both ranks are blocked in them: a send and a receive
// that wait for each other.
std::optional<Place> MistakenMessages::other_end_of(Place message) const {
  if (blocked_message_of(message.rank) != message) return std::nullopt;
  const BlockedCall& own = *blocked_.at(message.rank);
  if (own.waits_for.size() != 1) return std::nullopt;
  const std::optional<Place> other = blocked_message_of(own.waits_for.front());
  if (!other) return std::nullopt;
  const BlockedCall& others = *blocked_.at(other->rank);
  const bool waits_too = std::ranges::binary_search(others.waits_for, message.rank);
  return waits_too && others.gang == own.gang && others.call.kind != own.call.kind ? other
                                                                                   : std::nullopt;
}

// Whether most ranks pass the same in this call.
bool MistakenMessages::is_usual(Place message) {
  const auto& steps = sequences_.of(message.rank);
  const Token token = steps[message.at].token;
  const auto begin = steps.begin();
  const auto before = static_cast<std::size_t>(
      std::count_if(begin, begin + static_cast<std::ptrdiff_t>(message.at),
                    [token](const SequenceStep& step) { return step.token == token; }));
  const auto [known, is_new] = usual_.try_emplace(Occurrence{token, before});
  if (is_new) known->second = find_usual(known->first);
  return known->second == arguments_of(sequences_, message);
}

std::optional<Arguments> MistakenMessages::find_usual(const Occurrence& occurrence) const {
  ByArguments counts;
  std::size_t makers = 0;
  for (int rank = 0; rank < static_cast<int>(sequences_.rank_count()); ++rank) {
    const auto& steps = sequences_.of(rank);
    std::size_t before = 0;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (steps[at].token != occurrence.first || before++ != occurrence.second) continue;
      ++counts[arguments_of(sequences_, {rank, at})];
      ++makers;
      break;
    }
  }
  return makers < 2 ? std::nullopt : majority_of(counts);
}

}  // namespace gang::sim
