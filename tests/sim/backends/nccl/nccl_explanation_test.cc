#include "sim/backends/nccl/nccl_explanation.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

SimulationOptions nccl(int world_size, NcclModel model = {}) {
  return {.world_size = world_size, .backend = SimulatedBackend::nccl, .nccl = model};
}

struct Pair {
  explicit Pair(SimulatedRank& rank)
      : a(rank.root()->split({.color = 0}, {.name = "a"})),
        b(rank.root()->split({.color = 0}, {.name = "b"})) {}
  std::shared_ptr<Gang> a;
  std::shared_ptr<Gang> b;
};

void start_in_order(SimulatedRank& rank, bool swaps) {
  const Pair pair(rank);
  float values[2] = {};
  std::vector<Work> works;
  const auto start = [&](Gang& gang, float& value, std::uint32_t line) {
    works.push_back(gang.start_all_reduce(view_of(value), ReduceOperation::sum, {},
                                          CallSite::at("train.cc", line)));
  };
  if (swaps) start(*pair.b, values[1], 2);
  start(*pair.a, values[0], 1);
  if (!swaps) start(*pair.b, values[1], 2);
  Work::wait_all(works);
}

TEST(NcclExplanation, NamesTheCallsOfCommunicatorsLaunchedInDifferentOrders) {
  const Report report =
      run(nccl(2), [](SimulatedRank& rank) { start_in_order(rank, rank.rank() == 1); });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion")) << to_string(report);
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(0, 1));
  EXPECT_THAT(finding.message,
              HasSubstr("rank 0 launched all_reduce #0 sum f32[] on a[0,1] at train.cc:1 before "
                        "all_reduce #0 sum f32[] on b[0,1] at train.cc:2; rank 1 launched "
                        "all_reduce #0 sum f32[] on b[0,1] at train.cc:2 before all_reduce"));
}

TEST(NcclExplanation, SameOrderOrRoomForBothKernelsPasses) {
  EXPECT_TRUE(run(nccl(2), [](SimulatedRank& rank) { start_in_order(rank, false); }).holds());
  EXPECT_TRUE(run(nccl(2, {.resident = 2}), [](SimulatedRank& rank) {
                start_in_order(rank, rank.rank() == 1);
              }).holds());
}

TEST(NcclExplanation, WithoutALaunchOrderSomeScheduleHangs) {
  int hung = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions options = nccl(2, {.order = LaunchOrder::any});
    options.scheduler = SchedulerKind::random;
    options.seed = seed;
    const Report report = run(options, [](SimulatedRank& rank) { start_in_order(rank, false); });
    if (report.holds()) continue;
    ++hung;
    EXPECT_THAT(ids_of(report), ElementsAre("stream_order_inversion")) << to_string(report);
  }
  EXPECT_GT(hung, 0);
  EXPECT_LT(hung, 20);
}

// Every rank launches a first; it is a device that takes b first.
TEST(NcclExplanation, WithoutALaunchOrderTheDevicesAreNamedAndNotTheProgram) {
  int by_device = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions options = nccl(2, {.order = LaunchOrder::any});
    options.scheduler = SchedulerKind::random;
    options.seed = seed;
    const Report report = run(options, [](SimulatedRank& rank) { start_in_order(rank, false); });
    if (report.holds()) continue;
    ASSERT_EQ(report.findings.size(), 1U);
    const std::string text = full_message(report.findings[0]);
    EXPECT_THAT(text, testing::Not(testing::ContainsRegex("launched [^;]* on b[^;]* before")));
    EXPECT_THAT(text, HasSubstr("run in different orders"));
    EXPECT_THAT(text, testing::ContainsRegex("the device of rank [01] started [^;]* on b[^;]* "
                                             "although [^;]* on a[^;]* was launched first"));
    ++by_device;
  }
  EXPECT_GT(by_device, 0);
}

TEST(NcclExplanation, NamesAHostThatWaitsForAnIdleDevice) {
  const Report report = run(nccl(2), [](SimulatedRank& rank) {
    const auto a = rank.root()->split({.color = 0}, {.name = "a"});
    float value = 0;
    if (rank.rank() == 1) rank.root()->split({.color = 0});
    Work work = a->start_all_reduce(view_of(value), ReduceOperation::sum);
    if (rank.rank() == 0) rank.root()->split({.color = 0});
    work.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("device_synchronization")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Rank 0 is in ncclCommSplit"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("on a[0,1]"));
}

TEST(NcclExplanation, MatchedKernelsOfDifferentCallsAreAMismatch) {
  const Report report = run(nccl(2), [](SimulatedRank& rank) {
    std::vector<float> values(rank.rank() == 0 ? 4 : 5);
    rank.root()->all_reduce(view(values), ReduceOperation::sum);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_count")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
}

TEST(NcclExplanation, AMismatchNamesTheRankThatDiffersFromTheMajority) {
  const Report report = run(nccl(4), [](SimulatedRank& rank) {
    std::vector<float> values(rank.rank() == 2 ? 5 : 4);
    rank.root()->all_reduce(view(values), ReduceOperation::sum, {},
                            CallSite::at("train.cc", rank.rank() == 2 ? 2 : 1));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_count")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:2");
}

TEST(NcclExplanation, BlockingCallsInDifferentOrdersAreACycleOfGangs) {
  const Report report = run(nccl(2), [](SimulatedRank& rank) {
    const Pair pair(rank);
    (rank.rank() == 0 ? pair.a : pair.b)->barrier();
    (rank.rank() == 0 ? pair.b : pair.a)->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("cross_gang_cycle")) << to_string(report);
}

TEST(NcclExplanation, MutuallyWaitingSendsAreACycleOfMessages) {
  const Report report = run(nccl(2), [](SimulatedRank& rank) {
    float value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle")) << to_string(report);
}

// A stream runs them in this order, and each side's first kernel holds the second one up.
TEST(NcclExplanation, WhatIsLaunchedFirstIsTold) {
  for (const bool sends_first : {true, false}) {
    const Report report = run(nccl(2), [sends_first](SimulatedRank& rank) {
      float sent = 1;
      float received = 0;
      std::vector<Work> works;
      for (const bool sends : {sends_first, !sends_first})
        works.push_back(sends ? rank.root()->start_send(view_of(sent), 1 - rank.rank())
                              : rank.root()->start_recv(view_of(received), 1 - rank.rank()));
      Work::wait_all(works);
    });
    ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle")) << to_string(report);
    EXPECT_EQ(report.findings[0].call.kind, sends_first ? "send" : "recv");
  }
}

// Rank 0 launches, then waits elsewhere for rank 1, which launches only after that.
void meet_between_launches(SimulatedRank& rank) {
  const auto a = rank.root()->split({.color = 0}, {.name = "a"});
  float value = 0;
  if (rank.rank() == 1) rank.root()->monitored_barrier(1s);
  Work work = a->start_all_reduce(view_of(value), ReduceOperation::sum, {},
                                  CallSite::at("train.cc", rank.rank() + 1U));
  if (rank.rank() == 0) rank.root()->monitored_barrier(1s);
  work.wait();
}

TEST(NcclExplanation, NamesABlockingLaunch) {
  EXPECT_TRUE(run(nccl(2), meet_between_launches).holds());
  const Report report = run(nccl(2, {.launch = HostLaunch::blocking}), meet_between_launches);
  ASSERT_THAT(ids_of(report), ElementsAre("blocking_launch")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:1");
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 0 is in the launch of all_reduce #0 sum f32[] on a[0,1] at "
                        "train.cc:1, which returns once the kernel has run (launch=blocking, as "
                        "with CUDA_LAUNCH_BLOCKING=1)"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Each waits for the next: "));
}

// A batch is one launch: blocking or not, its messages progress together.
TEST(NcclExplanation, AGroupOfMessagesMayBlock) {
  EXPECT_TRUE(run(nccl(2, {.launch = HostLaunch::blocking}), [](SimulatedRank& rank) {
                float values[2] = {};
                const PointToPoint both[] = {
                    {OperationKind::send, view_of(values[0]), 1 - rank.rank()},
                    {OperationKind::recv, view_of(values[1]), 1 - rank.rank()}};
                rank.root()->batch(both);
              }).holds());
}

}  // namespace
}  // namespace gang::sim
