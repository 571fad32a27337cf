#include "sim/verdict/call_sequences.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace gang::sim {
namespace {

constexpr Token mixed_token = ~Token{0};  // its members made different calls

// A collective of all gangs of one name: where ranks are in step, they make it together.
struct Anchor {
  std::size_t ranks = 0;
  std::size_t last_rank = 0;
  std::size_t position = 0;  // in the sequence of the first rank that has it
};

using AnchorKey = std::pair<std::string_view, std::uint64_t>;

}  // namespace

CallSequences::CallSequences(const CallHistories& histories) : histories_(histories) {
  is_message_.push_back(false);  // the end
  operations_.push_back(0);
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> operations;
  for (const RecordedGang& gang : histories.gangs) ++gangs_of_name_[gang.label.name];
  std::map<std::tuple<std::string, std::string_view, std::string_view>, Token> known;
  for (const CallHistory& history : histories.ranks)
    for (const RecordedCall& call : history.calls) {
      const std::uint64_t key = (std::uint64_t{call.call} << 32) | call.gang;
      if (tokens_.contains(key)) continue;
      const TimelineCall& made = histories.calls[call.call];
      const auto [place, is_new] = known.try_emplace(
          {to_string(made.location), made.call.kind, histories.gangs[call.gang].label.name},
          static_cast<Token>(is_message_.size()));
      if (is_new) {
        is_message_.push_back(gang::sim::is_message(made));
        const auto [operation, is_first] =
            operations.try_emplace({made.call.kind, histories.gangs[call.gang].label.name},
                                   static_cast<std::uint32_t>(operations.size() + 1));
        operations_.push_back(operation->second);
      }
      tokens_.emplace(key, place->second);
    }
  for (const CallHistory& history : histories.ranks) sequences_.push_back(sequence_of(history));
  is_cut_ = std::ranges::any_of(histories.ranks,
                                [](const CallHistory& history) { return history.left_out != 0; });
  if (is_cut_) cut();
  find_settled();
  find_last();
}

Token CallSequences::token_of(const RecordedCall& call) {
  return tokens_.at((std::uint64_t{call.call} << 32) | call.gang);
}

std::vector<SequenceStep> CallSequences::sequence_of(const CallHistory& history) {
  std::vector<SequenceStep> sequence;
  sequence.reserve(history.calls.size() + 1);
  for (const RecordedCall& call : history.calls) {
    sequence.push_back({.token = token_of(call), .call = &call});
    if (call.status == SliceStatus::failed) return sequence;
  }
  if (history.end == LaneEnd::returned) sequence.push_back({});
  return sequence;
}

void CallSequences::cut() {
  std::map<AnchorKey, Anchor> anchors;
  const auto key_of = [this](const SequenceStep& step) {
    return AnchorKey{histories_.gangs[step.call->gang].label.name, step.call->sequence_number};
  };
  const auto is_collective = [this](const SequenceStep& step) {
    return step.call != nullptr && !is_message_[step.token];
  };
  for (std::size_t rank = 0; rank < sequences_.size(); ++rank)
    for (std::size_t i = 0; i < sequences_[rank].size(); ++i) {
      if (!is_collective(sequences_[rank][i])) continue;
      Anchor& anchor = anchors[key_of(sequences_[rank][i])];
      if (anchor.ranks == 0) anchor.position = i;
      if (anchor.ranks == 0 || anchor.last_rank != rank) ++anchor.ranks;
      anchor.last_rank = rank;
    }
  const auto best = std::ranges::max_element(anchors, [](const auto& a, const auto& b) {
    return a.second.ranks != b.second.ranks ? a.second.ranks < b.second.ranks
                                            : a.second.position > b.second.position;
  });
  const bool has_most = best != anchors.end() && 2 * best->second.ranks > sequences_.size();
  for (std::vector<SequenceStep>& sequence : sequences_) {
    const auto begin =
        has_most ? std::ranges::find_if(sequence,
                                        [&](const SequenceStep& step) {
                                          return is_collective(step) && key_of(step) == best->first;
                                        })
                 : sequence.end();
    sequence.erase(sequence.begin(), begin);
  }
}

void CallSequences::find_settled() {
  for (const auto& sequence : sequences_)
    for (const SequenceStep& step : sequence) {
      if (step.call == nullptr || is_message_[step.token]) continue;
      const auto [known, is_new] = at_.try_emplace(place(*step.call), step.token);
      if (!is_new && known->second != step.token) known->second = mixed_token;
    }
  was_settled_.assign(is_message_.size(), false);
  for (const auto& sequence : sequences_)
    for (const SequenceStep& step : sequence)
      if (is_settled(step)) was_settled_[step.token] = true;
}

void CallSequences::find_last() {
  makers_.assign(is_message_.size(), 0);
  for (const auto& sequence : sequences_) {
    std::map<Token, std::size_t> last;
    for (std::size_t i = 0; i < sequence.size(); ++i) last[sequence[i].token] = i;
    last_at_.emplace_back(last.begin(), last.end());
    for (const auto& [token, at] : last) ++makers_[token];
  }
}

bool CallSequences::is_ahead(int rank, std::size_t at, Token token) const {
  const auto& last = last_at_[static_cast<std::size_t>(rank)];
  const auto place =
      std::ranges::lower_bound(last, token, {}, &std::pair<Token, std::size_t>::first);
  return place != last.end() && place->first == token && place->second >= at;
}

bool CallSequences::is_settled(const SequenceStep& step) const {
  if (step.call == nullptr || step.call->status != SliceStatus::complete) return false;
  return is_message_[step.token] || at_.at(place(*step.call)) == step.token;
}

std::size_t CallSequences::namesakes(std::uint32_t gang) const {
  return gangs_of_name_.at(histories_.gangs[gang].label.name);
}

}  // namespace gang::sim
