#include "sim/backends/observed_gang.h"

#include <set>

#include "gang/agreement.h"
#include "gang/root_gang.h"
#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::Contains;
using testing::SizeIs;

// Foreign backends, with NCCL over sockets like Gloo.
class ObservedGangOver : public testing::TestWithParam<SimulatedBackend> {
 protected:
  static SimulationOptions on(int world_size, std::vector<Fault> faults) {
    SimulationOptions options = with(world_size, std::move(faults));
    options.backend = GetParam();
    options.nccl.links = PeerLinks::sockets;
    return options;
  }
};

std::vector<SimulatedBackend> backends() {
  std::vector<SimulatedBackend> all = {SimulatedBackend::nccl};
  if (gloo_availability().is_available) all.push_back(SimulatedBackend::gloo);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, ObservedGangOver, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<SimulatedBackend>& backend) {
                           return backend.param == SimulatedBackend::nccl ? "nccl" : "gloo";
                         });

// Each rank's outcome of five all_reduces: the error, or none and correct sums.
std::vector<std::optional<GangError>> errors_of(const SimulationOptions& options, Report& report) {
  std::vector<std::optional<GangError>> errors(static_cast<std::size_t>(options.world_size));
  report = run(options, [&](SimulatedRank& rank) {
    errors[static_cast<std::size_t>(rank.rank())] = gang_error_of([&rank] {
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(all_sum(*rank.root(), 1 << rank.rank()), (1 << rank.world_size()) - 1);
    });
  });
  return errors;
}

TEST_P(ObservedGangOver, BlockingCallsAreTraced) {
  SimulationOptions options{.world_size = 2, .backend = GetParam()};
  options.trace = Recording::on;
  const RankProgram program = [](SimulatedRank& rank) {
    rank.root()->barrier();
    EXPECT_EQ(all_sum(*rank.root()->split({.color = 0, .key = -rank.rank()}), 1), 2);
  };
  const Report report = run(options, program);
  const std::string text = to_string(report.trace);
  EXPECT_THAT(text, HasSubstr("barrier #0"));
  EXPECT_THAT(text, HasSubstr("root.0[1,0]"));
  EXPECT_NE(report.trace.digest,
            run(options, [](SimulatedRank& rank) { rank.root()->barrier(); }).trace.digest);
  EXPECT_EQ(report.trace.digest, run(options, program).trace.digest);
}

// NCCL does not say whose connection failed.
TEST_P(ObservedGangOver, NoticedCrashFailsItsPeers) {
  Report report;
  const auto errors = errors_of(on(4, {{.kind = FaultKind::crash,
                                        .ranks = {1},
                                        .trigger = {.operation = 2},
                                        .notice = Between<Duration>(2s)}}),
                                report);
  for (const int rank : {0, 2, 3}) {
    const auto& error = errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error) << rank;
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    if (GetParam() == SimulatedBackend::gloo) {
      EXPECT_EQ(error->ranks_at_fault(), std::vector<int>{1});
    }
    EXPECT_EQ(error->elapsed(), 2s);
  }
  ASSERT_THAT(report.faults, SizeIs(1));
  EXPECT_EQ(report.faults[0].description,
            "rank 1 crashed before all_reduce #2 sum i64[] on root[0-3]");
}

TEST_P(ObservedGangOver, StallOrUnnoticedCrashIsATimeout) {
  for (const FaultKind kind : {FaultKind::stall, FaultKind::crash}) {
    Report report;
    const auto errors =
        errors_of(on(3, {{.kind = kind, .ranks = {0}, .trigger = {.operation = 1}}}), report);
    for (const int rank : {1, 2})
      EXPECT_EQ(errors[static_cast<std::size_t>(rank)]->kind(), GangErrorKind::timeout);
    EXPECT_EQ(report.virtual_time, 10s);
  }
}

TEST_P(ObservedGangOver, CrashInsideACallStrikesMidAlgorithm) {
  std::set<int> with_result;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SimulationOptions options = on(4, {{.kind = FaultKind::crash,
                                        .ranks = {2},
                                        .trigger = {.operation = 0, .moment = FaultMoment::inside},
                                        .notice = Between<Duration>(1s)}});
    options.seed = seed;
    int completed = 0;
    run(options, [&completed](SimulatedRank& rank) {
      std::int64_t sum = 1;
      if (gang_error_of([&] { rank.root()->all_reduce(view_of(sum), ReduceOperation::sum); }))
        return;
      EXPECT_EQ(sum, 4);
      ++completed;
    });
    with_result.insert(completed);
  }
  EXPECT_THAT(with_result, Contains(0));
  EXPECT_GT(with_result.size(), 1U);  // in other runs, some had what they needed
}

TEST_P(ObservedGangOver, LinkFaultsHitMessagesOfTheAlgorithms) {
  const auto fault_of = [](FaultKind kind) {
    Fault fault{
        .kind = kind, .ranks = {0}, .to = {1, 2}, .one_way = true, .trigger = {.message = 2}};
    if (kind == FaultKind::delay_message) fault.delay = Between<Duration>(2s);
    return fault;
  };
  Report report;
  for (const FaultKind kind :
       {FaultKind::delay_message, FaultKind::duplicate_message, FaultKind::reorder_messages}) {
    for (const auto& error : errors_of(on(3, {fault_of(kind)}), report))
      EXPECT_FALSE(error) << error->what();
    EXPECT_THAT(report.faults, SizeIs(1)) << to_string(kind);
  }
  EXPECT_THAT(report.faults[0].description, HasSubstr("a message of all_reduce #"));
  for (const auto& error : errors_of(on(3, {fault_of(FaultKind::drop_message)}), report)) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
  }
}

SimulationOptions over_gloo(int world_size, std::vector<Fault> faults) {
  SimulationOptions options = with(world_size, std::move(faults));
  options.backend = SimulatedBackend::gloo;
  return options;
}

TEST(ObservedGangOverGloo, LateCopyDelaysWhatTheRankSends) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  std::vector<std::int64_t> sums(3);
  const auto program = [&sums](Duration lent) {
    return [&sums, lent](SimulatedRank& rank) {
      std::int64_t input = 1;
      std::int64_t& sum = sums[static_cast<std::size_t>(rank.rank())];
      Work work = rank.root()->start_all_reduce(view_of(sum), view_of(input), ReduceOperation::sum);
      rank.runtime().sleep_for(lent);
      work.wait();
    };
  };
  const std::vector<Fault> late = {
      {.kind = FaultKind::late_copy, .ranks = {1}, .delay = Between<Duration>(3s)}};
  const Report report = run(over_gloo(3, late), program(1s));
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.virtual_time, 3s);
  EXPECT_THAT(sums, testing::Each(3));
  EXPECT_EQ(run(over_gloo(3, {}), program(1s)).virtual_time, 1s);
}

TEST(ObservedGangOverGloo, WatchdogAbortsTheOtherGangsOfItsRank) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  SimulationOptions options{.world_size = 3,
                            .backend = SimulatedBackend::gloo,
                            .pending_timeouts = PendingTimeouts::fire,
                            .watchdog = 2s};
  std::vector<GangErrorKind> kinds(2);
  run(options, [&kinds](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {0, 1});
    const auto all = child_of(*rank.root(), {0, 1, 2});
    if (rank.rank() == 2) return rank.runtime().sleep_for(20s);
    Work nobody_waits;
    if (rank.rank() == 0) nobody_waits = all->start_barrier();
    rank.runtime().sleep_for(5s);
    const auto error = gang_error_of([&pair] { pair->barrier(); });
    ASSERT_TRUE(error) << rank.rank();
    kinds[static_cast<std::size_t>(rank.rank())] = error->kind();
    if (rank.rank() == 0) {
      EXPECT_EQ(gang_error_of([&nobody_waits] { nobody_waits.wait(); })->elapsed(), 2s);
    }
  });
  EXPECT_EQ(kinds[0], GangErrorKind::aborted);
}

TEST_P(ObservedGangOver, ExceptionLeavesTheProgram) {
  const Report report =
      run(on(2, {{.kind = FaultKind::exception, .ranks = {1}, .trigger = {.operation = 1}}}),
          three_barriers);
  EXPECT_EQ(report.outcome, Outcome::failed);
  EXPECT_THAT(ids_of(report), Contains("rank_failed"));
}

TEST_P(ObservedGangOver, WatchdogAbortsTheGangOnEveryRank) {
  Report report;
  const auto errors = errors_of(
      on(3, {{.kind = FaultKind::watchdog_abort, .ranks = {1}, .trigger = {.operation = 1}}}),
      report);
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::aborted) << error->what();
  }
}

TEST_P(ObservedGangOver, CorruptResultsAndContributionsAreAccepted) {
  for (const FaultKind kind : {FaultKind::corrupt_contribution, FaultKind::corrupt_result}) {
    int right = 0;
    run(on(3, {{.kind = kind, .ranks = {1}, .trigger = {.operation = 0}}}),
        [&right](SimulatedRank& rank) {
          if (all_sum(*rank.root(), 5) == 15) ++right;
        });
    EXPECT_EQ(right, kind == FaultKind::corrupt_result ? 2 : 0);
  }
}

TEST_P(ObservedGangOver, RestartedRankIsRefused) {
  int refused = 0;
  run(on(3, {{.kind = FaultKind::restart,
              .ranks = {1},
              .trigger = {.operation = 1},
              .delay = Between<Duration>(1s),
              .notice = Between<Duration>(Duration(0))}}),
      [&refused](SimulatedRank& rank) {
        const auto error = gang_error_of([&rank] { three_barriers(rank); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
        if (std::string_view(error->what()).find("incarnation 1") != std::string_view::npos)
          ++refused;
      });
  EXPECT_EQ(refused, 1);
}

TEST_P(ObservedGangOver, MonitoredBarrierNamesLostAndStalledRanks) {
  for (const bool is_noticed : {false, true}) {
    Fault fault{.kind = is_noticed ? FaultKind::crash : FaultKind::stall,
                .ranks = {2},
                .trigger = {.operation = 1}};
    if (is_noticed) fault.notice = Between<Duration>(1s);
    run(on(5, {fault}), [](SimulatedRank& rank) {
      rank.root()->barrier();
      const auto error =
          gang_error_of([&rank] { rank.root()->monitored_barrier(3s, Gang::MissingRanks::all); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->ranks_at_fault(), std::vector<int>{2}) << error->what();
    });
  }
}

TEST_P(ObservedGangOver, PlanWithoutFiredFaultsChangesNothing) {
  SimulationOptions clean{.world_size = 3, .backend = GetParam()};
  SimulationOptions faulted = on(
      3, {{.kind = FaultKind::crash, .ranks = {1}, .trigger = {.operation = 1000}},
          {.kind = FaultKind::drop_message, .ranks = {0}, .to = {1}, .trigger = {.message = 900}}});
  clean.timeout = faulted.timeout;
  EXPECT_EQ(run(clean, three_barriers).trace.digest, run(faulted, three_barriers).trace.digest);
}

}  // namespace
}  // namespace gang::sim
