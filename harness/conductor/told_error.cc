#include "harness/conductor/told_error.h"

#include "gang/error.h"

namespace gang::harness {
namespace {

Status status_of(GangErrorKind kind) {
  switch (kind) {
    case GangErrorKind::timeout:
      return Status::timeout;
    case GangErrorKind::peer_failed:
      return Status::peer_failed;
    case GangErrorKind::mismatch:
      return Status::mismatch;
    case GangErrorKind::aborted:
      return Status::aborted;
    case GangErrorKind::connection:
      return Status::connection;
    case GangErrorKind::corrupt:
      return Status::corrupt;
  }
  return Status::failed;
}

}  // namespace

ToldError told_error(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const GangError& failure) {
    return {status_of(failure.kind()), failure.what()};
  } catch (const InvalidArgument& wrong) {
    return {Status::invalid_argument, wrong.what()};
  } catch (const InvalidOperation& wrong) {
    return {Status::invalid_operation, wrong.what()};
  } catch (const NotSupported& missing) {
    return {Status::not_supported, missing.what()};
  } catch (const std::exception& other) {
    return {Status::failed, other.what()};
  }
}

}  // namespace gang::harness
