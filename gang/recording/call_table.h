// The different calls of a recording, each kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gang/collective.h"

namespace gang {

// Calls without their gang and number: kind, arguments and place. Texts are kept as long as the
// table. O(1) for a call that is known.
class CallTable {
 public:
  CallTable() = default;
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;
  CallTable(CallTable&&) = default;
  CallTable& operator=(CallTable&&) = default;

  // The index of `call`, made in `file`, which counts instead of that of its call site. Texts are
  // copied. Two calls are equal if all but their sequence numbers are.
  std::uint32_t index_of(const Collective& call, std::string_view file);

  const Collective& operator[](std::uint32_t index) const { return calls_[index]; }
  std::size_t size() const noexcept { return calls_.size(); }

 private:
  const std::string& kept(std::string_view text);

  std::deque<Collective> calls_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> indexes_;  // by key
  std::unordered_map<std::string_view, const std::string*> known_texts_;
  std::string key_;  // of the call at hand
};

}  // namespace gang
