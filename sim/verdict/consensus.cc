#include "sim/verdict/consensus.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/verdict/call_sequences.h"
#include "sim/verdict/deviation.h"
#include "sim/verdict/habit.h"
#include "sim/verdict/lockstep.h"
#include "sim/verdict/mistaken_messages.h"
#include "sim/verdict/odd_arguments.h"

namespace gang::sim {
namespace {

// Ranks that have nothing in common need many rounds. One that is in step needs one for each step.
constexpr std::size_t most_rounds_per_step = 64;

// Members of one gang that stand in the same call, and those that stand where most ranks do.
struct Split {
  std::vector<int> in_call;
  std::vector<int> with_most;
};

class Walk {
 public:
  Walk(const CallSequences& sequences, const std::vector<BlockedCall>& blocked)
      : sequences_(sequences),
        ranks_(sequences),
        required_(sequences.rank_count(), 0),
        budget_(sequences.rank_count()) {
    for (int rank = 0; rank < ranks_.rank_count(); ++rank)
      budget_ += most_rounds_per_step * sequences.of(rank).size();
    for (const BlockedCall& call : blocked)
      if (call.context.empty()) blocked_[call.rank] = &call;
  }

  Consensus run() {
    consensus_.deviations = mistaken_messages_.find();
    if (!consensus_.deviations.empty()) return std::move(consensus_);
    while (!is_over_ && budget_ >= sequences_.rank_count()) {
      budget_ -= sequences_.rank_count();
      step();
    }
    return std::move(consensus_);
  }

 private:
  void step();
  void let_branches_pass();
  void require(int rank) { required_[static_cast<std::size_t>(rank)] = round_; }
  bool is_required(int rank) const { return required_[static_cast<std::size_t>(rank)] == round_; }
  void mark_required(Token common);
  std::vector<int> awaited_by_message_of(int rank) const;
  void mark_awaited(int rank);
  bool has_left_out_batch(int rank, Token common) const;
  void judge_call(int rank, const SequenceStep& step, Token common);
  std::vector<int> awaited_with_most(int rank, Token common) const;
  bool is_awaited_by_gang(int rank) const;
  bool is_on_other_gang(int rank, Token common) const;
  void judge_by_others(int rank, const Split& split, Token common);
  void blame_side(bool with_most, int rank, const Split& split, Token common);
  Split split_at(const SequenceStep& step, Token common) const;
  void blame_odd(Token common);
  void tell_sides(Token common);

  const CallSequences& sequences_;
  Lockstep ranks_;
  std::vector<std::uint64_t> required_;  // by rank: the last round in which it was waited for
  BlockedPrograms blocked_;
  MistakenMessages mistaken_messages_{sequences_, blocked_};
  std::vector<int> with_most_;    // ranks whose next step is the common one
  std::vector<int> others_;       // that stand elsewhere
  std::vector<int> in_branches_;  // in a call of their own that meets the common one
  std::map<int, Token> odd_;      // in this round: ranks, and what they were to do
  std::uint64_t round_ = 0;
  std::size_t budget_;  // ranks still to be looked at, in all rounds
  bool is_over_ = false;
  Consensus consensus_;
};

// Finds those whose call meets the common one, from another place of the program.
void Walk::let_branches_pass() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> met;
  for (const int rank : with_most_)
    if (const RecordedCall* call = ranks_.next(rank)->call;
        call != nullptr && !sequences_.is_message(ranks_.next(rank)->token)) {
      const auto [place, is_new] = met.try_emplace({call->gang, call->sequence_number}, rank);
      if (!is_new && sequences_.of(rank).size() - ranks_.place_of(rank).at >
                         sequences_.of(place->second).size() - ranks_.place_of(place->second).at)
        place->second = rank;
    }
  std::erase_if(others_, [&](int rank) {
    const SequenceStep& step = *ranks_.next(rank);
    if (step.call == nullptr || sequences_.is_message(step.token)) return false;
    const auto other = met.find({step.call->gang, step.call->sequence_number});
    if (other == met.end() || ranks_.kind_at(rank) != ranks_.kind_at(other->second) ||
        is_out_of_step(sequences_, ranks_.place_of(rank), ranks_.place_of(other->second)))
      return false;
    in_branches_.push_back(rank);
    return true;
  });
}

// Notes who is waited for by those who do what most ranks do, and has not done that yet.
void Walk::mark_required(Token common) {
  std::set<std::uint32_t> gangs;
  for (const int rank : with_most_) {
    const RecordedCall* call = ranks_.next(rank)->call;
    if (call == nullptr) continue;
    if (sequences_.is_message(common))
      mark_awaited(rank);
    else if (gangs.insert(call->gang).second)
      for (const int member : sequences_.members(call->gang))
        if (!ranks_.stands_at(member, common) && !ranks_.has_passed(member, *call)) require(member);
  }
  for (const int rank : others_) {
    const SequenceStep& step = *ranks_.next(rank);
    if (step.call != nullptr && common == returned_token) require(rank);
    if (has_left_out_batch(rank, common)) require(rank);
  }
}

// Whom the last message of the rank waits for, or has waited for until it failed with its gang.
std::vector<int> Walk::awaited_by_message_of(int rank) const {
  const SequenceStep& step = *ranks_.next(rank);
  if (&step != &sequences_.of(rank).back()) return {};
  const auto waits = blocked_.find(rank);
  if (step.call->status == SliceStatus::pending && waits != blocked_.end())
    return waits->second->waits_for;
  const int peer = sequences_.histories().calls[step.call->call].call.peer.value_or(-1);
  const bool is_rank = peer >= 0 && peer < ranks_.rank_count();  // dumps may name others
  return step.call->status == SliceStatus::failed && is_rank ? std::vector{peer}
                                                             : std::vector<int>();
}

void Walk::mark_awaited(int rank) {
  const SequenceStep& step = *ranks_.next(rank);
  const std::vector<int> awaited_ranks = awaited_by_message_of(rank);
  if (awaited_ranks.empty()) return;
  const std::size_t times = ranks_.times(rank, step.token);
  if (times > ranks_.times(ranks_.reference().rank, step.token)) return;  // it is ahead itself
  for (const int awaited : awaited_ranks)
    if (!ranks_.is_batch(step) || ranks_.times(awaited, step.token) <= times) require(awaited);
}

// Whether most ranks make a batch that this one makes at other times, or has made elsewhere: its
// messages may have met those of other batches.
bool Walk::has_left_out_batch(int rank, Token common) const {
  const Place right = ranks_.reference();
  const SequenceStep& step = sequences_.of(right.rank)[right.at];
  if (ranks_.next(rank)->call == nullptr || !ranks_.is_batch(step)) return false;
  const bool is_known = sequences_.is_ahead(rank, 0, common) ||
                        ranks_.first_own_of(rank, right).at != ranks_.place_of(rank).at;
  const Outlook outlook = outlook_of(sequences_, ranks_.place_of(rank), right);
  return is_known && ranks_.times(rank, common) <= ranks_.times(right.rank, common) &&
         outlook.if_skipped > outlook.if_extra;
}

Split Walk::split_at(const SequenceStep& step, Token common) const {
  Split split;
  for (const int member : sequences_.members(step.call->gang)) {
    if (ranks_.stands_at(member, step.token)) split.in_call.push_back(member);
    if (ranks_.stands_at(member, common)) split.with_most.push_back(member);
  }
  return split;
}

// Those that the rank waits for in its message, and that stand where most ranks do.
std::vector<int> Walk::awaited_with_most(int rank, Token common) const {
  std::vector<int> awaited;
  if (const auto waits = blocked_.find(rank); waits != blocked_.end())
    for (const int other : waits->second->waits_for)
      if (ranks_.stands_at(other, common)) awaited.push_back(other);
  return awaited;
}

// Of two sides that are equally strong, a rank in a call and those of its gang that stand where
// most ranks do: whom the ranks outside the gang support, that make such a call now or at another
// time.
void Walk::judge_by_others(int rank, const Split& split, Token common) {
  constexpr std::size_t most_asked = 32;
  const SequenceStep& step = *ranks_.next(rank);
  const auto is_outside = [&](int other) {
    const std::vector<int>& members = sequences_.members(step.call->gang);
    return sequences_.is_message(step.token) ? !std::ranges::count(split.with_most, other)
                                             : !std::ranges::count(members, other);
  };
  const std::vector<int> passed = ranks_.passed(step.token);
  const std::size_t own_times = ranks_.times_anywhere(rank, step.token);
  const auto made = std::ranges::count_if(passed, [&](int other) {
    return is_outside(other) && ranks_.times_anywhere(other, step.token) > own_times;
  });
  const std::vector<int>& standards = ranks_.standards();
  std::ptrdiff_t omitted = 0;
  for (std::size_t i = 0; i < standards.size(); i += 1 + (standards.size() - 1) / most_asked) {
    const int other = standards[i];
    if (ranks_.stands_at(other, common) && sequences_.is_ahead(other, 0, step.token) &&
        ranks_.times_anywhere(other, step.token) <= own_times && is_outside(other))
      ++omitted;
  }
  if (made != omitted) return blame_side(made > omitted, rank, split, common);
  // Who does the same twice, without the other one in between?
  const bool repeats = ranks_.did_last(rank, step.token, common);
  const bool do_others_repeat = std::ranges::any_of(split.with_most, [&](int other) {
    return sequences_.is_ahead(other, 0, step.token) && ranks_.did_last(other, common, step.token);
  });
  if (repeats != do_others_repeat) return blame_side(do_others_repeat, rank, split, common);
  // Of a message, it may as well be the other end that ended too early; a batch has no ends.
  const bool is_repeated = sequences_.is_message(step.token)
                               ? common != returned_token || ranks_.is_batch(step)
                               : sequences_.namesakes(step.call->gang) > 1;
  if (!sequences_.was_ever_settled(step.token) && (is_repeated || ranks_.rank_count() == 2))
    odd_.emplace(rank, common);
}

// Blames the rank that stands elsewhere, or those of its gang that stand where most ranks do. Not
// the other end of a message: what is to be done there is another call.
void Walk::blame_side(bool with_most, int rank, const Split& split, Token common) {
  const Token token = ranks_.next(rank)->token;
  if (!with_most) {
    odd_.emplace(rank, common);
  } else if (!sequences_.is_message(token) || ranks_.is_batch(*ranks_.next(rank))) {
    for (const int member : split.with_most) odd_.emplace(member, token);
  }
}

// Whether the rank waits in the common call, made at the same place on another gang, alone of that
// gang.
bool Walk::is_on_other_gang(int rank, Token common) const {
  const SequenceStep& step = *ranks_.next(rank);
  const RecordedCall* right = ranks_.next(ranks_.reference().rank)->call;
  if (step.call == nullptr || right == nullptr || sequences_.is_settled(step)) return false;
  const auto& calls = sequences_.histories().calls;
  if (!is_same_line(calls[step.call->call].location, calls[right->call].location) ||
      calls[step.call->call].call.kind != calls[right->call].call.kind)
    return false;
  if (sequences_.is_message(step.token)) return !awaited_with_most(rank, common).empty();
  const Split split = split_at(step, common);
  return split.in_call.size() == 1 && !split.with_most.empty();
}

// Whether all other members of the gang of its call wait for the rank.
bool Walk::is_awaited_by_gang(int rank) const {
  return std::ranges::all_of(sequences_.members(ranks_.next(rank)->call->gang), [&](int member) {
    const auto waits = blocked_.find(member);
    return member == rank ||
           (waits != blocked_.end() && std::ranges::count(waits->second->waits_for, rank) != 0);
  });
}

// Judges a rank that others wait for, and that stands elsewhere.
void Walk::judge_call(int rank, const SequenceStep& step, Token common) {
  if (step.call == nullptr || ranks_.is_ahead(step.token)) {
    if (common != returned_token) odd_.emplace(rank, common);
    return;
  }
  if (sequences_.is_message(step.token) && !ranks_.is_batch(step)) {
    if (mistaken_messages_.is_new_to_all(ranks_.place_of(rank))) return;
    const Split split{.in_call = {rank}, .with_most = awaited_with_most(rank, common)};
    if (!split.with_most.empty()) judge_by_others(rank, split, common);
    return;
  }
  const Split split = split_at(step, common);
  if (split.with_most.empty()) {
    if (is_awaited_by_gang(rank)) judge_by_others(rank, split, common);
  } else if (split.in_call.size() > split.with_most.size()) {
    for (const int member : split.with_most) odd_.emplace(member, step.token);
  } else if (split.in_call.size() < split.with_most.size()) {
    odd_.emplace(rank, common);
  } else {
    judge_by_others(rank, split, common);
  }
}

void Walk::step() {
  ++round_;
  with_most_.clear();
  others_.clear();
  in_branches_.clear();
  odd_.clear();
  const std::optional<Token> begun = ranks_.begin_round();
  is_over_ = !begun;
  if (!begun) return;
  const Token common = *begun;
  for (int rank = 0; rank < ranks_.rank_count(); ++rank) {
    ranks_.pass_settled(rank, common);
    if (ranks_.next(rank) != nullptr)
      (ranks_.stands_at(rank, common) ? with_most_ : others_).push_back(rank);
  }
  if (!others_.empty()) {
    let_branches_pass();
    mark_required(common);
    for (const int rank : others_) {
      if (is_required(rank))
        judge_call(rank, *ranks_.next(rank), common);
      else if (is_on_other_gang(rank, common))
        odd_.emplace(rank, common);
    }
  }
  for (const int rank : with_most_)
    if (ranks_.has_made_batch_before(rank)) odd_.emplace(rank, common);
  std::vector<Place> places;
  for (const int rank : with_most_) places.push_back(ranks_.place_of(rank));
  for (const int rank : odd_in_arguments(sequences_, places)) odd_.emplace(rank, common);
  blame_odd(common);
  for (const int rank : with_most_)
    if (ranks_.stands_at(rank, common)) ranks_.go_on(rank);
  for (const int rank : in_branches_) ranks_.go_on(rank);
}

// Names the odd ranks of this round, where they are fewer than those that they differ from.
void Walk::blame_odd(Token common) {
  std::map<Token, std::vector<Place>> expected;
  for (const int rank : with_most_)
    if (!odd_.contains(rank)) expected[common].push_back(ranks_.place_of(rank));
  for (const int rank : others_)
    if (!odd_.contains(rank)) expected[ranks_.next(rank)->token].push_back(ranks_.place_of(rank));
  const auto odd_to = std::ranges::count(odd_, common, [](const auto& one) { return one.second; });
  if (static_cast<std::size_t>(odd_to) >= std::max<std::size_t>(1, expected[common].size())) {
    tell_sides(common);
  } else {
    for (const auto& [rank, token] : odd_)
      if (!expected[token].empty())
        consensus_.deviations.push_back(deviation_of(
            sequences_, ranks_.first_own_of(rank, expected[token].front()), expected[token]));
  }
  for (const auto& [rank, token] : odd_) ranks_.stop(rank);
}

// There is no majority: what those did who stand where most do, and what the odd ones did.
void Walk::tell_sides(Token common) {
  std::map<Token, std::vector<Place>> sides;
  std::size_t told = 0;
  for (const int rank : with_most_) sides[common].push_back(ranks_.place_of(rank));
  for (const auto& [rank, token] : odd_)
    if (!ranks_.stands_at(rank, common))
      sides[ranks_.next(rank)->token].push_back(ranks_.place_of(rank));
  for (const auto& [token, places] : sides) told += places.size();
  if (consensus_.deviations.empty() && 2 * told > sequences_.rank_count())
    for (const auto& [token, places] : sides)
      consensus_.sides.push_back(summary_of(sequences_, places));
  is_over_ = true;
}

}  // namespace

Consensus find_consensus(const CallHistories& histories, const std::vector<BlockedCall>& blocked) {
  const CallSequences sequences(histories);
  Consensus consensus = Walk(sequences, blocked).run();
  if (consensus.deviations.empty()) consensus.habit = find_habit(sequences);
  return consensus;
}

}  // namespace gang::sim
