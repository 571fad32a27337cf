// Errors, sorted by what the caller can do about them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gang/collective.h"
#include "gang/duration.h"

namespace gang {

struct GangInfo;

// The base class of all errors that gangsim throws to a program. what() is one sentence.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The call itself is wrong; found locally; nothing was sent; the gang stays usable.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// The call is made in the wrong state (closed gang, wrong thread); the gang is unchanged.
class InvalidOperation : public Error {
 public:
  using Error::Error;
};

// This backend cannot do it; the message says what, and which backends can; the gang stays usable.
class NotSupported : public Error {
 public:
  using Error::Error;
};

enum class GangErrorKind : std::uint8_t {
  timeout,
  peer_failed,
  mismatch,
  aborted,
  connection,
  corrupt
};

// "peer_failed", ...: the enumerator's name; and back, none for any other text.
std::string_view to_string(GangErrorKind kind) noexcept;
std::optional<GangErrorKind> parse_gang_error_kind(std::string_view text) noexcept;

// What calls that do not match differ in; what() names it in the plural, "data types".
enum class CallDifference : std::uint8_t {
  operation,
  data_type,
  ranks,
  count,
  reduce_operation,
  root,
  label
};
std::string_view to_string(CallDifference difference) noexcept;

// What a GangError knows. `ranks_at_fault` are ranks of the gang; empty if unknown.
struct GangFailure {
  GangErrorKind kind = GangErrorKind::aborted;
  std::string gang;      // the gang's label, "dp[0,2]"
  int rank = no_rank;    // the rank that gets the error, in the gang
  Collective operation;  // what it was doing; a GangError does not keep its label and call site
  Duration elapsed{0};   // since the operation began
  std::vector<int> ranks_at_fault = {};
  std::string reason;                             // the clause after the colon in what()
  std::optional<CallDifference> difference = {};  // of a mismatch, where known
};

// Communication failed. The gang is broken: later calls on it fail at once, with the first cause.
class GangError : public Error {
 public:
  // what() is "rank 2 of dp[0,2] failed in all_reduce #3 sum f32[8] (timeout after 15 min): ...".
  explicit GangError(GangFailure failure);
  // what() is "rank 2 failed in all_reduce #3 sum f32[8] on dp[0,2] (timeout after 15 min): ...",
  // in ranks of the root gang, for a `reason` that speaks of those. `gang` knows its members.
  GangError(GangFailure failure, const GangInfo& gang);

  GangErrorKind kind() const noexcept { return failure_->kind; }
  const std::string& gang() const noexcept { return failure_->gang; }
  int rank() const noexcept { return failure_->rank; }
  const Collective& operation() const noexcept { return failure_->operation; }
  std::uint64_t sequence_number() const noexcept { return failure_->operation.sequence_number; }
  Duration elapsed() const noexcept { return failure_->elapsed; }
  const std::vector<int>& ranks_at_fault() const noexcept { return failure_->ranks_at_fault; }
  std::optional<CallDifference> difference() const noexcept { return failure_->difference; }

 private:
  std::shared_ptr<const GangFailure> failure_;  // copying an exception must not throw
};

// Unless `timeout` > 0: InvalidArgument "WHERE: timeout is 0 s; must be positive or no_timeout".
void check_timeout(std::string_view where, Duration timeout);

}  // namespace gang
