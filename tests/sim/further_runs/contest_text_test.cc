#include "sim/further_runs/contest_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(ContestText, SaysWhoMetItsFaultAndWhoBrokeTheGang) {
  Contest contest;
  contest.first = {.kind = AccessKind::fault, .mode = AccessMode::write, .rank = 1};
  contest.second = {.kind = AccessKind::fault, .mode = AccessMode::read, .rank = 2};
  EXPECT_EQ(to_text(contest), "rank 2 went on before rank 1 met its fault");
  contest.first = {.kind = AccessKind::call, .mode = AccessMode::read, .rank = 1};
  contest.second = {.kind = AccessKind::call, .mode = AccessMode::write, .rank = 2};
  EXPECT_EQ(to_text(contest), "rank 2 broke the gang before the call of rank 1");
}

TEST(ContestText, SaysWhoCalledBeforeTheGangBroke) {
  Contest contest;
  contest.first = {.kind = AccessKind::call, .mode = AccessMode::write, .rank = 1};
  contest.second = {.kind = AccessKind::call,
                    .mode = AccessMode::read,
                    .rank = 2,
                    .site = CallSite::at("train.cc", 7)};
  contest.second_context = "loader";
  EXPECT_EQ(to_text(contest),
            "'loader' of rank 2 called the gang (train.cc:7) before rank 1 broke it");
  contest.first.mode = AccessMode::read;
  EXPECT_EQ(to_text(contest), "'loader' of rank 2 (train.cc:7) came before rank 1");
}

// Rank 0 has taken rank 1's message, and could take that of a thread of rank 2.
Contest two_messages() {
  Contest contest;
  contest.first = {.kind = AccessKind::message, .rank = 1, .site = CallSite::at("ahead.cc", 9)};
  contest.second = {.kind = AccessKind::message, .rank = 2, .site = CallSite::at("ahead.cc", 12)};
  contest.second_context = "loader";
  contest.receive = TakenByAny{.rank = 0, .site = CallSite::at("pump.cc", 31)};
  return contest;
}

TEST(ContestText, NamesTheReceiveAndBothMessages) {
  EXPECT_EQ(to_text(two_messages()),
            "the receive from any source on rank 0 at pump.cc:31 took the message of 'loader' of "
            "rank 2 (ahead.cc:12), not that of rank 1 (ahead.cc:9)");
  EXPECT_EQ(to_text(reversed(two_messages())),
            "the receive from any source on rank 0 at pump.cc:31 took the message of rank 1 "
            "(ahead.cc:9), not that of 'loader' of rank 2 (ahead.cc:12)");
}

TEST(ContestText, ATestSeesAMessageOrNot) {
  Contest contest;
  contest.first = {.kind = AccessKind::look,
                   .mode = AccessMode::look,
                   .rank = 0,
                   .site = CallSite::at("pump.cc", 31)};
  contest.second = {.kind = AccessKind::message, .rank = 1, .site = CallSite::at("ahead.cc", 9)};
  EXPECT_EQ(to_text(contest),
            "rank 1 made its call (ahead.cc:9) before the operation of rank 0 (pump.cc:31) was "
            "tested");
  EXPECT_EQ(to_text(reversed(contest)),
            "rank 0 tested its operation (pump.cc:31) before rank 1 made its call (ahead.cc:9)");
}

TEST(ContestText, ATestSeesTheEndOfAnOperationOrNot) {
  const CallSite site = CallSite::at("pump.cc", 31);
  const Contest contest{
      .first = {.kind = AccessKind::look, .mode = AccessMode::look, .rank = 2, .site = site},
      .second = {.kind = AccessKind::arrival, .mode = AccessMode::arrive, .rank = 2, .site = site},
      .second_context = "gloo queue"};
  EXPECT_EQ(to_text(contest), "the operation of rank 2 (pump.cc:31) ended before it was tested");
  EXPECT_EQ(to_text(reversed(contest)),
            "rank 2 tested its operation (pump.cc:31) before that ended");
}

TEST(ContestText, ADeviceStartsAnOperationBeforeATestOrNot) {
  const Contest contest{
      .first = {.kind = AccessKind::look, .rank = 2, .site = CallSite::at("pump.cc", 31)},
      .second = {.kind = AccessKind::device, .rank = 1, .site = CallSite::at("ahead.cc", 9)}};
  EXPECT_EQ(to_text(contest),
            "the device of rank 1 started the operation (ahead.cc:9) before rank 2 tested its "
            "(pump.cc:31)");
  EXPECT_EQ(to_text(reversed(contest)),
            "rank 2 tested its operation (pump.cc:31) before the device of rank 1 started the one "
            "(ahead.cc:9)");
}

TEST(ContestText, WhoCallsShrinkFirstDecidesOnItsOptions) {
  const Contest contest{
      .first = {.kind = AccessKind::arrival, .rank = 0, .site = CallSite::at("pump.cc", 31)},
      .second = {.kind = AccessKind::arrival, .rank = 1, .site = CallSite::at("ahead.cc", 9)}};
  EXPECT_EQ(to_text(contest),
            "rank 1 called shrink (ahead.cc:9) before rank 0 did (pump.cc:31), and so decided on "
            "its options");
}

TEST(ContestText, ARaceIsOfTheReceiverAndBothSenders) {
  const Finding finding = message_race(two_messages(), "the outputs differ");
  EXPECT_EQ(finding.id, finding_id::message_race);
  EXPECT_THAT(finding.ranks, testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(to_string(finding.location), "pump.cc:31");
  EXPECT_EQ(finding.message,
            "Rank 0 received from any source at pump.cc:31 and took the message of rank 1, sent at "
            "ahead.cc:9.");
  EXPECT_EQ(finding.detail,
            "It could also take that of 'loader' of rank 2, sent at ahead.cc:12: in a run where it "
            "did, the outputs differ.");
}

TEST(ContestText, OnlyAReceiveFromAnySourceDecidesAMessage) {
  EXPECT_TRUE(decides_message(two_messages()));
  EXPECT_FALSE(decides_message(Contest{}));
}

TEST(ContestText, TellsWhatIsDoneToMutexesAndConditionsApart) {
  const auto text = [](AccessKind first, AccessKind second) {
    return to_text({.first = {.kind = second, .rank = 1}, .second = {.kind = first, .rank = 2}});
  };
  EXPECT_EQ(text(AccessKind::lock, AccessKind::lock), "rank 2 locked a mutex before rank 1 did");
  EXPECT_EQ(text(AccessKind::try_lock, AccessKind::unlock),
            "rank 2 tried to lock a mutex before rank 1 unlocked it");
  EXPECT_EQ(text(AccessKind::wait, AccessKind::notification),
            "rank 2 waited for a condition before rank 1 notified it");
  EXPECT_EQ(text(AccessKind::notification, AccessKind::wait),
            "rank 2 notified a condition before rank 1 waited for it");
}

TEST(ChoiceText, NamesTheAlternatives) {
  EXPECT_EQ(
      choice_text(two_messages()),
      "which message the receive from any source on rank 0 at pump.cc:31 took: that of rank 1 "
      "(ahead.cc:9) or that of 'loader' of rank 2 (ahead.cc:12)");
  EXPECT_EQ(choice_text({.first = {.kind = AccessKind::lock, .rank = 1},
                         .second = {.kind = AccessKind::lock, .rank = 2}}),
            "whether rank 1 locked a mutex before rank 2 did");
}

}  // namespace
}  // namespace gang::sim
