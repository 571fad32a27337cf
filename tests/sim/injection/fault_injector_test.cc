#include "sim/injection/fault_injector.h"

#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::SizeIs;

// What each rank that is left met in three barriers: the error's kind, or none.
Report kinds_of(const SimulationOptions& options,
                std::vector<std::optional<GangErrorKind>>& kinds) {
  kinds.resize(static_cast<std::size_t>(options.world_size));
  return run(options, [&kinds](SimulatedRank& rank) {
    if (const auto error = gang_error_of([&rank] { three_barriers(rank); }))
      kinds[static_cast<std::size_t>(rank.rank())] = error->kind();
  });
}

TEST(FaultInjector, ACrashThatIsNoticedFailsThePeers) {
  std::vector<std::optional<GangErrorKind>> kinds;
  const Report report = kinds_of(with(3, {{.kind = FaultKind::crash,
                                           .ranks = {1},
                                           .trigger = {.operation = 1},
                                           .notice = Between<Duration>(2s)}}),
                                 kinds);
  EXPECT_TRUE(report.holds()) << to_string(report);
  ASSERT_THAT(report.faults, SizeIs(1));
  EXPECT_EQ(report.faults[0].description, "rank 1 crashed before barrier #1 on root[0-2]");
  EXPECT_EQ(report.faults[0].rank, 1);
  EXPECT_THAT(kinds,
              ElementsAre(GangErrorKind::peer_failed, std::nullopt, GangErrorKind::peer_failed));
  EXPECT_EQ(report.virtual_time, 2s);
}

TEST(FaultInjector, AnUnnoticedCrashTimesOut) {
  std::vector<std::optional<GangErrorKind>> kinds;
  const Report report = kinds_of(
      with(3, {{.kind = FaultKind::crash, .ranks = {1}, .trigger = {.operation = 0}}}), kinds);
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(kinds, ElementsAre(GangErrorKind::timeout, std::nullopt, GangErrorKind::timeout));
  EXPECT_EQ(report.virtual_time, 10s);
}

// Calls before the next fault are let pass without looking at the plan; all of them count.
TEST(FaultInjector, EachOfSeveralFaultsOfARankMeetsTheCallItNames) {
  const Fault slow{.kind = FaultKind::slow, .ranks = {1}, .delay = Between<Duration>(1s)};
  for (std::uint64_t last = 0; last < 9; ++last) {
    Fault first = slow;
    first.trigger.operation = 2;
    first.lasts = Between<Duration>(Duration(1));
    Fault filtered = slow;
    filtered.trigger = {.operation = 1, .during = OperationKind::all_reduce};
    filtered.lasts = Between<Duration>(Duration(1));
    const Fault end{.kind = FaultKind::exception, .ranks = {1}, .trigger = {.operation = 3 + last}};
    std::uint64_t calls = 0;
    const Report report = run(with(2, {first, filtered, end}), [&calls](SimulatedRank& rank) {
      gang_error_of([&] {
        for (;;) {
          if (rank.rank() == 1) ++calls;
          rank.root()->barrier();
          float value = 1;
          if (rank.rank() == 1) ++calls;
          rank.root()->all_reduce(view_of(value), ReduceOperation::max);
        }
      });
    });
    ASSERT_THAT(report.faults, SizeIs(3)) << to_string(report);
    EXPECT_EQ(report.faults[0].description, "rank 1 was slow from barrier #2 on root[0,1]");
    EXPECT_THAT(report.faults.back().description, HasSubstr("threw an injected exception before"));
    EXPECT_EQ(calls, 4 + last);
  }
}

TEST(FaultInjector, WhatAFaultLedToSaysSo) {
  const Report report =
      run(with(3, {{.kind = FaultKind::stall, .ranks = {1}, .trigger = {.operation = 2}}}),
          three_barriers);
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(report.findings[0].certainty.value().faults, Dependence::open);
  EXPECT_EQ(report.faults.at(0).description, "rank 1 stalled before barrier #2 on root[0-2]");
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("rank 1 did not come"));
  EXPECT_THAT(report.findings[0].consequences, testing::Not(IsEmpty()));
}

TEST(FaultInjector, TheFaultIsTheFindingWhereAnErrorEndsAProgram) {
  const Report report = run(with(2, {{.kind = FaultKind::crash,
                                      .ranks = {0},
                                      .trigger = {.operation = 0},
                                      .notice = Between<Duration>(Duration(0))}}),
                            three_barriers);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 0 crashed before barrier #0 on root[0,1] (injected by the fault plan).");
  EXPECT_THAT(report.findings[0].consequences, SizeIs(1));
}

TEST(FaultInjector, ARankThatDiesHavingContributedLetsSomeOthersComplete) {
  std::vector<std::size_t> told;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimulationOptions options =
        with(4, {{.kind = FaultKind::crash,
                  .ranks = {2},
                  .trigger = {.operation = 1, .moment = FaultMoment::inside},
                  .notice = Between<Duration>(1s)}});
    options.seed = seed;
    std::size_t completed = 0;
    const Report report = run(options, [&completed](SimulatedRank& rank) {
      float sum = 1;
      rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
      if (gang_error_of([&] { rank.root()->all_reduce(view_of(sum), ReduceOperation::sum); }))
        return;
      EXPECT_EQ(sum, 16) << "no rank sees success with wrong data";
      ++completed;
      EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
    told.push_back(completed);
  }
  EXPECT_THAT(told, testing::Contains(0u)) << "its contribution had not left it";
  EXPECT_THAT(told, testing::Contains(3u));
  EXPECT_THAT(told, testing::Contains(testing::AnyOf(1u, 2u))) << "some were told, some not";
}

TEST(FaultInjector, AnExceptionComesFromTheCall) {
  const Report report =
      run(with(2, {{.kind = FaultKind::exception, .ranks = {0}, .trigger = {.operation = 1}}}),
          [](SimulatedRank& rank) {
            if (rank.rank() == 0) {
              rank.root()->barrier();
              EXPECT_THROW(rank.root()->barrier(), InjectedException);
            } else {
              rank.root()->barrier();
            }
            rank.root()->barrier();  // nothing was sent
          });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(FaultInjector, AStallThatEndsIsADelay) {
  const Report report = run(with(2, {{.kind = FaultKind::stall,
                                      .ranks = {1},
                                      .trigger = {.operation = 0},
                                      .lasts = Between<Duration>(3s)}}),
                            three_barriers);
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.virtual_time, 3s);
}

TEST(FaultInjector, ASlowRankIsLateInEveryCallAndSleepsLonger) {
  const Report report = run(with(2, {{.kind = FaultKind::slow,
                                      .ranks = {1},
                                      .trigger = {.operation = 0},
                                      .delay = Between<Duration>(1s),
                                      .factor = 2}}),
                            [](SimulatedRank& rank) {
                              three_barriers(rank);
                              rank.runtime().sleep_for(5s);
                              EXPECT_EQ(rank.runtime().now(), rank.rank() == 0 ? 8s : 13s);
                            });
  EXPECT_TRUE(report.holds()) << to_string(report);
  ASSERT_THAT(report.faults, SizeIs(1));
  EXPECT_EQ(report.faults[0].count, 3u);
}

TEST(FaultInjector, SleepsAreAsLongAsEverOnceARankIsNoLongerSlow) {
  const Report report = run(with(2, {{.kind = FaultKind::slow,
                                      .ranks = {1},
                                      .trigger = {.operation = 0},
                                      .lasts = Between<Duration>(4s),
                                      .factor = 3}}),
                            [](SimulatedRank& rank) {
                              rank.root()->barrier();
                              rank.runtime().sleep_for(2s);
                              rank.root()->barrier();
                              EXPECT_EQ(rank.runtime().now(), 6s);
                              rank.runtime().sleep_for(2s);
                              EXPECT_EQ(rank.runtime().now(), 8s);
                            });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(FaultInjector, ALateJoinerIsWaitedForUpToTheTimeout) {
  const auto late = [](Duration by) {
    return with(2, {{.kind = FaultKind::late_start, .ranks = {0}, .delay = Between<Duration>(by)}});
  };
  EXPECT_TRUE(run(late(9s), three_barriers).holds());
  EXPECT_THAT(ids_of(run(late(11s), three_barriers)), ElementsAre("timed_out"));
}

TEST(FaultInjector, AWatchdogEndsTheGangForEveryone) {
  std::vector<std::optional<GangErrorKind>> kinds;
  const Report report = kinds_of(
      with(3, {{.kind = FaultKind::watchdog_abort, .ranks = {0}, .trigger = {.operation = 1}}}),
      kinds);
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(kinds, testing::Each(GangErrorKind::aborted));
}

TEST(FaultInjector, ANewIncarnationIsRefusedByTheOldGang) {
  std::vector<int> incarnations;
  const Report report = run(with(3, {{.kind = FaultKind::restart,
                                      .ranks = {1},
                                      .trigger = {.operation = 1},
                                      .delay = Between<Duration>(5s),
                                      .notice = Between<Duration>(1s)}}),
                            [&incarnations](SimulatedRank& rank) {
                              if (rank.rank() == 1) incarnations.push_back(rank.incarnation());
                              const auto error = gang_error_of([&rank] { three_barriers(rank); });
                              ASSERT_TRUE(error);
                              EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
                              if (rank.incarnation() == 0) {
                                EXPECT_EQ(rank.root()->shrink()->size(), 2);
                                return;
                              }
                              EXPECT_THAT(error->what(), HasSubstr("restarted (incarnation 1)"));
                              EXPECT_TRUE(gang_error_of([&rank] { rank.root()->shrink(); }));
                            });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(incarnations, ElementsAre(0, 1));
}

TEST(FaultInjector, TimePassesForAFaultOnlyWhereItPassesAnyway) {
  const auto at = [](Duration time) {
    return with(2, {{.kind = FaultKind::crash,
                     .ranks = {0},
                     .trigger = {.time = Between<Duration>(time)},
                     .notice = Between<Duration>(Duration(0))}});
  };
  const auto program = [](SimulatedRank& rank) {
    rank.runtime().sleep_for(2s);
    rank.root()->barrier();
  };
  EXPECT_TRUE(run(at(3s), program).faults.empty());
  const Report report = run(at(1s), program);
  EXPECT_THAT(report.faults, SizeIs(1));
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

TEST(FaultInjector, AResultIsCorruptForOneAContributionForAll) {
  const auto sums_under = [](FaultKind kind) {
    std::vector<double> sums(3);
    const Report report = run(with(3, {{.kind = kind, .ranks = {1}, .trigger = {.operation = 1}}}),
                              [&sums](SimulatedRank& rank) {
                                double sum = 0;
                                for (int i = 0; i < 3; ++i) {
                                  sum = 1;
                                  rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                                  if (i == 1) sums[static_cast<std::size_t>(rank.rank())] = sum;
                                }
                                EXPECT_EQ(sum, 3);
                              });
    EXPECT_TRUE(report.holds()) << to_string(report);
    EXPECT_THAT(report.faults, SizeIs(1));
    return sums;
  };
  EXPECT_THAT(sums_under(FaultKind::corrupt_result), ElementsAre(3, testing::Ne(3), 3));
  const std::vector<double> contributed = sums_under(FaultKind::corrupt_contribution);
  EXPECT_NE(contributed[0], 3);
  EXPECT_EQ(contributed[0], contributed[1]);
  EXPECT_EQ(contributed[0], contributed[2]);
}

// Three ranks start a sum on one gang and meet on another; then rank 1 uses its input for something
// else for so long, gives it back, and waits.
Report lent_out(const SimulationOptions& options, Duration lent, std::vector<double>& sums) {
  sums.assign(3, 0);
  return run(options, [&sums, lent](SimulatedRank& rank) {
    const auto other = child_of(*rank.root(), {0, 1, 2});
    double input = 1;
    double& sum = sums[static_cast<std::size_t>(rank.rank())];
    Work work = rank.root()->start_all_reduce(view_of(sum), view_of(input), ReduceOperation::sum);
    other->barrier();
    if (rank.rank() == 1 && lent > Duration(0)) {
      input = 0;
      rank.runtime().sleep_for(lent);
      input = 1;
    }
    work.wait();
  });
}

std::vector<Fault> late_copy_of_rank_1(Duration delay) {
  return {{.kind = FaultKind::late_copy, .ranks = {1}, .delay = Between<Duration>(delay)}};
}

TEST(FaultInjector, ALateCopyFindsABufferThatIsReusedTooEarly) {
  std::vector<double> sums;
  EXPECT_TRUE(lent_out({.world_size = 3}, 5s, sums).holds()) << "mostly it has been read by then";
  const Report report = lent_out(with(3, late_copy_of_rank_1(1s)), 5s, sums);
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(report.faults.at(0).description,
            "rank 1 had its data read late in all_reduce #1 sum f64[] on root[0-2]");
  EXPECT_THAT(sums, testing::Each(2)) << "what lay there then";
}

TEST(FaultInjector, ALateCopyOnlyDelaysWhoeverWaits) {
  std::vector<double> sums;
  const Report report = lent_out(with(3, late_copy_of_rank_1(3s)), Duration(0), sums);
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.virtual_time, 3s);
  EXPECT_THAT(sums, testing::Each(3));
}

TEST(FaultInjector, ACopyThatIsTooLateIsATimeoutThatNamesTheRank) {
  std::vector<double> sums;
  const Report report = lent_out(with(3, late_copy_of_rank_1(11s)), Duration(0), sums);
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(report.virtual_time, 10s);
}

TEST(FaultInjector, ALateCopyIsOfStartedOperationsThatBringSomething) {
  const Report report =
      run(with(2, {{.kind = FaultKind::late_copy, .ranks = {0}, .delay = Between<Duration>(1s)}}),
          [](SimulatedRank& rank) {
            float value = static_cast<float>(rank.rank());
            rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
            rank.root()->start_barrier().wait();
            rank.root()->start_broadcast(view_of(value), 1).wait();
            if (rank.rank() == 1) return rank.root()->recv(view_of(value), 0), void();
            EXPECT_EQ(rank.runtime().now(), Duration(0));
            Work work = rank.root()->start_send(view_of(value), 1);
            EXPECT_FALSE(work.wait(Duration(500ms)));
            EXPECT_TRUE(work.wait(Duration(500ms)));
          });
  EXPECT_TRUE(report.holds()) << to_string(report);
  ASSERT_THAT(report.faults, SizeIs(1));
  EXPECT_THAT(report.faults[0].description, HasSubstr("in send "));
}

TEST(FaultInjector, StopsWhereAsked) {
  const Report report = run(with(2, {{.kind = FaultKind::crash, .trigger = {.operation = 2}}}),
                            [](SimulatedRank& rank) {
                              rank.root()->barrier();
                              rank.stop_faults();
                              three_barriers(rank);
                            });
  EXPECT_TRUE(report.holds());
  EXPECT_TRUE(report.faults.empty());
}

TEST(FaultInjector, AHangThatNoTimeoutEndsIsStillFound) {
  SimulationOptions options =
      with(2, {{.kind = FaultKind::stall, .ranks = {1}, .trigger = {.operation = 1}}});
  options.timeout = no_timeout;
  const Report report = run(options, three_barriers);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].certainty.value().faults, Dependence::open);
  EXPECT_EQ(report.certainty.value().faults, Dependence::open);
}

TEST(FaultInjector, FiberAndThreadGiveOneTrace) {
  for (const FaultKind kind : {FaultKind::crash, FaultKind::stall, FaultKind::slow}) {
    std::vector<std::uint64_t> digests;
    for (const ContextKind context : deterministic_contexts()) {
      SimulationOptions options =
          with(4, {{.kind = kind,
                    .trigger = {.operation = 1},
                    .delay = kind == FaultKind::slow ? std::optional(Between<Duration>(1s))
                                                     : std::nullopt}});
      options.context = context;
      options.scheduler = SchedulerKind::random;
      digests.push_back(run(options, three_barriers).trace.digest);
    }
    EXPECT_THAT(digests, testing::Each(digests.front())) << to_string(kind);
  }
}

TEST(FaultInjector, RefusesFaultsThatOperationsLack) {
  const auto complaint_about = [](FaultKind kind) {
    try {
      run(with(2, {{.kind = kind}}), three_barriers);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(complaint_about(FaultKind::duplicate_message),
            "fault 1: duplicate_message needs a transport, which backend sim lacks");
  EXPECT_EQ(complaint_about(FaultKind::store_unavailable),
            "fault 1: store_unavailable needs a store, which simulated gangs lack; use compare "
            "--backend gloo");
}

}  // namespace
}  // namespace gang::sim
