// The recorded calls of all ranks, in a form in which ranks can be compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/report/call_history.h"

namespace gang::sim {

// What a rank did, without the rank: calls of one operation, at one place of the program, on gangs
// of one name are the same. Arguments do not count: ranks may rightly differ in them.
using Token = std::uint32_t;
inline constexpr Token returned_token = 0;  // its program returned

struct SequenceStep {
  Token token = returned_token;
  const RecordedCall* call = nullptr;  // null: the end
};

// A view of histories, which outlive it.
//
// A call that failed is the last step of its rank: what follows may be a consequence. Where earlier
// calls are not kept, all sequences begin at one call that most ranks have kept; those of the
// others are empty. O(calls + members of gangs).
class CallSequences {
 public:
  explicit CallSequences(const CallHistories& histories);

  std::size_t rank_count() const noexcept { return sequences_.size(); }
  std::size_t token_count() const noexcept { return is_message_.size(); }
  const std::vector<SequenceStep>& of(int rank) const {
    return sequences_[static_cast<std::size_t>(rank)];
  }
  const CallHistories& histories() const noexcept { return histories_; }

  // Whether earlier calls have been left out.
  bool is_cut() const noexcept { return is_cut_; }

  // Whether the rank has the token at this step or behind it.
  bool is_ahead(int rank, std::size_t at, Token token) const;

  bool is_message(Token token) const { return is_message_[token]; }

  // Whether it is the same operation on gangs of one name, at whatever place.
  bool is_alike(Token one, Token other) const { return operations_[one] == operations_[other]; }

  // Whether the call has ended well: all members of its gang made it, from one place; or its
  // message was exchanged.
  bool is_settled(const SequenceStep& step) const;

  // Whether any rank has made such a call that is settled.
  bool was_ever_settled(Token token) const { return was_settled_[token]; }

  // How many ranks have done that.
  std::size_t makers(Token token) const { return makers_[token]; }

  // Gangs of the name of this one, itself included.
  std::size_t namesakes(std::uint32_t gang) const;

  const std::vector<int>& members(std::uint32_t gang) const {
    return *histories_.gangs[gang].members;
  }

 private:
  Token token_of(const RecordedCall& call);
  std::vector<SequenceStep> sequence_of(const CallHistory& history);
  void cut();
  void find_settled();
  void find_last();

  static std::uint64_t place(const RecordedCall& call) noexcept {
    return (std::uint64_t{call.gang} << 40) ^ call.sequence_number;
  }

  const CallHistories& histories_;
  std::vector<std::vector<SequenceStep>> sequences_;                 // by rank
  std::vector<std::vector<std::pair<Token, std::size_t>>> last_at_;  // by rank: sorted by token
  std::vector<bool> is_message_;                                     // by token
  std::vector<std::uint32_t> operations_;                            // by token
  std::vector<std::size_t> makers_;                                  // by token
  std::vector<bool> was_settled_;                                    // by token
  std::unordered_map<std::uint64_t, Token> tokens_;                  // by call and gang
  std::unordered_map<std::uint64_t, Token> at_;                      // collectives, by place
  std::unordered_map<std::string_view, std::size_t> gangs_of_name_;
  bool is_cut_ = false;
};

}  // namespace gang::sim
