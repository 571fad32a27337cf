#include "gang/gang_cause.h"

#include <gtest/gtest.h>

#include "gang/gang.h"
#include "gang/store/memory_store.h"

namespace gang {
namespace {

TEST(GangCause, SurvivesANote) {
  const GangCause cause{
      .kind = GangErrorKind::timeout, .ranks_at_fault = {1, 3}, .reason = "rank 1 waited"};
  EXPECT_EQ(parse_note(to_note(cause)), cause);
}

TEST(GangCause, OtherTextsAreNotNotes) {
  for (const char* note : {"", "{", "[]", "{}", R"({"kind":"x","ranks":[],"reason":""})",
                           R"({"kind":"timeout","ranks":"x","reason":""})",
                           R"({"kind":"timeout","ranks":[1e300],"reason":""})",
                           R"({"kind":"timeout","ranks":[2147483648],"reason":""})"})
    EXPECT_FALSE(parse_note(note)) << note;
}

TEST(GangCause, BecomesTheErrorOfACall) {
  const GangInfo gang{.name = "dp", .root_ranks = {4, 6}, .size = 2};
  const Collective call{.kind = OperationKind::barrier, .sequence_number = 3};
  const GangError error = error_for(
      gang, 1, call, {.kind = GangErrorKind::corrupt, .ranks_at_fault = {0}}, Duration(5));
  EXPECT_EQ(error.kind(), GangErrorKind::corrupt);
  EXPECT_EQ(error.gang(), "dp[4,6]");
  EXPECT_EQ(error.rank(), 1);
  EXPECT_EQ(error.sequence_number(), 3U);
  EXPECT_EQ(error.elapsed(), Duration(5));
  EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{0});
}

TEST(GangCause, OfAnAllToAllIsWhatARankSendsItselfAndDoesNotExpect) {
  const std::int64_t sent[] = {1, 2, 3};
  const std::int64_t expected[] = {1, 3, 2};
  Operation operation;
  EXPECT_FALSE(own_split_mismatch(operation, 1)) << "without split sizes";
  const OperationExtras extras{.input_splits = sent, .output_splits = expected};
  operation.extras = &extras;
  EXPECT_FALSE(own_split_mismatch(operation, 0));
  const auto cause = own_split_mismatch(operation, 1);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, GangErrorKind::mismatch);
  EXPECT_EQ(cause->ranks_at_fault, std::vector<int>{1});
  EXPECT_TRUE(own_split_mismatch(operation, 2));
}

TEST(GangCause, TheFirstNoteOfAGangCounts) {
  const std::unique_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_memory_store(*runtime);
  EXPECT_FALSE(find_note(*store, "dp"));
  leave_note(*store, "dp", "first");
  leave_note(*store, "dp", "second");
  EXPECT_EQ(find_note(*store, "dp"), "first");
  EXPECT_FALSE(find_note(*store, "tp"));
  store->cancel();
  leave_note(*store, "tp", "lost");
  EXPECT_FALSE(find_note(*store, "dp"));
}

TEST(GangCause, OfAStoreErrorIsWhatTheCallerCanTell) {
  const auto kind_of = [](StoreErrorKind kind) { return cause_of(StoreError(kind, "x")).kind; };
  EXPECT_EQ(kind_of(StoreErrorKind::timeout), GangErrorKind::timeout);
  EXPECT_EQ(kind_of(StoreErrorKind::corrupt), GangErrorKind::corrupt);
  EXPECT_EQ(kind_of(StoreErrorKind::dialect), GangErrorKind::corrupt);
  EXPECT_EQ(kind_of(StoreErrorKind::cancelled), GangErrorKind::connection);
  EXPECT_EQ(kind_of(StoreErrorKind::address_in_use), GangErrorKind::connection);
  EXPECT_EQ(cause_of(StoreError(StoreErrorKind::timeout, "key x did not appear")).reason,
            "key x did not appear");
}

TEST(GangCause, OfWhoGaveUpNamesThatRank) {
  EXPECT_EQ(gave_up(2).kind, GangErrorKind::peer_failed);
  EXPECT_EQ(gave_up(2).ranks_at_fault, std::vector<int>{2});
  EXPECT_EQ(aborted_by(2, "closed the gang").kind, GangErrorKind::aborted);
  EXPECT_EQ(aborted_by(2, "closed the gang").reason, "rank 2 closed the gang");
}

}  // namespace
}  // namespace gang
