#include "gang/error.h"

#include <type_traits>

#include <gtest/gtest.h>

#include "gang/gang.h"

namespace gang {
namespace {

GangFailure failure_of(GangErrorKind kind) {
  GangFailure failure;
  failure.kind = kind;
  failure.gang = "dp[0,2]";
  failure.rank = 1;
  failure.operation.kind = OperationKind::all_reduce;
  failure.operation.sequence_number = 3;
  failure.operation.shape = Shape::vector(8);
  failure.elapsed = std::chrono::minutes(15);
  failure.ranks_at_fault = {0};
  failure.reason = "rank 0 did not come";
  return failure;
}

TEST(GangError, SaysWhoFailedWhereInWhatAndWhy) {
  EXPECT_STREQ(GangError(failure_of(GangErrorKind::timeout)).what(),
               "rank 1 of dp[0,2] failed in all_reduce #3 sum f32[8] (timeout after 15 min): "
               "rank 0 did not come");
  EXPECT_STREQ(GangError(failure_of(GangErrorKind::aborted)).what(),
               "rank 1 of dp[0,2] failed in all_reduce #3 sum f32[8] (aborted): "
               "rank 0 did not come");
}

TEST(GangError, SpeaksOfRanksOfTheRootGangWhereItsReasonDoes) {
  GangFailure failure = failure_of(GangErrorKind::mismatch);
  failure.operation.kind = OperationKind::broadcast;
  failure.operation.peer = 1;
  const GangInfo info{.name = "dp", .root_ranks = {4, 6}, .size = 2};
  const GangError error(failure, info);
  EXPECT_STREQ(error.what(),
               "rank 6 failed in broadcast #3 f32[8] from rank 6 on dp[0,2] (mismatch): "
               "rank 0 did not come");
  EXPECT_EQ(error.rank(), 1);
  EXPECT_EQ(error.operation().peer, 1);
}

TEST(GangError, CarriesWhatIsKnown) {
  const GangError error(failure_of(GangErrorKind::peer_failed));
  EXPECT_EQ(error.kind(), GangErrorKind::peer_failed);
  EXPECT_EQ(error.gang(), "dp[0,2]");
  EXPECT_EQ(error.rank(), 1);
  EXPECT_EQ(error.operation().kind, OperationKind::all_reduce);
  EXPECT_EQ(error.sequence_number(), 3u);
  EXPECT_EQ(error.elapsed(), std::chrono::minutes(15));
  EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{0});
}

TEST(GangError, KnowsWhatMismatchedCallsDifferIn) {
  GangFailure failure = failure_of(GangErrorKind::mismatch);
  EXPECT_EQ(GangError(failure).difference(), std::nullopt);
  failure.difference = CallDifference::data_type;
  EXPECT_EQ(GangError(failure).difference(), CallDifference::data_type);
  EXPECT_EQ(to_string(CallDifference::count), "numbers of elements");
  EXPECT_EQ(to_string(CallDifference::label), "labels");
}

TEST(GangError, KeepsNoBorrowedText) {
  GangFailure failure = failure_of(GangErrorKind::mismatch);
  std::string label = "step 3";
  failure.operation.label = label;
  failure.operation.call_site = CallSite::at(label.c_str(), 1);
  const GangError error(failure);
  EXPECT_TRUE(error.operation().label.empty());
  EXPECT_EQ(error.operation().call_site, CallSite{});
  EXPECT_NE(std::string(error.what()).find("\"step 3\""), std::string::npos);
}

TEST(GangError, CopyingDoesNotThrow) {
  static_assert(std::is_nothrow_copy_constructible_v<GangError>);
  const GangError error(failure_of(GangErrorKind::timeout));
  const GangError copy(error);  // NOLINT: the copy is what is tested
  EXPECT_STREQ(copy.what(), error.what());
  EXPECT_EQ(copy.ranks_at_fault(), error.ranks_at_fault());
}

TEST(GangError, KindsHaveTheirEnumeratorsNames) {
  EXPECT_EQ(to_string(GangErrorKind::timeout), "timeout");
  EXPECT_EQ(to_string(GangErrorKind::peer_failed), "peer_failed");
  EXPECT_EQ(to_string(GangErrorKind::mismatch), "mismatch");
  EXPECT_EQ(to_string(GangErrorKind::aborted), "aborted");
  EXPECT_EQ(to_string(GangErrorKind::connection), "connection");
  EXPECT_EQ(to_string(GangErrorKind::corrupt), "corrupt");
}

TEST(GangError, KindsAreReadFromTheirNames) {
  for (const auto kind :
       {GangErrorKind::timeout, GangErrorKind::peer_failed, GangErrorKind::mismatch,
        GangErrorKind::aborted, GangErrorKind::connection, GangErrorKind::corrupt})
    EXPECT_EQ(parse_gang_error_kind(to_string(kind)), kind);
  EXPECT_EQ(parse_gang_error_kind("late"), std::nullopt);
}

TEST(CheckTimeout, AcceptsWhatIsPositive) {
  check_timeout("here", Duration(1));
  check_timeout("here", no_timeout);
  for (const Duration timeout : {Duration(0), Duration(-1)})
    EXPECT_THROW(check_timeout("here", timeout), InvalidArgument);
}

TEST(Error, IsTheBaseOfAllErrors) {
  static_assert(std::is_base_of_v<Error, InvalidArgument>);
  static_assert(std::is_base_of_v<Error, InvalidOperation>);
  static_assert(std::is_base_of_v<Error, NotSupported>);
  static_assert(std::is_base_of_v<Error, GangError>);
  static_assert(std::is_base_of_v<std::exception, Error>);
}

}  // namespace
}  // namespace gang
