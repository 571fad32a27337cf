#include "sim/verdict/deviation.h"

#include <algorithm>
#include <span>

namespace gang::sim {
namespace {

using Steps = std::span<const SequenceStep>;

constexpr std::size_t most_steps_compared = 64;  // steps, to see how a rank goes on

Steps steps_from(const CallSequences& sequences, Place place, std::size_t offset = 0) {
  const Steps steps(sequences.of(place.rank));
  return steps.subspan(std::min(place.at + offset, steps.size()));
}

// For how long two ranks do the same.
std::size_t common_length(Steps one, Steps other) {
  const std::size_t most = std::min({one.size(), other.size(), most_steps_compared});
  std::size_t length = 0;
  while (length < most && one[length].token == other[length].token) ++length;
  return length;
}

bool has(Steps steps, Token token) {
  return std::ranges::any_of(steps,
                             [token](const SequenceStep& step) { return step.token == token; });
}

// The one that goes on for longest: it shows most of what was to follow.
Place reference_of(const CallSequences& sequences, const std::vector<Place>& places) {
  return *std::ranges::max_element(
      places, {}, [&sequences](const Place& place) { return steps_from(sequences, place).size(); });
}

Deviance kind_of(const CallSequences& sequences, Place odd, Place reference) {
  const Steps own = steps_from(sequences, odd);
  const Steps own_rest = own.subspan(1);
  const Steps right = steps_from(sequences, reference);
  const Steps right_rest = right.subspan(1);
  const Token did = own.front().token;
  const Token expected = right.front().token;
  if (own.front().call == nullptr) return Deviance::returned;
  if (did == expected) return Deviance::other_arguments;
  const std::size_t if_extra = common_length(own_rest, right);
  if (has(right_rest, did)) {
    const std::size_t if_skipped = common_length(own, right_rest);
    const bool is_swapped = !right_rest.empty() && !own_rest.empty() &&
                            right_rest.front().token == did && own_rest.front().token == expected;
    const std::size_t if_swapped =
        is_swapped ? 2 + common_length(own_rest.subspan(1), right_rest.subspan(1)) : 0;
    if (if_swapped > if_skipped && if_swapped > if_extra) return Deviance::reordered;
    return if_extra > if_skipped ? Deviance::extra : Deviance::skipped;
  }
  if (if_extra > common_length(own_rest, right_rest)) return Deviance::extra;
  if (right.front().call == nullptr) return Deviance::extra;
  const CallHistories& histories = sequences.histories();
  const RecordedCall& own_call = *own.front().call;
  const RecordedCall& right_call = *right.front().call;
  const bool is_same_kind =
      histories.calls[own_call.call].call.kind == histories.calls[right_call.call].call.kind;
  const bool is_same_gang =
      histories.gangs[own_call.gang].label.name == histories.gangs[right_call.gang].label.name;
  if (!is_same_kind) return Deviance::other_call;
  if (!is_same_gang) return Deviance::other_gang;
  return arguments_of(sequences, odd) != arguments_of(sequences, reference)
             ? Deviance::other_arguments
             : Deviance::other_call;
}

// The last call that all of them made before; its call is empty if there is none.
CallSummary last_common_of(const CallSequences& sequences, std::vector<Place> places) {
  for (Place& place : places) {
    if (place.at == 0) return {};
    --place.at;
  }
  const Token token = step_at(sequences, places.front()).token;
  const bool is_common = std::ranges::all_of(
      places, [&](Place place) { return step_at(sequences, place).token == token; });
  return is_common ? summary_of(sequences, places) : CallSummary{};
}

}  // namespace

Outlook outlook_of(const CallSequences& sequences, Place odd, Place expected) {
  const Steps own = steps_from(sequences, odd);
  const Steps right = steps_from(sequences, expected);
  return {.if_skipped = common_length(own, right.subspan(1)),
          .if_extra = common_length(own.subspan(1), right)};
}

bool is_out_of_step(const CallSequences& sequences, Place odd, Place expected) {
  const RecordedCall& call = *step_at(sequences, odd).call;
  if (call.status == SliceStatus::failed)
    return arguments_of(sequences, odd) != arguments_of(sequences, expected) ||
           // They differ in their lists of ranks, which are not recorded.
           sequences.histories().calls[call.call].call.kind ==
               to_string(OperationKind::create_gang);
  const Steps own = steps_from(sequences, odd);
  const Steps right = steps_from(sequences, expected);
  const std::size_t if_in_step = common_length(own.subspan(1), right.subspan(1));
  const Outlook outlook = outlook_of(sequences, odd, expected);
  return std::max(outlook.if_extra, outlook.if_skipped) > if_in_step;
}

Arguments arguments_of(const CallSequences& sequences, Place place) {
  const TimelineCall& call = sequences.histories().calls[step_at(sequences, place).call->call];
  return {call.call.payload, call.call.qualifiers,
          is_message(call) ? std::nullopt : call.call.peer};
}

CallSummary summary_of(const CallSequences& sequences, const std::vector<Place>& places) {
  const CallHistories& histories = sequences.histories();
  CallSummary summary;
  for (const Place& place : places) summary.ranks.push_back(place.rank);
  std::ranges::sort(summary.ranks);
  const RecordedCall* first = step_at(sequences, places.front()).call;
  if (first == nullptr) {
    summary.note = "returned";
    return summary;
  }
  summary.gang = histories.gangs[first->gang].label;
  summary.call = histories.calls[first->call].call;
  summary.location = histories.calls[first->call].location;
  for (const Place& place : places) {
    const RecordedCall& call = *step_at(sequences, place).call;
    const CallText& text = histories.calls[call.call].call;
    if (call.gang != first->gang) summary.gang.members.clear();
    if (text.payload != summary.call.payload) summary.call.payload.clear();
    if (text.qualifiers != summary.call.qualifiers) summary.call.qualifiers.clear();
    if (text.peer != summary.call.peer) summary.call.peer.reset();
  }
  return summary;
}

Deviation deviation_of(const CallSequences& sequences, Place odd,
                       const std::vector<Place>& expected) {
  Deviation deviation{.rank = odd.rank,
                      .kind = kind_of(sequences, odd, reference_of(sequences, expected)),
                      .did = summary_of(sequences, {odd}),
                      .expected = summary_of(sequences, expected)};
  std::vector<Place> all = expected;
  all.push_back(odd);
  deviation.last_common = last_common_of(sequences, std::move(all));
  if (sequences.is_cut() && odd.at == 0) {
    const auto rank = static_cast<std::size_t>(odd.rank);
    deviation.recorded = sequences.histories().ranks[rank].calls.size();
  }
  return deviation;
}

}  // namespace gang::sim
