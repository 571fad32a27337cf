#include "sim/report/finding_log.h"

#include <fmt/format.h>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Finding finding(std::string id, std::vector<int> ranks, std::string message = "m") {
  return {.id = std::move(id), .ranks = std::move(ranks), .message = std::move(message)};
}

TEST(FindingLog, KeepsTheOrderInWhichFindingsWereMade) {
  FindingLog log;
  EXPECT_EQ(log.add(finding("b", {0})), 0U);
  EXPECT_EQ(log.add(finding("a", {1})), 1U);
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].id, "b");
  EXPECT_EQ(findings[1].id, "a");
}

TEST(FindingLog, OneCauseTakesInFurtherRanks) {
  FindingLog log;
  EXPECT_EQ(log.add(finding("a", {5, 1})), 0U);
  EXPECT_EQ(log.add(finding("a", {3, 1})), 0U);
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].ranks, ElementsAre(1, 3, 5));
}

TEST(FindingLog, AMessageAboutRanksBeginsWithAllOfThem) {
  FindingLog log;
  for (const int rank : {3, 0, 1}) log.add_of_ranks(finding("a", {rank}), "dropped it.");
  log.add_of_ranks(finding("a", {2}), "kept it.");
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].message, "Ranks 0-1,3 dropped it.");
  EXPECT_EQ(findings[1].message, "Rank 2 kept it.");
}

// What `rank` does in iteration `iteration` of a loop.
Finding in_loop(int rank, std::uint64_t iteration, std::uint_least32_t line = 5) {
  Finding made = finding("a", {rank});
  made.call = {.kind = "barrier", .sequence = iteration};
  made.location = {"train.cc", line};
  return made;
}

std::string of_iteration(std::uint64_t iteration) { return fmt::format("dropped #{}.", iteration); }

TEST(FindingLog, ALoopIsOneFindingThatCounts) {
  FindingLog log;
  for (const int rank : {0, 1})
    for (std::uint64_t i = 1; i <= 4; ++i)
      EXPECT_EQ(log.add_of_repeated_call(in_loop(rank, i), of_iteration(i)), 0U);
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "Ranks 0-1 dropped #1.");
  EXPECT_EQ(findings[0].detail, "The same happened 3 more times at this line.");
}

TEST(FindingLog, ARanksFirstTimeIsNotCounted) {
  FindingLog log;
  log.add_of_repeated_call(in_loop(0, 1), of_iteration(1));
  log.add_of_repeated_call(in_loop(1, 2), of_iteration(2));
  log.add_of_repeated_call(in_loop(1, 3), of_iteration(3));
  log.add_of_repeated_call(in_loop(0, 2, 6), of_iteration(2));
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].detail, "");
  EXPECT_EQ(findings[1].message, "Rank 1 dropped #2.");
  EXPECT_EQ(findings[1].detail, "The same happened once more at this line.");
  EXPECT_EQ(findings[2].message, "Rank 0 dropped #2.");
}

TEST(FindingLog, WhereNoLineIsKnownEveryCallCounts) {
  FindingLog log;
  for (const std::uint64_t i : {1, 2}) {
    Finding made = in_loop(0, i);
    made.location = {};
    log.add_of_repeated_call(std::move(made), of_iteration(i));
  }
  EXPECT_EQ(log.take().size(), 2U);
}

TEST(FindingLog, AnyOtherFieldMakesAnotherCause) {
  FindingLog log;
  Finding base = finding("a", {1});
  base.gang = {"g", "0"};
  base.call = {.kind = "o"};
  base.location = {"l", 1};
  log.add(base);
  for (std::string Finding::* field : {&Finding::id, &Finding::message, &Finding::detail}) {
    Finding other = base;
    other.*field += "x";
    log.add(other);
  }
  Finding elsewhere = base;
  elsewhere.location.line = 2;
  log.add(elsewhere);
  for (std::string* field : {&base.gang.members, &base.call.kind}) {
    *field += "x";
    log.add(base);
  }
  EXPECT_EQ(log.take().size(), 7U);
}

TEST(FindingLog, ConsequencesStandInsideTheirFinding) {
  FindingLog log;
  const std::size_t index = log.add(finding("a", {1}));
  log.add(finding("b", {2}));
  for (int i = 0; i < 4; ++i) log.add_consequence(index, "c" + std::to_string(i));
  const std::vector<Finding> findings = log.take();
  EXPECT_THAT(findings[0].consequences, ElementsAre("c0", "c1", "c2", "c3"));
  EXPECT_THAT(findings[1].consequences, IsEmpty());
}

TEST(FindingLog, ConsequencesOfRanksThatDidTheSameAreOne) {
  FindingLog log;
  const std::size_t index = log.add(finding("a", {1}));
  for (int rank = 2; rank < 1000; ++rank)
    log.add_consequence_of(rank, index, rank == 500 ? "went home" : "failed in it");
  log.add_consequence(index, "failed in it");
  EXPECT_THAT(log.take()[0].consequences, ElementsAre("ranks 2-499,501-999 failed in it",
                                                      "rank 500 went home", "failed in it"));
}

TEST(FindingLog, AFindingThatBecomesAConsequenceIsRemoved) {
  FindingLog log;
  const std::size_t victim = log.add(finding("victim", {0}));
  const std::size_t other = log.add(finding("other", {1}));
  log.add_consequence(victim, "first");
  log.add_consequence_of(2, victim, "failed");
  const std::size_t cause = log.add(finding("cause", {3}));
  log.merge(victim, cause);
  log.merge(victim, cause);
  log.add_consequence_of(4, victim, "failed");
  log.add_consequence(other, "last");
  EXPECT_EQ(log.at(victim).id, "cause");
  const std::vector<Finding> findings = log.take();
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].id, "other");
  EXPECT_THAT(findings[0].consequences, ElementsAre("last"));
  EXPECT_EQ(findings[1].id, "cause");
  EXPECT_THAT(findings[1].consequences, ElementsAre("first", "ranks 2,4 failed"));
}

TEST(FindingLog, CountsConsequencesThatAreTooManyToShow) {
  FindingLog log;
  const std::size_t index = log.add(finding("a", {1}));
  for (int i = 0; i < 7; ++i) log.add_consequence(index, "c");
  EXPECT_THAT(log.take()[0].consequences, ElementsAre("c", "c", "c", "c", "3 more like these"));
}

TEST(FindingLog, CountsConsequencesOfRanksThatAreTooManyToShow) {
  FindingLog log;
  const std::size_t index = log.add(finding("a", {1}));
  for (int i = 0; i < 7; ++i) log.add_consequence_of(i, index, "did " + std::to_string(i));
  log.add_consequence_of(9, index, "did 2");
  EXPECT_THAT(log.take()[0].consequences,
              ElementsAre("rank 0 did 0", "rank 1 did 1", "ranks 2,9 did 2", "rank 3 did 3",
                          "3 more like these"));
}

}  // namespace
}  // namespace gang::sim
