#include "sim/backends/nccl/simulated_nccl.h"

#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Said = std::vector<std::optional<std::string>>;

Said meet(NcclRank& rank, TimePoint deadline) {
  return rank.nccl.meet({.key = "here",
                         .gang_key = "gang",
                         .rank = rank.rank,
                         .size = rank.size,
                         .root_ranks = rank.info->root_ranks,
                         .deadline = deadline,
                         .purpose = &rank.purpose},
                        std::to_string(rank.rank));
}

TEST(SimulatedNccl, HostsMeet) {
  const Report report = run_nccl({.world_size = 3}, [](NcclRank& rank) {
    EXPECT_THAT(meet(rank, TimePoint::max()), ElementsAre("0", "1", "2"));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNccl, WhatTheOthersHearWhenTheyHearItDependsOnTheSchedule) {
  const auto schedules = [](PeerLinks links, const std::function<void(NcclRank&)>& does) {
    SimulationOptions options{.world_size = 2};
    options.nccl.links = links;
    return run_nccl(options, does).schedules;
  };
  const auto on_device = [&](const auto& does) { return schedules(PeerLinks::device, does); };
  EXPECT_EQ(on_device([](NcclRank& rank) { meet(rank, TimePoint::max()); }), Schedules::every);
  EXPECT_EQ(on_device([](NcclRank& rank) { rank.nccl.leave_note("gang", "broken"); }),
            Schedules::at_least_this);
  EXPECT_EQ(on_device([](NcclRank& rank) { rank.nccl.decide("who", std::to_string(rank.rank)); }),
            Schedules::at_least_this);
  const auto leaves = [](NcclRank& rank) {
    meet(rank, TimePoint::max());
    rank.api->destroy(std::move(rank.communicator));
  };
  EXPECT_EQ(on_device(leaves), Schedules::every);
  EXPECT_EQ(schedules(PeerLinks::sockets, leaves), Schedules::at_least_this);
}

TEST(SimulatedNccl, AMeetingWithoutSomeMayEndBeforeTheyCome) {
  const Report report = run_nccl({.world_size = 3}, [](NcclRank& rank) {
    if (rank.rank == 1) return;
    static constexpr int gone[] = {1};
    rank.nccl.meet({.key = "here",
                    .gang_key = "gang",
                    .rank = rank.rank,
                    .size = rank.size,
                    .root_ranks = rank.info->root_ranks,
                    .purpose = &rank.purpose,
                    .gone = gone},
                   "here");
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.schedules, Schedules::at_least_this);
}

TEST(SimulatedNccl, MeetingEndsAtItsDeadline) {
  SimulationOptions options{.world_size = 3};
  options.pending_timeouts = PendingTimeouts::fire;
  const Report report = run_nccl(options, [](NcclRank& rank) {
    if (rank.rank == 1) return;
    EXPECT_THAT(meet(rank, TimePoint(2s)), ElementsAre("0", std::nullopt, "2"));
    EXPECT_EQ(rank.runtime.now(), TimePoint(2s));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimulatedNccl, NoteEndsAMeetingAndIsFound) {
  const Report report = run_nccl({.world_size = 2}, [](NcclRank& rank) {
    if (rank.rank == 1) {
      rank.runtime.sleep_for(1ms);
      EXPECT_EQ(rank.nccl.find_note("gang"), std::nullopt);
      return rank.nccl.leave_note("gang", "broken");
    }
    EXPECT_THAT(meet(rank, TimePoint::max()), ElementsAre("0", std::nullopt));
    EXPECT_EQ(rank.nccl.find_note("gang"), "broken");
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
