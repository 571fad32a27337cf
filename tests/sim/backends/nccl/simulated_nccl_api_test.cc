#include "sim/backends/nccl/simulated_nccl_api.h"

#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(SimulatedNcclApi, HostsRunAheadOfTheirDevices) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    std::int32_t first = 1;
    std::int32_t second = 10;
    if (rank.rank == 1) rank.runtime.sleep_for(5ms);
    rank.all_reduce(*rank.communicator, *rank.stream, first);
    rank.all_reduce(*rank.communicator, *rank.stream, second);
    if (rank.rank == 0) {
      EXPECT_EQ(rank.runtime.now(), TimePoint{0});
      EXPECT_EQ(first, 1);
    }
    EXPECT_EQ(rank.wait(*rank.stream), NcclWake::Reason::done);
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 20);
    EXPECT_EQ(rank.runtime.now(), TimePoint(5ms));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, ConcurrentLaunchesFromTwoThreadsAreInvalidUsage) {
  const Report report = run_nccl({.world_size = 1}, [](NcclRank& rank) {
    std::int32_t value = 1;
    rank.api->begin_group();
    const auto thread = rank.runtime.start_thread("other", [&rank, &value] {
      try {
        rank.all_reduce(*rank.communicator, *rank.stream, value);
        ADD_FAILURE() << "another thread has a group open";
      } catch (const NcclError& error) {
        EXPECT_EQ(error.status(), NcclStatus::invalid_usage);
      }
    });
    thread->join();
    rank.api->end_group();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// In which schedules one ends like this in which every rank launches and then does `last`.
Schedules schedules_of(const std::function<void(NcclRank&)>& last) {
  return run_nccl({.world_size = 2},
                  [&last](NcclRank& rank) {
                    std::int32_t value = 1;
                    rank.all_reduce(*rank.communicator, *rank.stream, value);
                    last(rank);
                    rank.wait(*rank.stream);
                  })
      .schedules;
}

TEST(SimulatedNcclApi, WhatATestFindsDoneMayBePendingInAnotherSchedule) {
  EXPECT_EQ(schedules_of([](NcclRank&) {}), Schedules::every);
  bool was_done = false;
  EXPECT_EQ(schedules_of([&was_done](NcclRank& rank) {
              rank.recorded.push_back(rank.api->make_event());
              rank.api->record(*rank.recorded.back(), *rank.stream);
              was_done |= rank.api->is_done(*rank.recorded.back());
            }),
            Schedules::at_least_this);
  EXPECT_TRUE(was_done);
}

TEST(SimulatedNcclApi, WhatATestFindsPendingMayBeDoneInAnotherSchedule) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    std::int32_t value = 1;
    if (rank.rank == 1) rank.runtime.sleep_for(std::chrono::milliseconds(1));
    rank.all_reduce(*rank.communicator, *rank.stream, value);
    rank.recorded.push_back(rank.api->make_event());
    rank.api->record(*rank.recorded.back(), *rank.stream);
    if (rank.rank == 0) {
      EXPECT_FALSE(rank.api->is_done(*rank.recorded.back()));
    }
    rank.wait(*rank.stream);
  });
  EXPECT_EQ(report.outcome, Outcome::completed);
  EXPECT_EQ(report.schedules, Schedules::at_least_this);
}

TEST(SimulatedNcclApi, WhichOfTwoIsDoneFirstDependsOnTheSchedule) {
  EXPECT_EQ(schedules_of([](NcclRank& rank) {
              const auto first = rank.api->make_event();
              const auto second = rank.api->make_event();
              rank.api->record(*first, *rank.stream);
              rank.api->record(*second, *rank.stream);
              NcclEvent* const events[] = {first.get(), second.get()};
              rank.api->wait_any(events, TimePoint::max(), rank.api->changes());
              rank.wait(*rank.stream);
            }),
            Schedules::at_least_this);
}

TEST(SimulatedNcclApi, InvalidCallsAreRefused) {
  const Report report = run_nccl({.world_size = 1}, [](NcclRank& rank) {
    const auto status_of = [&rank](NcclLaunch launch) {
      std::byte bytes[8] = {};
      launch.input = bytes;
      launch.output = bytes;
      launch.count = 1;
      try {
        rank.api->launch(*rank.communicator, *rank.stream, launch, rank.purpose);
      } catch (const NcclError& error) {
        return error.status();
      }
      return NcclStatus::success;
    };
    EXPECT_EQ(status_of({.data_type = DataType::boolean}), NcclStatus::invalid_argument);
    EXPECT_EQ(status_of({.reduce_operation = ReduceOperation::bitwise_or}),
              NcclStatus::invalid_argument);
    EXPECT_EQ(status_of({.kind = OperationKind::broadcast, .peer = 1}),
              NcclStatus::invalid_argument);
    EXPECT_EQ(status_of({}), NcclStatus::success);
    NcclCommunicator* const revoked[] = {rank.communicator.get()};
    rank.api->revoke(revoked);
    EXPECT_EQ(status_of({}), NcclStatus::invalid_usage);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// The outcome of each rank's wait, and the state of its communicator, when rank 1 is lost.
void lose_a_peer(PeerLinks links, NcclWake::Reason expected, NcclStatus status) {
  SimulationOptions options{.world_size = 2, .nccl = {.links = links}};
  options.pending_timeouts = PendingTimeouts::fire;
  const Report report = run_nccl(options, [=](NcclRank& rank) {
    std::int32_t value = 1;
    if (rank.rank == 1) {
      rank.runtime.sleep_for(1ms);
      return rank.api->destroy(std::move(rank.communicator));
    }
    rank.all_reduce(*rank.communicator, *rank.stream, value);
    EXPECT_EQ(rank.wait(*rank.stream, TimePoint(1s)), expected);
    EXPECT_EQ(rank.api->state(*rank.communicator), status);
    NcclCommunicator* const mine[] = {rank.communicator.get()};
    rank.api->revoke(mine);
    EXPECT_EQ(rank.wait(*rank.stream), NcclWake::Reason::done);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, LossOfAPeerIsNoticedOverSocketsOnly) {
  lose_a_peer(PeerLinks::device, NcclWake::Reason::deadline, NcclStatus::success);
  lose_a_peer(PeerLinks::sockets, NcclWake::Reason::look, NcclStatus::remote_error);
}

TEST(SimulatedNcclApi, NewCommunicatorIsInProgressUntilAllHaveJoined) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    if (rank.rank == 1) rank.runtime.sleep_for(1ms);
    auto child = rank.api->split(*rank.communicator, {.color = 0, .key = -rank.rank}, rank.purpose);
    EXPECT_EQ(rank.api->state(*child), NcclStatus::in_progress);
    EXPECT_EQ(rank.api->await_ready(*child, TimePoint::max()), NcclStatus::success);
    EXPECT_EQ(rank.runtime.now(), TimePoint(1ms));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, SurvivorsShrinkACommunicator) {
  const Report report = run_nccl({.world_size = 3}, [](NcclRank& rank) {
    if (rank.rank == 1) return;
    std::int32_t value = rank.rank;
    rank.all_reduce(*rank.communicator, *rank.stream, value);  // would wait forever
    const int excluded[] = {1};
    auto rest =
        rank.api->shrink(*rank.communicator, excluded, NcclShrink::abort_parent, rank.purpose);
    EXPECT_EQ(rank.api->await_ready(*rest, TimePoint::max()), NcclStatus::success);
    rank.all_reduce(*rest, *rank.stream, value);
    EXPECT_EQ(rank.wait(*rank.stream), NcclWake::Reason::done);
    EXPECT_EQ(value, 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, OperationsWithoutElementsAreDropped) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    if (rank.rank == 0)
      rank.api->launch(*rank.communicator, *rank.stream, {.count = 0}, rank.purpose);
    EXPECT_EQ(rank.wait(*rank.stream), NcclWake::Reason::done);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, StreamsRunInOrder) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    std::int32_t value = 1;
    std::int32_t copy = 0;
    std::int32_t seen = 0;
    if (rank.rank == 1) rank.runtime.sleep_for(1ms);
    rank.all_reduce(*rank.communicator, *rank.stream, value);
    rank.api->copy(*rank.stream, reinterpret_cast<std::byte*>(&copy),
                   reinterpret_cast<const std::byte*>(&value), sizeof(value));
    rank.api->call(*rank.stream, [&] { seen = copy; });
    rank.wait(*rank.stream);
    EXPECT_EQ(seen, 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNcclApi, HostsWaitInBlockingLaunches) {
  const SimulationOptions options{.world_size = 2, .nccl = {.launch = HostLaunch::blocking}};
  const Report report = run_nccl(options, [](NcclRank& rank) {
    std::int32_t value = 1;
    if (rank.rank == 1) rank.runtime.sleep_for(5ms);
    rank.all_reduce(*rank.communicator, *rank.stream, value);
    EXPECT_EQ(rank.runtime.now(), TimePoint(5ms));
    EXPECT_EQ(value, 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
