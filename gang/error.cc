#include "gang/error.h"

#include <utility>

namespace gang {
namespace {

std::string sentence_of(const GangFailure& failure) {
  std::string text = "rank " + std::to_string(failure.rank) + " of " + failure.gang +
                     " failed in " + to_string(failure.operation) + " (" +
                     std::string(to_string(failure.kind));
  if (failure.kind == GangErrorKind::timeout) text += " after " + to_string(failure.elapsed);
  text += ")";
  return failure.reason.empty() ? text : text + ": " + failure.reason;
}

// The label and the call site are borrowed from the caller, who may be gone when the error is read.
GangFailure without_borrowed_texts(GangFailure failure) {
  failure.operation.label = {};
  failure.operation.call_site = {};
  return failure;
}

}  // namespace

std::string_view to_string(GangErrorKind kind) noexcept {
  switch (kind) {
    case GangErrorKind::timeout:
      return "timeout";
    case GangErrorKind::peer_failed:
      return "peer_failed";
    case GangErrorKind::mismatch:
      return "mismatch";
    case GangErrorKind::aborted:
      return "aborted";
    case GangErrorKind::connection:
      return "connection";
    case GangErrorKind::corrupt:
      return "corrupt";
  }
  return "unknown";
}

GangError::GangError(GangFailure failure)
    : Error(sentence_of(failure)),
      failure_(std::make_shared<const GangFailure>(without_borrowed_texts(std::move(failure)))) {}

}  // namespace gang
