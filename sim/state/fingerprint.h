// What must be equal in the k-th call of each member.
#pragma once

#include <cstdint>

#include "gang/collective.h"
#include "gang/hash.h"

namespace gang::sim {

// What else must be equal.
struct MatchRules {
  bool strict_blocking = false;
  bool strict_labels = false;
};

// The same, as words of a Fingerprint.
struct MatchWords {
  MatchWords(MatchRules rules) noexcept  // NOLINT: the rules in another form
      : ignored(static_cast<std::uint64_t>(!rules.strict_blocking) << 24),
        unlabelled(rules.strict_labels ? no_label : any_label) {}

  static constexpr std::uint64_t any_label = 0;
  static constexpr std::uint64_t no_label = 2;  // no hash is even

  std::uint64_t ignored;     // bits of the head that need not be equal
  std::uint64_t unlabelled;  // the label of calls that have none
};

// The matched fields of a Collective in four words. Sequence numbers are equal by construction and
// not part of it.
class Fingerprint {
 public:
  Fingerprint() noexcept = default;
  Fingerprint(const Collective& call, const MatchWords& rules) noexcept
      : packed_(head_of(call) | rules.ignored),
        count_(static_cast<std::uint64_t>(call.count)),
        detail_(call.detail),
        label_(call.label.empty() ? rules.unlabelled : hash_of(call.label)) {}

  // Whether two members' calls are the same operation. Labels count only if both calls have one,
  // unless the rules are strict; the first label is remembered.
  bool matches(const Fingerprint& other) noexcept {
    if (packed_ != other.packed_ || count_ != other.count_ || detail_ != other.detail_)
      return false;
    if (label_ == other.label_ || other.label_ == MatchWords::any_label) return true;
    if (label_ != MatchWords::any_label) return false;
    label_ = other.label_;
    return true;
  }

 private:
  [[gnu::cold]] static std::uint64_t hash_of(std::string_view label) noexcept {
    return fnv1a(std::as_bytes(std::span{label})) | 1;
  }

  std::uint64_t packed_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t detail_ = 0;
  std::uint64_t label_ = MatchWords::any_label;
};

}  // namespace gang::sim
