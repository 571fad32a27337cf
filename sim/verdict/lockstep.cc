#include "sim/verdict/lockstep.h"

#include <algorithm>

#include "gang/operation_kind.h"

namespace gang::sim {

Lockstep::Lockstep(const CallSequences& sequences)
    : sequences_(sequences),
      at_(sequences.rank_count(), 0),
      is_walking_(sequences.rank_count(), true),
      standing_(sequences.token_count(), 0),
      besides_(sequences.rank_count()) {
  for (int rank = 0; rank < rank_count(); ++rank) enter(rank);
}

const SequenceStep* Lockstep::next(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  const auto& sequence = sequences_.of(rank);
  return is_walking_[index] && at_[index] < sequence.size() ? &sequence[at_[index]] : nullptr;
}

bool Lockstep::stands_at(int rank, Token token) const {
  const SequenceStep* step = next(rank);
  return step != nullptr && step->token == token;
}

const std::string& Lockstep::kind_at(int rank) const {
  return sequences_.histories().calls[next(rank)->call->call].call.kind;
}

bool Lockstep::is_batch(const SequenceStep& step) const {
  return step.call != nullptr &&
         sequences_.histories().calls[step.call->call].call.kind == to_string(OperationKind::batch);
}

void Lockstep::enter(int rank) {
  if (const SequenceStep* step = next(rank)) ++standing_[step->token];
}

void Lockstep::pass(int rank) {
  --standing_[next(rank)->token];
  ++at_[static_cast<std::size_t>(rank)];
  enter(rank);
}

void Lockstep::go_on(int rank) {
  besides_[static_cast<std::size_t>(rank)].reset();
  pass(rank);
}

void Lockstep::stop(int rank) {
  if (const SequenceStep* step = next(rank)) --standing_[step->token];
  is_walking_[static_cast<std::size_t>(rank)] = false;
}

std::optional<Token> Lockstep::begin_round() {
  is_ahead_.clear();
  passed_.clear();
  standards_.clear();
  std::map<Token, std::size_t> best;
  std::size_t most = 1;
  for (int rank = 0; rank < rank_count(); ++rank) {
    const SequenceStep* step = next(rank);
    if (step == nullptr || standing_[step->token] < most) continue;
    if (standing_[step->token] > most) best.clear();
    most = standing_[step->token];
    best.emplace(step->token, 0);
  }
  if (best.empty()) return std::nullopt;
  if (best.size() > 1)
    for (auto& [token, ranks] : best)
      for (int rank = 0; rank < rank_count(); ++rank)
        if (next(rank) != nullptr && sequences_.is_ahead(rank, place_of(rank).at, token)) ++ranks;
  const Token common =
      std::ranges::max_element(best, {}, [](const auto& one) { return one.second; })->first;
  for (int rank = 0; rank < rank_count(); ++rank)
    if (stands_at(rank, common)) standards_.push_back(rank);
  reference_ = place_of(*std::ranges::max_element(
      standards_, {}, [this](int rank) { return sequences_.of(rank).size() - place_of(rank).at; }));
  return common;
}

bool Lockstep::is_ahead(Token token) {
  constexpr int most_asked = 64;
  const auto [known, is_new] = is_ahead_.try_emplace(token, false);
  if (!is_new) return known->second;
  const int stride = 1 + (rank_count() - 1) / most_asked;
  std::size_t asked = 0;
  std::size_t have = 0;
  for (int rank = 0; rank < rank_count(); rank += stride) {
    if (next(rank) == nullptr) continue;
    ++asked;
    if (sequences_.is_ahead(rank, place_of(rank).at, token)) ++have;
  }
  known->second = 2 * have > asked;
  return known->second;
}

std::size_t Lockstep::times(int rank, Token token) const {
  const auto& sequence = sequences_.of(rank);
  const auto end = sequence.begin() + static_cast<std::ptrdiff_t>(place_of(rank).at);
  return static_cast<std::size_t>(std::count_if(
      sequence.begin(), end, [token](const SequenceStep& step) { return step.token == token; }));
}

std::size_t Lockstep::times_anywhere(int rank, Token token) const {
  const auto& sequence = sequences_.of(rank);
  const auto end = sequence.begin() + static_cast<std::ptrdiff_t>(place_of(rank).at);
  return static_cast<std::size_t>(std::count_if(
      sequence.begin(), end,
      [this, token](const SequenceStep& step) { return sequences_.is_alike(step.token, token); }));
}

bool Lockstep::has_passed(int rank, const RecordedCall& call) const {
  const auto& sequence = sequences_.of(rank);
  for (std::size_t at = place_of(rank).at; at-- > 0;) {
    const RecordedCall* own = sequence[at].call;
    if (own != nullptr && own->gang == call.gang && !sequences_.is_message(sequence[at].token))
      return own->sequence_number >= call.sequence_number;
  }
  return false;
}

void Lockstep::pass_settled(int rank, Token common) {
  for (const SequenceStep* step = next(rank); step != nullptr; step = next(rank)) {
    if (step->token == common || !sequences_.is_settled(*step)) return;
    if (is_ahead(step->token)) {
      if (!sequences_.is_message(step->token) || is_batch(*step)) return;
      const Outlook outlook = outlook_of(sequences_, place_of(rank), reference_);
      if (outlook.if_extra <= outlook.if_skipped) return;
    }
    passed_[step->token].push_back(rank);
    std::optional<std::size_t>& first = besides_[static_cast<std::size_t>(rank)];
    if (!first) first = place_of(rank).at;
    pass(rank);
  }
}

std::vector<int> Lockstep::passed(Token token) const {
  const auto found = passed_.find(token);
  return found == passed_.end() ? std::vector<int>{} : found->second;
}

bool Lockstep::did_last(int rank, Token one, Token other) const {
  const auto& sequence = sequences_.of(rank);
  for (std::size_t at = place_of(rank).at; at-- > 0;) {
    if (sequence[at].token == one) return true;
    if (sequence[at].token == other) return false;
  }
  return false;
}

Place Lockstep::first_own_of(int rank, Place expected) const {
  const Place here = place_of(rank);
  const SequenceStep& right = sequences_.of(expected.rank)[expected.at];
  const std::optional<std::size_t>& first = besides_[static_cast<std::size_t>(rank)];
  const RecordedCall* model = right.call != nullptr ? right.call : next(rank)->call;
  if (model == nullptr || !first) return here;
  const auto& calls = sequences_.histories().calls;
  const std::string& kind = calls[model->call].call.kind;
  for (std::size_t at = *first; at < here.at; ++at) {
    const SequenceStep& step = sequences_.of(rank)[at];
    if (step.token != right.token && calls[step.call->call].call.kind == kind &&
        sequences_.makers(step.token) <= sequences_.members(step.call->gang).size() &&
        (!stands_at(rank, right.token) || has_made_batch_before(rank)))
      return {rank, at};
  }
  return here;
}

bool Lockstep::has_made_batch_before(int rank) const {
  const std::optional<std::size_t>& first = besides_[static_cast<std::size_t>(rank)];
  const SequenceStep& here = *next(rank);
  const SequenceStep& last = sequences_.of(rank).back();
  if (!first || !is_batch(here) || !sequences_.is_alike(last.token, here.token) ||
      last.call->status != SliceStatus::pending)
    return false;
  for (std::size_t at = *first; at < place_of(rank).at; ++at) {
    const SequenceStep& step = sequences_.of(rank)[at];
    if (step.token != here.token && sequences_.is_alike(step.token, here.token) &&
        sequences_.makers(step.token) == 1)
      return true;
  }
  return false;
}

}  // namespace gang::sim
