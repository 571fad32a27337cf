// A call in the words of reports, in parts.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace gang {

struct Collective;

// A Collective as people read it, without its call site; or, with `kind` alone, what a context is
// blocked in that is not an operation: "join of loader". Copies, compares and prints.
struct CallText {
  enum class Direction : std::uint8_t { none, to, from };

  std::string kind;                       // "all_reduce"; empty: no call
  std::optional<std::uint64_t> sequence;  // absent for messages, which are not numbered
  std::string payload;                    // "sum f32[1024]", "of 3 ranks"; may be empty
  Direction direction = Direction::none;
  std::optional<int> peer;  // any_rank: any; absent, with a direction: one rank for each caller
  std::string qualifiers;   // "tag 7", "\"label\""; may be empty

  bool empty() const noexcept { return kind.empty(); }

  friend auto operator<=>(const CallText&, const CallText&) = default;
};

CallText describe(const Collective& collective);

// "all_reduce #3 sum f32[1024]", "send f32[4] to rank 1 tag 7", "recv f32[4] from one rank each".
std::string to_string(const CallText& call);

// Everything behind the kind and the number: "sum f32[1024]", "f32[4] to rank 1 tag 7".
std::string arguments_text(const CallText& call);

// Without the rank at the other end of a send or receive: calls that differ in it alone are then
// the same. Any other call as it is.
CallText with_any_peer(CallText call);

}  // namespace gang
