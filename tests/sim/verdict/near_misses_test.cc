#include "sim/verdict/near_misses.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(NearMisses, ATagThatDiffersIsNamedWithBothCalls) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 7);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 8);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  ASSERT_EQ(report.findings[0].near_misses.size(), 1U);
  const NearMiss& miss = report.findings[0].near_misses[0];
  EXPECT_EQ(miss.field, "tag");
  EXPECT_EQ(to_string(miss.first.call), "send i32[] to rank 1 tag 7");
  EXPECT_THAT(miss.first.ranks, ElementsAre(0));
  EXPECT_THAT(miss.second.ranks, ElementsAre(1));
}

TEST(NearMisses, ManyMessagesOfOneLinkAreOneFinding) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 6> values{};
    std::vector<Work> works;
    for (int i = 0; i < 6; ++i) {
      const TensorView one = view(values).slice(i, 1);
      works.push_back(rank.rank() == 0 ? rank.root()->start_send(one, 1, i)
                                       : rank.root()->start_recv(one, 0, 10 + i));
    }
    for (Work& work : works) work.wait();
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
}

TEST(NearMisses, MessagesOnTwoGangsOfTheSameRanksAreAMixUp) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto one = child_of(*rank.root(), {0, 1}, {.name = "one"});
    const auto other = child_of(*rank.root(), {0, 1}, {.name = "other"});
    std::int32_t value = 0;
    if (rank.rank() == 0) one->send(view_of(value), 1);
    if (rank.rank() == 1) other->recv(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_gang"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(report.findings[0].near_misses.at(0).field, "gang");
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("gang one[0,1]"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("gang other[0,1]"));
}

TEST(NearMisses, AWrongDestinationIsNamed) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 2);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0);
    if (rank.rank() == 2) rank.root()->recv(view_of(value), 1);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  const auto& misses = report.findings[0].near_misses;
  ASSERT_EQ(misses.size(), 2U);
  EXPECT_EQ(misses[0].field, "destination");
  EXPECT_THAT(misses[0].first.ranks, ElementsAre(0));
  EXPECT_THAT(misses[0].second.ranks, ElementsAre(1));
  EXPECT_EQ(misses[1].field, "source");
  EXPECT_THAT(misses[1].second.ranks, ElementsAre(2));
  EXPECT_THAT(to_string(report), HasSubstr("Near miss: rank 0 send i32[] to rank 2"));
}

// Rank 2 sends on the pipeline's gang what rank 0 waits for, from anybody, on the root.
TEST(NearMisses, NameASendOnAnotherGangToAReceiveFromAnySource) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const auto pipe = child_of(*rank.root(), {0, 1, 2});
    std::int32_t value = 0;
    if (rank.rank() == 0) {
      rank.root()->recv(view_of(value), any_rank, 4);
      rank.root()->recv(view_of(value), any_rank, 4);
    }
    if (rank.rank() == 1) rank.root()->send(view_of(value), 0, 4);
    if (rank.rank() == 2) pipe->send(view_of(value), 0, 4, {}, CallSite::at("train.cc", 6));
    rank.root()->barrier();
  });
  ASSERT_EQ(report.findings.size(), 1U);
  const auto& misses = report.findings[0].near_misses;
  ASSERT_EQ(misses.size(), 1U);
  EXPECT_EQ(misses[0].field, "gang");
  EXPECT_THAT(misses[0].first.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(misses[0].first.location), "train.cc:6");
  EXPECT_THAT(misses[0].second.ranks, ElementsAre(0));
}

TEST(NearMisses, MessagesThatDifferInMoreAreNone) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 2, 5);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 6);
    if (rank.rank() == 2) rank.root()->recv(view_of(value), 1, 7);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.findings[0].near_misses, IsEmpty());
}

// Rank 2 sends once too often, and what rank 1 sends later is received by nobody.
TEST(NearMisses, NameWhoseMessagesWereTakenInsteadOfOneThatIsLeft) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) rank.runtime().sleep_for(std::chrono::milliseconds(1));
    for (int i = 0; i < rank.rank(); ++i) rank.root()->send(view_of(value), 0, 4);
    for (int i = 0; i < 2 && rank.rank() == 0; ++i) rank.root()->recv(view_of(value), any_rank, 4);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  ASSERT_EQ(report.findings[0].near_misses.size(), 1U);
  const NearMiss& miss = report.findings[0].near_misses[0];
  EXPECT_EQ(miss.field, "source");
  EXPECT_THAT(miss.first.ranks, ElementsAre(1));
  EXPECT_THAT(miss.second.ranks, ElementsAre(2));
  EXPECT_EQ(miss.second.note, "taken 2 times from any source");
}

// One message more than the other's is what any order of arrival may bring.
TEST(NearMisses, AMessageTakenOnceMoreIsNotANearMiss) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0)
      rank.root()->recv(view_of(value), any_rank, 4);
    else
      rank.root()->send(view_of(value), 0, 4);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_TRUE(report.findings[0].near_misses.empty());
}

TEST(NearMisses, OneMessageAccountsForOneReceive) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> values{};
    if (rank.rank() == 0) return rank.root()->send(view(values).slice(0, 1), 1, 9);
    Work first = rank.root()->start_recv(view(values).slice(0, 1), 0, 1);
    Work second = rank.root()->start_recv(view(values).slice(1, 1), 0, 2);
    first.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  ASSERT_EQ(report.findings[0].near_misses.size(), 1U);
  EXPECT_THAT(to_string(report.findings[0].near_misses[0].second.call), HasSubstr("tag 1"));
}

TEST(NearMisses, AReceiveFromAnySourceMayHaveTheWrongTagToo) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->recv(view_of(value), any_rank, 7);
    if (rank.rank() == 2) rank.root()->send(view_of(value), 0, 8);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(report.findings[0].message, HasSubstr("receives from any rank with tag 7"));
}

TEST(NearMisses, GangsOfTheSameMembersInAnotherOrderAreAMixUp) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto there = child_of(*rank.root(), {0, 1}, {.name = "there"});
    const auto back = child_of(*rank.root(), {1, 0}, {.name = "back"});
    std::int32_t value = 0;
    if (rank.rank() == 0) there->send(view_of(value), 1);
    if (rank.rank() == 1) back->recv(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_gang"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].message, HasSubstr("sends on gang there[0,1]"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("its own member on gang back[1,0]"));
}

TEST(NearMisses, ARankThatReallyReceivesFromItselfIsNoMixUp) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 1);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
}

TEST(NearMisses, OneWrongTagOnManyRanksIsOneFinding) {
  const Report report = run(8, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() % 2 == 0)
      rank.root()->send(view_of(value), rank.rank() + 1, 7, {}, CallSite::at("spmd.cc", 1));
    else
      rank.root()->recv(view_of(value), rank.rank() - 1, 8, {}, CallSite::at("spmd.cc", 2));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(report.findings[0].message,
            "Ranks 0-6:2 send with tag 7 at spmd.cc:1; ranks 1-7:2 receive from them with tag 8 "
            "at spmd.cc:2.");
}

}  // namespace
}  // namespace gang::sim
