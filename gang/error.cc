#include "gang/error.h"

#include <utility>

#include "gang/call_text.h"
#include "gang/enum_names.h"
#include "gang/gang.h"

namespace gang {
namespace {

constexpr auto error_kind_names = names_in_order<GangErrorKind>(
    "timeout", "peer_failed", "mismatch", "aborted", "connection", "corrupt");

constexpr auto differences =
    names_in_order<CallDifference>("operations", "data types", "ranks", "numbers of elements",
                                   "reduce operations", "roots", "labels");

std::string with_cause(std::string text, const GangFailure& failure) {
  text += " (" + std::string(to_string(failure.kind));
  if (failure.kind == GangErrorKind::timeout) text += " after " + to_string(failure.elapsed);
  text += ")";
  return failure.reason.empty() ? text : text + ": " + failure.reason;
}

std::string sentence_of(const GangFailure& failure) {
  return with_cause("rank " + std::to_string(failure.rank) + " of " + failure.gang + " failed in " +
                        to_string(failure.operation),
                    failure);
}

std::string sentence_in_root(const GangFailure& failure, const GangInfo& gang) {
  const int rank = gang.root_ranks[static_cast<std::size_t>(failure.rank)];
  return with_cause("rank " + std::to_string(rank) + " failed in " +
                        to_string(describe(failure.operation, gang)) + " on " + failure.gang,
                    failure);
}

// The label and the call site are borrowed from the caller, who may be gone when the error is read.
GangFailure without_borrowed_texts(GangFailure failure) {
  failure.operation.label = {};
  failure.operation.call_site = {};
  return failure;
}

}  // namespace

std::string_view to_string(GangErrorKind kind) noexcept { return name_of(error_kind_names, kind); }

std::optional<GangErrorKind> parse_gang_error_kind(std::string_view text) noexcept {
  return parse_name(error_kind_names, text);
}

std::string_view to_string(CallDifference difference) noexcept {
  return name_of(differences, difference);
}

void check_timeout(std::string_view where, Duration timeout) {
  if (timeout <= Duration::zero())
    throw InvalidArgument(std::string(where) + ": timeout is " + to_string(timeout) +
                          "; must be positive or no_timeout");
}

GangError::GangError(GangFailure failure)
    : Error(sentence_of(failure)),
      failure_(std::make_shared<const GangFailure>(without_borrowed_texts(std::move(failure)))) {}

GangError::GangError(GangFailure failure, const GangInfo& gang)
    : Error(sentence_in_root(failure, gang)),
      failure_(std::make_shared<const GangFailure>(without_borrowed_texts(std::move(failure)))) {}

}  // namespace gang
