#include "sim/verdict/first_divergence.h"

#include "tests/sim/verdict/recorded_worlds.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::array<std::int32_t, 4> four_ints{};

TEST(FirstDivergence, OfAMismatchHasTheCallsSideBySide) {
  const Report report = run(5, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    const std::int64_t count = rank.rank() == 4 ? 2 : 4;
    rank.root()->all_reduce(view(four_ints).slice(0, count), ReduceOperation::sum, {},
                            CallSite::at("train.cc", 4));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_count"));
  ASSERT_TRUE(report.findings[0].divergence);
  const Divergence& divergence = *report.findings[0].divergence;
  EXPECT_EQ(to_string(divergence.last_common.call), "barrier #0");
  EXPECT_EQ(to_string(divergence.last_common.location), "train.cc:3");
  ASSERT_EQ(divergence.next.size(), 2U);
  EXPECT_THAT(divergence.next[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(to_string(divergence.next[0].call), "all_reduce #1 sum i32[4]");
  EXPECT_THAT(divergence.next[1].ranks, ElementsAre(4));
  EXPECT_EQ(to_string(divergence.next[1].call), "all_reduce #1 sum i32[2]");
  EXPECT_THAT(to_string(report), HasSubstr("  all 5  barrier #0 "));
}

TEST(FirstDivergence, TheFirstCallHasNoneBefore) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0)
      rank.root()->barrier();
    else
      rank.root()->broadcast(view(four_ints));
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  EXPECT_EQ(report.findings[0].divergence->last_common, CallSummary{});
}

// Each call is one of its line; rank 2 makes those of `odd`, the others those of `all`. Negative
// lines are broadcasts, from one place or the other; the last calls differ.
std::vector<CallSummary> parted_in(const std::vector<int>& all, const std::vector<int>& odd) {
  const Report report = run(4, [&](SimulatedRank& rank) {
    for (const int line : rank.rank() == 2 ? odd : all) {
      const CallSite site = CallSite::at("train.cc", static_cast<std::uint32_t>(std::abs(line)));
      if (line < 0)
        rank.root()->broadcast(view(four_ints), 0, {}, site);
      else
        rank.root()->all_reduce(view(four_ints), ReduceOperation::sum, {}, site);
    }
    if (rank.rank() == 2)
      rank.root()->barrier({}, CallSite::at("train.cc", 99));
    else
      rank.root()->all_reduce(view(four_ints), ReduceOperation::sum, {},
                              CallSite::at("train.cc", 90));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_operation"));
  return report.findings.at(0).divergence.value().parted;
}

TEST(FirstDivergence, ASkippedCallIsWhereMembersParted) {
  const auto parted = parted_in({1, 2, 3}, {1, 3, 4});
  ASSERT_EQ(parted.size(), 2U);
  EXPECT_THAT(parted[0].ranks, ElementsAre(0, 1, 3));
  EXPECT_EQ(to_string(parted[0].call), "all_reduce #1 sum i32[4]");
  EXPECT_EQ(to_string(parted[0].location), "train.cc:2");
  EXPECT_THAT(parted[1].ranks, ElementsAre(2));
  EXPECT_EQ(to_string(parted[1].location), "train.cc:3");
  EXPECT_EQ(parted[1].call, parted[0].call);
}

TEST(FirstDivergence, MembersThatMeetAgainHaveNotParted) {
  EXPECT_THAT(parted_in({1, 2, 3}, {1, 4, 3}), IsEmpty());
  EXPECT_EQ(parted_in({1, 2, 3, 4}, {1, 9, 3, 5}).at(1).location.line, 5U) << "they part again";
}

// Their code differs by design.
TEST(FirstDivergence, MembersThatWereElsewhereFromTheFirstCallOnHaveNotParted) {
  EXPECT_THAT(parted_in({1, 2}, {3, 4}), IsEmpty());
}

TEST(FirstDivergence, MembersDoNotPartInACallThatHasARoot) {
  EXPECT_THAT(parted_in({1, -2}, {1, -3}), IsEmpty());
  EXPECT_EQ(parted_in({1, 2, -4}, {1, 3, -5}).at(0).location.line, 2U) << "but they stay parted";
}

TEST(FirstDivergence, MembersWhoPartedAreRanksOfTheRootGangMostFirst) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto gang = child_of(*rank.root(), {3, 2, 0, 1}, {.name = "dp"});
    gang->barrier({}, CallSite::at("train.cc", 1));
    gang->barrier({}, CallSite::at("train.cc", rank.rank() == 0 ? 3 : 2));
    if (rank.rank() == 0) return;
    gang->barrier();
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  const auto& parted = report.findings[0].divergence->parted;
  ASSERT_EQ(parted.size(), 2U);
  EXPECT_THAT(parted[0].ranks, ElementsAre(1, 2, 3));
  EXPECT_THAT(parted[1].ranks, ElementsAre(0));
}

TEST(FirstDivergence, AFileWhoseNameIsInMemoryTwiceIsOnePlace) {
  const std::string file = "train.cc";
  const std::string copy = file;
  const Report report = run(3, [&](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.root()->barrier({}, CallSite::at((rank.rank() == 0 ? file : copy).c_str(), 7));
    if (rank.rank() != 0) rank.root()->barrier();
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  EXPECT_THAT(report.findings[0].divergence->parted, IsEmpty());
}

TEST(FirstDivergence, MembersInTooManyPlacesHaveNotParted) {
  for (const int places : {8, 9}) {
    const Report report = run(9, [places](SimulatedRank& rank) {
      rank.root()->barrier();
      const int place = std::min(rank.rank(), places - 1);
      rank.root()->barrier({}, CallSite::at("train.cc", 10U + static_cast<std::uint32_t>(place)));
      if (rank.rank() != 0) rank.root()->barrier();
    });
    ASSERT_TRUE(report.findings.at(0).divergence);
    EXPECT_EQ(report.findings[0].divergence->parted.size(), places == 8 ? 8U : 0U);
  }
}

TEST(FirstDivergence, GroupsCallsByPlaceAndArguments) {
  const Report report = run(6, [](SimulatedRank& rank) {
    if (rank.rank() == 5) return;
    rank.root()->barrier({}, CallSite::at("train.cc", rank.rank() < 3 ? 1 : 2));
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  const auto& next = report.findings[0].divergence->next;
  ASSERT_EQ(next.size(), 3U);
  EXPECT_THAT(next[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(to_string(next[0].location), "train.cc:1");
  EXPECT_THAT(next[1].ranks, ElementsAre(3, 4));
  EXPECT_THAT(next[2].ranks, ElementsAre(5));
}

TEST(FirstDivergence, ThoseWhoSleepAreOneEntryHoweverManyTheyAre) {
  const Report report = run(40, [](SimulatedRank& rank) {
    if (rank.rank() > 2) rank.runtime().sleep_for(std::chrono::hours(1));
    gang_error_of([&] { rank.root()->barrier(); });
  });
  ASSERT_EQ(report.handled.size(), 1U);
  ASSERT_TRUE(report.handled[0].divergence);
  const auto& next = report.handled[0].divergence->next;
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].ranks.size(), 37U);
  EXPECT_EQ(next[0].note, "in a sleep");
}

TEST(FirstDivergence, ARankThatHasJustTimedOutElsewhereIsSaidToFail) {
  const Report report =
      run({.world_size = 2, .pending_timeouts = PendingTimeouts::fire}, [](SimulatedRank& rank) {
        const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
        const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
        gang_error_of([&] { (rank.rank() == 0 ? a : b)->barrier(); });
      });
  ASSERT_EQ(report.handled.size(), 2U);
  ASSERT_TRUE(report.handled[0].divergence);
  EXPECT_EQ(report.handled[0].divergence->next.at(1).note, "blocked in b[0,1] barrier #0");
  ASSERT_TRUE(report.handled[1].divergence);
  EXPECT_EQ(report.handled[1].divergence->next.at(0).note, "failing on a[0,1]");
}

TEST(FirstDivergence, TellsTheRanksOfAGangThatIsMade) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const std::vector<int> ranks = rank.rank() == 2 ? std::vector{1, 0} : std::vector{0, 1};
    gang_error_of([&] { rank.root()->create_gang(ranks); });
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  const auto& next = report.findings[0].divergence->next;
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].note, "ranks 0-1");
  EXPECT_EQ(next[1].note, "ranks 1,0");
}

TEST(FirstDivergence, KeepsAFewEntriesAndTheRestInOne) {
  const Report report = run(40, [](SimulatedRank& rank) {
    rank.root()->broadcast(view(four_ints), rank.rank(), {},
                           CallSite::at("train.cc", 1 + static_cast<std::uint32_t>(rank.rank())));
  });
  ASSERT_TRUE(report.findings.at(0).divergence);
  const auto& next = report.findings[0].divergence->next;
  ASSERT_EQ(next.size(), 8U);
  EXPECT_EQ(next.back().ranks.size(), 33U);
  EXPECT_EQ(next.back().note, "33 other calls");
}

TEST(FirstDivergence, OfAMismatchThatWaitsTellsWhatTheOthersDo) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->barrier();
    if (rank.rank() == 1) rank.root()->broadcast(view(four_ints));
    if (rank.rank() == 2) rank.root()->recv(view_of(value), 3);
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "mismatch_operation");
  ASSERT_TRUE(report.findings[0].divergence);
  std::vector<std::string> notes;
  for (const CallSummary& call : report.findings[0].divergence->next) notes.push_back(call.note);
  EXPECT_THAT(notes,
              ElementsAre("", "", "blocked in root[0-3] recv i32[] from rank 3", "returned"));
}

TEST(FirstDivergence, ARankThatThrewIsNamedWithThoseThatWaitForIt) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 4));
    if (rank.rank() == 1) throw std::runtime_error("out of memory");
    rank.root()->barrier({}, CallSite::at("train.cc", 8));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(full_message(finding),
            "Rank 1 ended with an exception after barrier #0 on root[0-3] at train.cc:4: out of "
            "memory. Ranks 0,2-3 could not complete barrier #1 on root[0-3] at train.cc:8.");
  ASSERT_TRUE(finding.divergence);
  EXPECT_EQ(to_string(finding.divergence->last_common.call), "barrier #0");
  EXPECT_THAT(finding.divergence->next.at(0).ranks, ElementsAre(0, 2, 3));
  EXPECT_EQ(finding.divergence->next.at(1).note, "ended with an exception");
}

TEST(FirstDivergence, ThoseWhoWaitInOtherCallsForARankThatThrewAreNamedToo) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto pair = pair_of(rank);
    if (rank.rank() == 1) throw std::runtime_error("out of memory");
    if (rank.rank() == 0) pair->barrier({}, CallSite::at("train.cc", 9));
    rank.root()->barrier({}, CallSite::at("train.cc", 8));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr(" at train.cc:8; rank 0 could not complete 1 more call."));
}

}  // namespace
}  // namespace gang::sim
