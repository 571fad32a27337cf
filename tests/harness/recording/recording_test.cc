#include "harness/recording/recording.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Recording, GroupsOfOneNameAreToldApartByTheirRanks) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  job.calls({0, 1, 2, 3}, root, OperationKind::barrier);
  for (const int rank : {0, 1, 2, 3}) {
    job.dump(rank).groups.push_back(
        {"7", "dp", rank % 2 == 0 ? std::vector<int>{0, 2} : std::vector<int>{1, 3}});
  }
  const Recording recording = job.take();
  ASSERT_EQ(recording.groups.size(), 3U);
  EXPECT_EQ(recording.groups[0].name, "root");
  EXPECT_EQ(recording.groups[1], (RecordedGroup{"dp", "7", {0, 2}}));
  EXPECT_EQ(recording.groups[2], (RecordedGroup{"dp", "7", {1, 3}}));
  EXPECT_EQ(recording.world_size(), 4);
  EXPECT_EQ(to_string(recording.evidence), "as recorded");
}

TEST(Recording, MissingRanksAndLateBuffersAreEvidence) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  job.calls({0, 1, 3}, root, OperationKind::barrier);
  job.begin_at(1204);
  job.call(2, root, OperationKind::barrier);
  job.lose(1);
  const Recording recording = job.take();
  EXPECT_THAT(recording.evidence.missing, ElementsAre(1));
  EXPECT_TRUE(recording.ranks[1].is_missing);
  EXPECT_EQ(recording.ranks[2].first_record, 1204U);
  EXPECT_EQ(to_string(recording.evidence),
            "as recorded; rank 1's dump is missing; rank 2's buffer begins at #1,204");
}

TEST(Recording, OfSeveralDumpsOfARankTheLastCounts) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::barrier);
  NamedDump old = job.dumps()[0];
  old.file = "old/rank_0";
  job.call(0, root, OperationKind::barrier);
  job.call(1, root, OperationKind::barrier);
  job.dumps().push_back(old);
  const Recording recording = job.take();
  EXPECT_EQ(recording.ranks[0].calls.size(), 2U);
  EXPECT_THAT(recording.evidence.notes,
              ElementsAre("rank 0 has 2 dumps, of which rank_0 is the last"));
}

// A job that begins again counts its calls from 0.
TEST(Recording, TheLastDumpOfARankIsThatOfTheLatestCall) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 3; ++i) job.call(0, root, OperationKind::barrier);
  NamedDump later = job.dumps()[0];
  later.dump.calls.resize(1);
  later.dump.calls[0].created_ns = 9000;
  job.dumps().insert(job.dumps().begin(), later);
  EXPECT_EQ(job.take().ranks[0].calls.size(), 1U);
}

TEST(Recording, WithoutTimesTheLastDumpOfARankIsThatOfTheMostCalls) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 3; ++i) job.call(0, root, OperationKind::barrier);
  for (DumpedCall& call : job.dump(0).calls) call.created_ns = 0;
  NamedDump earlier = job.dumps()[0];
  earlier.dump.calls.resize(1);
  job.dumps().push_back(earlier);
  EXPECT_EQ(job.take().ranks[0].calls.size(), 3U);
}

TEST(Recording, ABufferThatHasLostOneCallIsEvidence) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  job.begin_at(1);
  job.call(0, root, OperationKind::barrier);
  EXPECT_EQ(to_string(job.take().evidence), "as recorded; rank 0's buffer begins at #1");
}

TEST(Recording, ARankOfAnotherGroupOfThatNameIsNoMember) {
  Job job(3);
  job.group("default_pg", {0, 1, 2});
  job.dump(0).groups.push_back({"7", "dp", {}});
  job.dump(1).groups.push_back({"7", "dp", {1, 2}});
  const Recording recording = job.take();
  ASSERT_EQ(recording.groups.size(), 3U);
  EXPECT_EQ(recording.groups[1].ranks, (std::vector{1, 2}));
  EXPECT_EQ(recording.groups[2].ranks, std::vector{0});
}

TEST(Recording, AGroupWithoutRanksHasThoseThatCallIt) {
  Job job(3);
  job.group("default_pg", {0, 1, 2});
  for (const int rank : {0, 2})
    job.dump(rank).groups.push_back({.name = "5", .description = "undefined"});
  const Recording recording = job.take();
  ASSERT_EQ(recording.groups.size(), 2U);
  EXPECT_EQ(recording.groups[1], (RecordedGroup{"group 5", "5", {0, 2}}));
  EXPECT_THAT(recording.evidence.notes, ElementsAre("the ranks of group 5 are those that call it"));
}

TEST(Recording, MixedVersionsAreSaid) {
  Job job(2);
  job.group("default_pg", {0, 1});
  job.dump(1).version = "2.10";
  EXPECT_THAT(job.take().evidence.notes, ElementsAre("the dumps are of versions 2.10, 2.4"));
}

TEST(Recording, DumpsOfDifferentJobsAreRefused) {
  Job job(2);
  job.group("default_pg", {0, 1});
  job.dump(1).groups[0].ranks = {0, 1, 2, 3};
  try {
    job.take();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "dumps rank_0 and rank_1 are of different jobs: of ranks 0-1 and 0-3");
  }
}

TEST(Recording, ACallAboutARankThatIsNotThereIsRefused) {
  for (const int peer : {2, 1'000'000, -7}) {
    Job job(2);
    job.call(0, job.group("default_pg", {0, 1}), OperationKind::send, {.peer = peer});
    EXPECT_THROW(job.take(), InvalidArgument) << peer;
    Job other(2);
    other.call(0, other.group("default_pg", {0, 1}), OperationKind::broadcast, {.peer = peer});
    EXPECT_THROW(other.take(), InvalidArgument) << peer;
  }
}

TEST(Recording, OnlyAReceiveMayBeFromAnyRank) {
  for (const OperationKind kind :
       {OperationKind::recv, OperationKind::send, OperationKind::broadcast}) {
    Job job(2);
    job.call(0, job.group("default_pg", {0, 1}), kind, {.peer = any_rank});
    if (kind == OperationKind::recv)
      EXPECT_NO_THROW(job.take());
    else
      EXPECT_THROW(job.take(), InvalidArgument) << to_string(kind);
  }
}

TEST(Recording, OnlyARootMayBeUnknown) {
  for (const OperationKind kind :
       {OperationKind::broadcast, OperationKind::send, OperationKind::recv}) {
    Job job(2);
    job.call(0, job.group("default_pg", {0, 1}), kind, {.peer = no_rank});
    if (kind == OperationKind::broadcast)
      EXPECT_NO_THROW(job.take());
    else
      EXPECT_THROW(job.take(), InvalidArgument) << to_string(kind);
  }
}

TEST(Recording, AGroupWhoseRanksADumpDoesNotTellIsTheOneThatHasItsRank) {
  Job job(4);
  job.group("default_pg", {0, 1, 2, 3});
  job.dump(0).groups.push_back({"7", "dp", {0, 2}});
  job.dump(1).groups.push_back({"7", "dp", {1, 3}});
  job.dump(3).groups.push_back({"7", "dp", {}});
  job.call(3, 0, OperationKind::barrier);
  job.dump(3).calls.back().group = 1;
  const Recording recording = job.take();
  EXPECT_EQ(recording.groups.at(recording.ranks[3].calls.at(0).group).ranks, (std::vector{1, 3}));
}

TEST(Recording, TheWorldHasAllRanksOfItsGroups) {
  Job job(4);
  job.call(0, job.group("default_pg", {0, 1, 2, 3}), OperationKind::barrier);
  job.lose(3);
  const Recording recording = job.take();
  EXPECT_EQ(recording.world_size(), 4);
  EXPECT_THAT(recording.evidence.missing, ElementsAre(3));
}

TEST(Recording, KeepsHowAProgramEndedAndWhatItsGroupsHadEnqueued) {
  Job job(2);
  job.group("default_pg", {0, 1});
  job.group("pair", {0, 1});
  job.dump(1).end = ProgramEnd::failed;
  // The places of groups in dumps differ.
  std::ranges::reverse(job.dump(1).groups);
  job.dump(1).groups[0].last_enqueued = 7;
  const Recording recording = job.take();
  EXPECT_EQ(recording.ranks[0].end, sim::LaneEnd::none);
  EXPECT_EQ(recording.ranks[1].end, sim::LaneEnd::failed);
  ASSERT_EQ(recording.groups[1].name, "pair");
  EXPECT_THAT(recording.ranks[1].enqueued, ElementsAre(-1, 7));
}

TEST(Recording, FilesThatAreCutOffAreNoted) {
  Job job(1);
  job.group("default_pg", {0});
  const Recording recording =
      join_dumps(std::move(job.dumps()), std::move(job.table()), {"rank_1 is cut off"});
  EXPECT_THAT(recording.evidence.notes, ElementsAre("rank_1 is cut off"));
}

}  // namespace
}  // namespace gang::harness
