#include "sim/verdict/mistaken_messages.h"

#include <algorithm>
#include <set>

namespace gang::sim {
namespace {

constexpr std::size_t most_mistaken = 64;

}  // namespace

std::vector<Deviation> MistakenMessages::find() {
  std::vector<Deviation> mistaken;
  for (const auto& [rank, call] : blocked_) {
    const std::optional<Place> message = blocked_message_of(rank);
    if (!message) continue;
    if (std::optional<Deviation> deviation = judge(*message))
      mistaken.push_back(*std::move(deviation));
    if (mistaken.size() > most_mistaken) return {};
  }
  return mistaken;
}

std::optional<Deviation> MistakenMessages::judge(Place message) {
  const std::optional<Place> other = other_end_of(message);
  if (!other) return std::nullopt;
  const Arguments others = arguments_of(sequences_, *other);
  const Usage& others_usage = usage_at(*other);
  const bool is_shared =
      others_usage.places.contains(others) && others_usage.places.at(others).size() > 1;
  if (sequences_.makers(step_at(message).token) == 1) {
    // The place is its own; so is the mistake, if the others met that call from elsewhere.
    if (!is_shared || others_usage.of_met != others) return std::nullopt;
    const std::vector<Place> expected = met_elsewhere(message, others);
    if (expected.empty()) return std::nullopt;
    return deviation_of(sequences_, message, expected);
  }
  const Usage& usage = usage_at(message);
  const std::optional<Arguments>& expected = usage.of_most ? usage.of_most : usage.of_met;
  if (!expected || *expected == arguments_of(sequences_, message)) return std::nullopt;
  const bool expects_it = usage.of_most && others == *expected;
  if (!expects_it && !(is_shared && others_usage.of_most == others)) return std::nullopt;
  return deviation_of(sequences_, message, usage.places.at(*expected));
}

// Where other ranks made the same operation, with these arguments, and their message was exchanged:
// the last one of each.
std::vector<Place> MistakenMessages::met_elsewhere(Place message,
                                                   const Arguments& arguments) const {
  const Token token = step_at(message).token;
  std::vector<Place> places;
  for (int rank = 0; rank < static_cast<int>(sequences_.rank_count()); ++rank) {
    const auto& steps = sequences_.of(rank);
    for (std::size_t at = steps.size(); at-- > 0;) {
      if (!sequences_.is_alike(steps[at].token, token) || !sequences_.is_settled(steps[at]) ||
          arguments_of(sequences_, {rank, at}) != arguments)
        continue;
      if (rank != message.rank) places.push_back({rank, at});
      break;
    }
  }
  return places;
}

bool MistakenMessages::is_new_to_all(Place message) const {
  const std::optional<Place> other = other_end_of(message);
  return other && !sequences_.was_ever_settled(step_at(message).token) &&
         !sequences_.was_ever_settled(step_at(*other).token);
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
    if (is_same_line(made.location, call.location) && made.call.kind == call.call.kind)
      return Place{rank, at};
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

const MistakenMessages::Usage& MistakenMessages::usage_at(Place message) {
  const auto& steps = sequences_.of(message.rank);
  const Token token = steps[message.at].token;
  const auto begin = steps.begin();
  const auto before = static_cast<std::size_t>(
      std::count_if(begin, begin + static_cast<std::ptrdiff_t>(message.at),
                    [token](const SequenceStep& step) { return step.token == token; }));
  const auto [known, is_new] = usages_.try_emplace(Occurrence{token, before});
  if (is_new) known->second = find_usage(known->first);
  return known->second;
}

MistakenMessages::Usage MistakenMessages::find_usage(const Occurrence& occurrence) const {
  Usage usage;
  std::set<Arguments> met;
  std::size_t makers = 0;
  for (int rank = 0; rank < static_cast<int>(sequences_.rank_count()); ++rank) {
    const auto& steps = sequences_.of(rank);
    std::size_t before = 0;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (steps[at].token != occurrence.first || before++ != occurrence.second) continue;
      const Arguments arguments = arguments_of(sequences_, {rank, at});
      usage.places[arguments].push_back({rank, at});
      if (sequences_.is_settled(steps[at])) met.insert(arguments);
      ++makers;
      break;
    }
  }
  for (const auto& [arguments, places] : usage.places)
    if (2 * places.size() > makers) usage.of_most = arguments;
  if (met.size() == 1) usage.of_met = *met.begin();
  return usage;
}

}  // namespace gang::sim
