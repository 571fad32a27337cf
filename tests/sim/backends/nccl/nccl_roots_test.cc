#include "sim/backends/nccl/nccl_roots.h"

#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

SimulationOptions nccl_world(int world_size) {
  return {.world_size = world_size, .backend = SimulatedBackend::nccl};
}

class NcclRootsOfSize : public testing::TestWithParam<int> {};

TEST_P(NcclRootsOfSize, OperationsMatchTheirDefinition) {
  const int size = GetParam();
  const Report report = run(nccl_world(size), [size](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::vector<std::int64_t> values(1000, rank.rank());
    root.all_reduce(view(values), ReduceOperation::sum);
    EXPECT_EQ(values.front(), size * (size - 1) / 2);
    EXPECT_EQ(values.back(), values.front());
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::int64_t own = 10 + rank.rank();
    root.all_gather(view(all), view_of(own));
    EXPECT_EQ(all.back(), 10 + size - 1);
    std::int32_t bits = 1 << (rank.rank() % 30);
    root.all_reduce(view_of(bits), ReduceOperation::bitwise_or);
    EXPECT_EQ(bits, size >= 30 ? (1 << 30) - 1 : (1 << size) - 1);
    const auto half = root.split({.color = rank.rank() % 2});
    Work work = half->start_all_reduce(view_of(own), ReduceOperation::max);
    work.wait();
    EXPECT_EQ(own, 10 + (size - 1 - (size - 1 - rank.rank()) % 2));
    Object object = rank.rank() == 0 ? Object("hello") : Object();
    root.broadcast_objects({&object, 1});
    EXPECT_EQ(object, "hello");
    root.barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(Sizes, NcclRootsOfSize, testing::Values(1, 2, 3, 4, 8, 33));

TEST(NcclRoots, MessagesOfABatchProgressTogether) {
  const Report report = run(nccl_world(3), [](SimulatedRank& rank) {
    std::int32_t sent = rank.rank();
    std::int32_t received = -1;
    const PointToPoint both[] = {{OperationKind::send, view_of(sent), (rank.rank() + 1) % 3},
                                 {OperationKind::recv, view_of(received), (rank.rank() + 2) % 3}};
    rank.root()->batch(both);
    EXPECT_EQ(received, (rank.rank() + 2) % 3);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// A poll that completes a work reports it before other contexts, or time, advance.
TEST(NcclRoots, PollingCompletedWorksTakesNoTime) {
  const Report report = run(nccl_world(2), [](SimulatedRank& rank) {
    std::array<std::int32_t, 3> values{};
    if (rank.rank() == 1) {
      for (std::int32_t& value : values) rank.root()->send(view_of(value), 0);
      return rank.runtime().sleep_for(std::chrono::hours(1));
    }
    std::vector<Work> works;
    for (std::int32_t& value : values) works.push_back(rank.root()->start_recv(view_of(value), 1));
    rank.runtime().sleep_for(std::chrono::milliseconds(1));
    for (Work& work : works) {
      while (!work.test()) {
      }
    }
    EXPECT_EQ(rank.runtime().now(), TimePoint(std::chrono::milliseconds(1)));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, NamesARankThatLeft) {
  const Report report = run(nccl_world(3), [](SimulatedRank& rank) {
    if (rank.rank() != 1) rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

TEST(NcclRoots, ExceptionOfOneRankEndsItsPeersOperations) {
  const Report report = run(nccl_world(3), [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("planted");
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
}

TEST(NcclRoots, AnAbortReachesEveryone) {
  const Report report = run(nccl_world(3), [](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.root()->abort();
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::aborted);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, TimeoutsFireInVirtualTime) {
  SimulationOptions options = nccl_world(2);
  options.pending_timeouts = PendingTimeouts::fire;
  options.timeout = 3s;
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    std::int32_t value = 0;
    Work work = rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum);
    const auto error = gang_error_of([&work] { work.wait(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
    EXPECT_EQ(rank.runtime().now(), TimePoint(3s));
  });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(NcclRoots, WorksMayBeTestedAndAwaitedTogether) {
  const Report report = run(nccl_world(2), [](SimulatedRank& rank) {
    const auto other = rank.root()->split({.color = 0});
    std::int32_t values[2] = {1, 2};
    std::vector<Work> works;
    works.push_back(rank.root()->start_all_reduce(view_of(values[0]), ReduceOperation::sum));
    works.push_back(other->start_all_reduce(view_of(values[1]), ReduceOperation::sum));
    while (!works[1].test()) {
    }
    EXPECT_EQ(Work::wait_any(works), 0U);
    EXPECT_EQ(values[0] + values[1], 6);
    Work barrier = other->start_barrier();
    EXPECT_TRUE(barrier.wait(1s));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, FibersAndThreadsGiveTheSameResults) {
  for (const ContextKind context :
       {ContextKind::fiber, ContextKind::thread, ContextKind::parallel}) {
    if (context == ContextKind::fiber && !has_fibers()) continue;
    SimulationOptions options = nccl_world(4);
    options.context = context;
    const Report report =
        run(options, [](SimulatedRank& rank) { EXPECT_EQ(count_members(*rank.root()), 4); });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(NcclRoots, SurvivorsOfAFailureKeepTheirOrder) {
  const Report report = run(nccl_world(4), [](SimulatedRank& rank) {
    if (rank.rank() == 2) throw std::runtime_error("gone");
    EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
    const auto rest = rank.root()->shrink();
    EXPECT_THAT(rest->info().root_ranks, ElementsAre(0, 1, 3));
    EXPECT_EQ(count_members(*rest), 3);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
}

TEST(NcclRoots, RanksUnawareOfALossContinueWithThoseAware) {
  const Report report = run(nccl_world(4), [](SimulatedRank& rank) {
    if (rank.rank() == 2) throw std::runtime_error("gone");
    if (rank.rank() != 1) {
      EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
    }
    const auto rest = rank.root()->shrink({.grace = 3600s});
    EXPECT_LT(rank.runtime().now(), TimePoint(3600s));
    EXPECT_EQ(count_members(*rest), 3);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
}

// NCCL identifies a new communicator by the number of splits of the old one.
TEST(NcclRoots, ShrinkingDoesNotNeedEqualNumbersOfSplits) {
  SimulationOptions options = nccl_world(3);
  options.pending_timeouts = PendingTimeouts::fire;
  options.timeout = 5s;
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(10s);
    EXPECT_TRUE(gang_error_of([&rank] { rank.root()->split({.color = 0}); })) << rank.rank();
    EXPECT_EQ(count_members(*rank.root()->shrink({.grace = 3600s})), 3);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, AbsentRanksAreExcludedAfterTheGracePeriod) {
  const Report report = run(nccl_world(3), [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(10s);
      const auto error = gang_error_of([&rank] { rank.root()->shrink({.grace = 1s}); });
      ASSERT_TRUE(error);
      EXPECT_THAT(error->what(), HasSubstr("too late"));
      return;
    }
    const auto rest = rank.root()->shrink({.grace = 2s});
    EXPECT_EQ(rank.runtime().now(), TimePoint(2s));
    EXPECT_EQ(count_members(*rest), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, OverSocketsALostRankFailsItsPeersImmediately) {
  SimulationOptions options = nccl_world(3);
  options.nccl.links = PeerLinks::sockets;
  const Report report = run(options, [](SimulatedRank& rank) {
    EXPECT_EQ(count_members(*rank.root()), 3);
    if (rank.rank() == 1) return;
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    EXPECT_EQ(rank.runtime().now(), TimePoint{0});
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// Freeing a communicator waits for the whole device, so a gang defers it until that is idle.
TEST(NcclRoots, ClosingAGangDoesNotWaitForTheKernelsOfAnother) {
  const Report report = run(nccl_world(2), [](SimulatedRank& rank) {
    const auto closed = rank.root()->split({.color = 0});
    const auto used = rank.root()->split({.color = 0});
    std::int32_t value = 1;
    if (rank.rank() == 1) closed->close();
    if (rank.rank() == 1) rank.runtime().sleep_for(1ms);
    Work work = used->start_all_reduce(view_of(value), ReduceOperation::sum);
    if (rank.rank() == 0) {
      closed->close();
      EXPECT_EQ(rank.runtime().now(), TimePoint{0});
    }
    work.wait();
    EXPECT_EQ(value, 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclRoots, ClosingAGangEndsItsPendingOperations) {
  const Report report = run(nccl_world(2), [](SimulatedRank& rank) {
    const auto child = rank.root()->split({.color = 0});
    if (rank.rank() == 1) return;
    std::int32_t value = 1;
    Work work = child->start_all_reduce(view_of(value), ReduceOperation::sum);
    child->close();
    const auto error = gang_error_of([&work] { work.wait(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::aborted);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// However a run ends, the destructors of gangs and works finish.
TEST(NcclRoots, StoppedRunUnwinds) {
  for (std::uint64_t limit = 1; limit < 200; limit += 3) {
    SimulationOptions options = nccl_world(3);
    options.scheduler = SchedulerKind::random;
    options.step_limit = limit;
    const Report report = run(options, [](SimulatedRank& rank) {
      std::int32_t value = 1;
      Work work = rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum);
      while (!work.test()) {
      }
      rank.root()->split({.color = rank.rank() % 2})->barrier();
    });
    EXPECT_TRUE(report.outcome == Outcome::step_limit || report.holds()) << to_string(report);
  }
}

TEST(NcclRoots, CallsAreCounted) {
  const Report report = run(nccl_world(2), [](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.root()->split({.color = 0})->barrier();
  });
  EXPECT_EQ(report.counts.rank_operations, 6U);
}

// Device links report no crash: each peer waits for its own timeout.
TEST(NcclRoots, OverDeviceLinksACrashIsNotNoticed) {
  for (const PeerLinks links : {PeerLinks::device, PeerLinks::sockets}) {
    SimulationOptions options = with(3, {{.kind = FaultKind::crash,
                                          .ranks = {1},
                                          .trigger = {.operation = 1},
                                          .notice = Between<Duration>(2s)}});
    options.backend = SimulatedBackend::nccl;
    options.nccl.links = links;
    int told = 0;
    run(options, [&](SimulatedRank& rank) {
      rank.root()->barrier();
      const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
      ASSERT_TRUE(error);
      const bool is_noticed = links == PeerLinks::sockets;
      EXPECT_EQ(error->kind(), is_noticed ? GangErrorKind::peer_failed : GangErrorKind::timeout);
      EXPECT_EQ(rank.runtime().now(), TimePoint(is_noticed ? 2s : 10s));
      ++told;
    });
    EXPECT_EQ(told, 2);
  }
}

// The device of a stopped process keeps running; the device of a dead one does not.
TEST(NcclRoots, DeviceOutlivesAStalledHostButNotACrashedOne) {
  for (const FaultKind kind : {FaultKind::stall, FaultKind::crash}) {
    SimulationOptions options =
        with(2, {{.kind = kind, .ranks = {1}, .trigger = {.time = Between<Duration>(1ms)}}});
    options.backend = SimulatedBackend::nccl;
    std::optional<GangError> error;
    run(options, [&](SimulatedRank& rank) {
      std::int32_t value = 1;
      Work work;
      if (rank.rank() == 1)
        work = rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum);
      rank.runtime().sleep_for(2ms);
      if (rank.rank() == 0)
        error =
            gang_error_of([&] { rank.root()->all_reduce(view_of(value), ReduceOperation::sum); });
      else
        work.wait();
    });
    EXPECT_EQ(error.has_value(), kind == FaultKind::crash);
  }
}

}  // namespace
}  // namespace gang::sim
