// Where each rank stands, while ranks are walked through their calls in step.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/verdict/call_sequences.h"
#include "sim/verdict/deviation.h"

namespace gang::sim {

class Lockstep {
 public:
  explicit Lockstep(const CallSequences& sequences);

  int rank_count() const { return static_cast<int>(at_.size()); }

  // The next step of the rank; null if it has none, or was stopped.
  const SequenceStep* next(int rank) const;
  bool stands_at(int rank, Token token) const;
  Place place_of(int rank) const { return {rank, at_[static_cast<std::size_t>(rank)]}; }

  // The operation of the next step, which is a call.
  const std::string& kind_at(int rank) const;

  // Whether it is a batch: sends and receives that have no order among ranks.
  bool is_batch(const SequenceStep& step) const;

  // Begins a round: what most ranks do next; of two such, what more ranks have ahead of them.
  // Nothing if no rank has a next step.
  std::optional<Token> begin_round();

  // Ranks that stood at the common step when the round began, and the one of them with most steps
  // left.
  const std::vector<int>& standards() const noexcept { return standards_; }
  Place reference() const noexcept { return reference_; }

  // Whether most ranks will come to it, or stand there.
  bool is_ahead(Token token);

  // How often the rank has done that so far; the same operation at whatever place.
  std::size_t times(int rank, Token token) const;
  std::size_t times_anywhere(int rank, Token token) const;

  // Whether the rank did `one` later than `other`, if it did that at all.
  bool did_last(int rank, Token one, Token other) const;

  // Whether the rank has passed the call that another member of a gang stands in.
  bool has_passed(int rank, const RecordedCall& call) const;

  // Lets the rank do what most ranks do, or its own part of that.
  void go_on(int rank);

  // Passes what the rank rightly does besides: calls that ended well and that the others will not
  // come to, and messages that it exchanges before the common step.
  void pass_settled(int rank, Token common);

  // Ranks that passed it like that in this round, ascending.
  std::vector<int> passed(Token token) const;

  // Where the rank left the others that stand at `expected`: at the call that it made besides in
  // place of theirs, or where it stands.
  Place first_own_of(int rank, Place expected) const;

  // Whether the rank is in a batch after one that it alone made, at another place, and ends in such
  // a batch that nobody meets: each has met the messages of the next one.
  bool has_made_batch_before(int rank) const;

  void stop(int rank);

 private:
  void enter(int rank);
  void pass(int rank);

  const CallSequences& sequences_;
  std::vector<std::size_t> at_;        // by rank: its next step
  std::vector<bool> is_walking_;       // by rank
  std::vector<std::size_t> standing_;  // by token: ranks whose next step it is
  // By rank: its first step besides, since it went on with the others.
  std::vector<std::optional<std::size_t>> besides_;
  std::vector<int> standards_;
  Place reference_;
  std::map<Token, bool> is_ahead_;            // in this round, of tokens that were asked for
  std::map<Token, std::vector<int>> passed_;  // in this round
};

}  // namespace gang::sim
