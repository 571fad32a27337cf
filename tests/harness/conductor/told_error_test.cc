#include "harness/conductor/told_error.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

template <typename Error>
ToldError told(const Error& error) {
  return told_error(std::make_exception_ptr(error));
}

TEST(ToldError, ErrorsOfACallAreTold) {
  EXPECT_EQ(told(InvalidArgument("a")).status, Status::invalid_argument);
  EXPECT_EQ(told(InvalidOperation("b")).status, Status::invalid_operation);
  EXPECT_EQ(told(NotSupported("c")).status, Status::not_supported);
  EXPECT_EQ(told(std::runtime_error("d")).status, Status::failed);
  EXPECT_EQ(told(InvalidArgument("a")).text, "a");
  EXPECT_EQ(told(std::runtime_error("d")).text, "d");
}

TEST(ToldError, NoErrorIsNone) {
  EXPECT_EQ(told_error(nullptr).status, Status::done);
  EXPECT_EQ(told_error(nullptr).text, "");
}

TEST(ToldError, EachKindOfFailureHasItsStatus) {
  const std::pair<GangErrorKind, Status> kinds[] = {
      {GangErrorKind::timeout, Status::timeout},
      {GangErrorKind::peer_failed, Status::peer_failed},
      {GangErrorKind::mismatch, Status::mismatch},
      {GangErrorKind::aborted, Status::aborted},
      {GangErrorKind::connection, Status::connection},
      {GangErrorKind::corrupt, Status::corrupt}};
  for (const auto& [kind, status] : kinds) {
    GangFailure failure;
    failure.kind = kind;
    EXPECT_EQ(told(GangError(failure)).status, status);
  }
}

}  // namespace
}  // namespace gang::harness
