#include "sim/verdict/wait_cycles.h"

#include <fmt/format.h>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const Certainty under_every_schedule{.schedules = Schedules::every};
const Certainty with_rendezvous{.schedules = Schedules::every, .sends = Dependence::open};

TEST(WaitCycles, SendsThatComeFirstDependOnHowSendsWork) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_EQ(report.findings[0].certainty, with_rendezvous);
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("which sends first too"));
  EXPECT_EQ(report.certainty, with_rendezvous);
}

TEST(WaitCycles, ALongCycleIsAbbreviated) {
  const Report report = run(100, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), (rank.rank() + 1) % 100);
  });
  EXPECT_THAT(full_message(report.findings.at(0)),
              HasSubstr(": 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → (90 more) → 98 → 99 → 0."));
}

TEST(WaitCycles, ReceivesThatComeFirstDoNot) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->recv(view_of(value), 1 - rank.rank());
    rank.root()->send(view_of(value), 1 - rank.rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_EQ(report.findings[0].certainty, under_every_schedule);
  EXPECT_EQ(report.findings[0].call.kind, "recv");
}

// Rank 0 waits for a message of rank 2, which sends to rank 1, which sends to rank 0: each wants to
// be done with its own first.
TEST(WaitCycles, OfSendsAndReceivesIsAboutASend) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) {
      rank.root()->recv(view_of(value), 2);
      rank.root()->recv(view_of(value), 1);
      return;
    }
    rank.root()->send(view_of(value), rank.rank() - 1, 0, {},
                      CallSite::at("mixed.cc", static_cast<std::uint32_t>(rank.rank())));
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 2);
    if (rank.rank() == 2) rank.root()->send(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(report.findings[0].call.kind, "send");
  EXPECT_EQ(to_string(report.findings[0].location), "mixed.cc:2");
}

void send_before_a_barrier(SimulatedRank& rank) {
  std::int32_t value = 0;
  if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 0, {}, CallSite::at("hazard.cc", 3));
  rank.root()->barrier();
  if (rank.rank() == 1) rank.root()->recv(view_of(value), 0);
}

TEST(WaitCycles, ASendThatIsReceivedAfterABarrierMayDependOnSends) {
  const Report report = run(2, send_before_a_barrier);
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_EQ(report.findings[0].certainty, with_rendezvous);
  EXPECT_TRUE(
      run({.world_size = 2, .sends = SendMode::buffered(4)}, send_before_a_barrier).holds());
}

TEST(WaitCycles, ABufferThatIsTooSmallIsNamed) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(3)}, send_before_a_barrier);
  EXPECT_EQ(report.findings.at(0).certainty.value().sends, Dependence::open);
  EXPECT_EQ(report.findings.at(0).certainty.value().buffered_bytes, 3U);
}

TEST(WaitCycles, OneThatIsInAnotherGangThanItsPeersIsTheOddOne) {
  const Report report = run(5, [](SimulatedRank& rank) {
    const auto four = child_of(*rank.root(), {0, 1, 2, 3}, {.name = "four"});
    if (rank.rank() == 2) four->barrier({}, CallSite::at("odd.cc", 9));
    rank.root()->barrier({}, CallSite::at("odd.cc", 10));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("blocked_in_other_gang"));
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding.location), "odd.cc:9");
  EXPECT_EQ(full_message(finding),
            "Rank 2 is blocked in barrier #0 on four[0-3] at odd.cc:9, while ranks 0-1,3, which "
            "four waits for, are blocked in barrier #1 on root[0-4] at odd.cc:10. Each side waits "
            "for the other.");
  ASSERT_TRUE(finding.divergence);
  EXPECT_THAT(finding.divergence->next.at(0).ranks, ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(finding.divergence->next.at(1).note, "blocked in four[0-3] barrier #0");
}

// Ranks 0 to `arrived` - 1 come to a barrier of four; each of the others waits for the next rank.
std::vector<int> ranks_of_inversion(int arrived) {
  const Report report = run({.world_size = 4, .execution = ExecutionModel::stream_ordered},
                            [arrived](SimulatedRank& rank) {
                              std::int32_t in = 0;
                              std::int32_t out = 0;
                              const int next = (rank.rank() + 1) % 4;
                              const int previous = (rank.rank() + 3) % 4;
                              Work works[3];
                              if (rank.rank() < arrived) works[0] = rank.root()->start_barrier();
                              works[1] = rank.root()->start_recv(view_of(in), next);
                              if (rank.rank() >= arrived) works[0] = rank.root()->start_barrier();
                              works[2] = rank.root()->start_send(view_of(out), previous);
                              Work::wait_all(works);
                            });
  EXPECT_THAT(ids_of(report), ElementsAre("stream_order_inversion"));
  return report.findings.at(0).ranks;
}

// Where as many members of a collective have come as have not, neither half is the odd one.
TEST(WaitCycles, AMinorityOfTheMembersOfACollectiveIsOddAHalfIsNot) {
  EXPECT_THAT(ranks_of_inversion(1), ElementsAre(0));
  EXPECT_THAT(ranks_of_inversion(3), ElementsAre(3));
  EXPECT_THAT(ranks_of_inversion(2), ElementsAre(0, 3)) << "the cycle itself";
}

TEST(WaitCycles, WhereNobodyIsOddItIsACycleOfGangs) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto some = child_of(*rank.root(), {0, 1, 3}, {.name = "some"});
    const auto most = child_of(*rank.root(), {0, 1, 2}, {.name = "most"});
    if (some && rank.rank() != 1) some->barrier({}, CallSite::at("cycle.cc", 4));
    if (most) most->barrier({}, CallSite::at("cycle.cc", 5));
    if (rank.rank() == 1) some->barrier({}, CallSite::at("cycle.cc", 6));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("cross_gang_cycle"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 1 called most (at cycle.cc:5) before some; rank 0 called some (at "
                        "cycle.cc:4) before most."));
}

TEST(WaitCycles, OfThreeGangsOrMoreWhoIsWhereIsNamed) {
  const auto run_pairs = [](int world_size) {
    return run(world_size, [](SimulatedRank& rank) {
      const int size = rank.world_size();
      std::vector<std::shared_ptr<Gang>> pairs;
      for (int i = 0; i < size; ++i)
        pairs.push_back(
            child_of(*rank.root(), {i, (i + 1) % size}, {.name = fmt::format("p{}", i)}));
      const auto own = static_cast<std::size_t>(rank.rank());
      pairs[own]->barrier({}, CallSite::at("pairs.cc", 7));
    });
  };
  const Report three = run_pairs(3);
  ASSERT_THAT(ids_of(three), ElementsAre("cross_gang_cycle"));
  EXPECT_EQ(full_message(three.findings[0]),
            "Ranks call their gangs in different orders: rank 0 called p0 (at pairs.cc:7); rank 1 "
            "called p1 (at pairs.cc:7); rank 2 called p2 (at pairs.cc:7). Each waits for the next: "
            "0 → 1 → 2 → 0.");
  EXPECT_THAT(full_message(run_pairs(7).findings.at(0)),
              HasSubstr("rank 3 called p3 (at pairs.cc:7); others called 3 more. Each waits"));
}

TEST(WaitCycles, ACollectiveWhoseMemberIsBlockedInAMessageOfItsGangMissesIt) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 3) rank.root()->recv(view_of(value), 0);
    rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
  EXPECT_EQ(to_string(report.findings[0].call), "barrier #0");
  EXPECT_EQ(report.findings[0].certainty, under_every_schedule);
  EXPECT_EQ(report.findings[0].divergence->next.at(1).note,
            "blocked in root[0-3] recv i32[] from rank 0");
}

TEST(WaitCycles, AMemberThatIsAloneInACollectiveIsTheOddOne) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) return rank.root()->barrier();
    rank.root()->recv(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
}

TEST(WaitCycles, StreamsAreNamedWhereTheyAreNeeded) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    Work first = (rank.rank() == 0 ? a : b)->start_barrier({}, CallSite::at("train.cc", 3));
    Work second = (rank.rank() == 0 ? b : a)->start_barrier({}, CallSite::at("train.cc", 4));
    first.wait();
    second.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion"));
  EXPECT_THAT(
      full_message(report.findings[0]),
      HasSubstr("Rank 0 launched barrier #0 on a[0,1] at train.cc:3 before barrier #0 on b[0,1] at "
                "train.cc:4; rank 1 launched barrier #0 on b[0,1] at train.cc:3 before barrier #0 "
                "on a[0,1] at train.cc:4. Each rank waits for the next: 0 → 1 → 0."));
  EXPECT_EQ(report.findings[0].certainty,
            (Certainty{.schedules = Schedules::every, .streams = Dependence::open}));
}

TEST(WaitCycles, BlockingCallsOnStreamsDeadlockWithoutThemToo) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    std::int32_t value = 0;
    if (rank.rank() == 0) a->barrier();
    b->broadcast(view_of(value));
    if (rank.rank() == 1) a->barrier();
  });
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].certainty, under_every_schedule);
}

// Rank 1 leaves out the barrier of all, to which all others have come.
TEST(WaitCycles, WhoIsMissingWhereAllOthersAreIsTheOddOne) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {1, 2});
    if (rank.rank() != 1) rank.root()->barrier();
    if (pair) pair->barrier();
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

// The same with a message instead of a collective of two.
TEST(WaitCycles, WhoWaitsForAMessageInsteadIsTheOddOne) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {1, 2});
    std::int32_t value = 0;
    if (rank.rank() != 1) rank.root()->barrier();
    if (rank.rank() == 1) pair->recv(view_of(value), 1);
    if (rank.rank() == 2) pair->send(view_of(value), 0);
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

}  // namespace
}  // namespace gang::sim
