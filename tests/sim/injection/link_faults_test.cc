#include "sim/injection/link_faults.h"

#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(LinkFaults, APartitionHoldsUpWhatCrossesItUntilItEnds) {
  const auto cut = [](std::optional<Between<Duration>> lasts) {
    return with(4, {{.kind = FaultKind::partition, .ranks = {0, 1}, .lasts = lasts}});
  };
  const auto program = [](SimulatedRank& rank) {
    const auto own = child_of(*rank.root(), {0, 1});
    const auto half = rank.root()->split({.color = rank.rank() / 2});
    EXPECT_EQ(count_members(*half), 2);
  };
  const Report healed = run(cut(Between<Duration>(5s)), program);
  EXPECT_TRUE(healed.holds()) << to_string(healed);
  EXPECT_EQ(healed.virtual_time, 5s);
  const Report cut_off = run(cut(std::nullopt), program);
  ASSERT_THAT(ids_of(cut_off), ElementsAre("timed_out"));
  EXPECT_THAT(cut_off.findings[0].ranks, ElementsAre(0, 1));
}

TEST(LinkFaults, MessagesAreLostDelayedAndChanged) {
  const auto link = [](FaultKind kind, std::optional<Between<Duration>> delay) {
    return with(
        2, {{.kind = kind, .ranks = {0}, .to = {1}, .trigger = {.message = 1}, .delay = delay}});
  };
  std::vector<std::int32_t> got;
  const auto program = [&got](SimulatedRank& rank) {
    for (std::int32_t i = 0; i < 3; ++i) {
      std::int32_t value = rank.rank() == 0 ? i : -1;
      if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
      if (rank.rank() == 1) {
        rank.root()->recv(view_of(value), 0);
        got.push_back(value);
      }
    }
  };
  const Report late = run(link(FaultKind::delay_message, Between<Duration>(2s)), program);
  EXPECT_TRUE(late.holds()) << to_string(late);
  EXPECT_EQ(late.virtual_time, 2s);
  EXPECT_THAT(got, ElementsAre(0, 1, 2)) << "none overtakes another";
  got.clear();
  EXPECT_FALSE(run(link(FaultKind::drop_message, std::nullopt), program).holds());
  EXPECT_THAT(got, ElementsAre(0, 2)) << "the third stands in for the second, and is missed";
  got.clear();
  EXPECT_TRUE(run(link(FaultKind::corrupt_message, std::nullopt), program).holds());
  EXPECT_THAT(got, ElementsAre(0, testing::Ne(1), 2));
}

TEST(LinkFaults, ASlowLinkDelaysWhatCrossesIt) {
  const Report report = run(with(3, {{.kind = FaultKind::slow_link,
                                      .ranks = {0},
                                      .to = {1},
                                      .delay = Between<Duration>(1s)}}),
                            [](SimulatedRank& rank) {
                              three_barriers(rank);
                              const auto pair = child_of(*rank.root(), {1, 2});
                              const TimePoint before = rank.runtime().now();
                              if (pair) pair->barrier();
                              EXPECT_EQ(rank.runtime().now(), before) << "does not cross it";
                            });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.virtual_time, 4s);
}

TEST(LinkFaults, AMessageThatIsHeldFailsWithItsGang) {
  std::optional<GangError> error;
  TimePoint failed_at{0};
  const Report report = run(with(2, {{.kind = FaultKind::slow_link,
                                      .ranks = {0},
                                      .to = {1},
                                      .delay = Between<Duration>(10s)}}),
                            [&](SimulatedRank& rank) {
                              std::int32_t value = 0;
                              if (rank.rank() == 1) {
                                rank.runtime().sleep_for(1s);
                                return rank.root()->abort();
                              }
                              error = gang_error_of([&] { rank.root()->send(view_of(value), 1); });
                              failed_at = rank.runtime().now();
                            });
  EXPECT_EQ(report.outcome, Outcome::completed);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), GangErrorKind::aborted);
  EXPECT_EQ(failed_at, TimePoint(1s));
}

TEST(LinkFaults, OneWayLeavesTheOtherWayAlone) {
  const auto program = [](SimulatedRank& rank) {
    float value = 0;
    if (rank.rank() == 0) rank.root()->recv(view_of(value), 1);
    if (rank.rank() == 1) rank.root()->send(view_of(value), 0);
  };
  const auto cut = [](bool one_way) {
    return with(2, {{.kind = FaultKind::partition, .ranks = {0}, .one_way = one_way}});
  };
  EXPECT_TRUE(run(cut(true), program).holds());
  EXPECT_FALSE(run(cut(false), program).holds());
}

TEST(LinkFaults, WhoeverIsCutOffIsLeftOutOfTheShrunkGang) {
  const Report report =
      run(with(4, {{.kind = FaultKind::partition, .ranks = {1}}}), [](SimulatedRank& rank) {
        EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
        if (rank.rank() == 1) {
          const auto error = gang_error_of([&rank] { rank.root()->shrink(); });
          ASSERT_TRUE(error);
          EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
        } else {
          EXPECT_EQ(count_members(*rank.root()->shrink()), 3);
        }
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(LinkFaults, LinksHealWhereFaultsStop) {
  const Report report =
      run(with(2, {{.kind = FaultKind::partition, .ranks = {0}}}), [](SimulatedRank& rank) {
        EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
        rank.stop_faults();
        EXPECT_EQ(count_members(*rank.root()->shrink()), 2);
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
