#include "harness/process_fault.h"

#include <chrono>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/recording_gang.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

TEST(ProcessFault, IsNamedInTextAndBack) {
  using enum ProcessFaultKind;
  for (const ProcessFaultKind kind : {kill, stop, ProcessFaultKind::exit, exception, delay})
    EXPECT_EQ(parse_process_fault(to_string(kind)), kind);
  EXPECT_EQ(parse_process_fault("kil"), std::nullopt);
}

TEST(ProcessFault, SaysWhatBefallsWhom) {
  ProcessFault fault{.rank = 2, .operation = 17, .moment = FaultMoment::inside, .span = 2ms};
  EXPECT_EQ(to_string(fault), "rank 2 is killed inside operation 17, after 2 ms");
  fault = {.kind = ProcessFaultKind::delay, .operation = 3, .span = 40ms};
  EXPECT_EQ(to_string(fault), "rank 0 is delayed before operation 3 by 40 ms");
}

TEST(ProcessFault, IsDrawnFromTheSeedAmongTheOperationsOfItsRank) {
  const FaultSpace space{{1, 5, 9}, 10ms};
  std::set<int> ranks;
  std::set<FaultMoment> moments;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const ProcessFault fault = draw_process_fault(ProcessFaultKind::kill, space, 7, index);
    EXPECT_EQ(fault, draw_process_fault(ProcessFaultKind::kill, space, 7, index));
    EXPECT_LT(fault.operation, space.operations[static_cast<std::size_t>(fault.rank)]);
    ranks.insert(fault.rank);
    moments.insert(fault.moment);
  }
  EXPECT_EQ(ranks.size(), 3U);
  EXPECT_EQ(moments.size(), 3U);
}

TEST(ProcessFault, ADelayAndAnExceptionAreNeverInside) {
  for (std::uint64_t index = 0; index < 100; ++index) {
    const ProcessFault delay =
        draw_process_fault(ProcessFaultKind::delay, {{4, 4}, 10ms}, 1, index);
    EXPECT_NE(delay.moment, FaultMoment::inside);
    EXPECT_LT(delay.span, 10ms);
    EXPECT_NE(draw_process_fault(ProcessFaultKind::exception, {{4, 4}, 10ms}, 1, index).moment,
              FaultMoment::inside);
  }
}

TEST(ProcessFault, IsWhatAProcessCanMeetOfAPlan) {
  sim::FaultPlan plan;
  plan.faults = {
      {.kind = sim::FaultKind::crash,
       .ranks = {1, 2},
       .trigger = {.operation = std::uint64_t{4}, .moment = FaultMoment::after}},
      {.kind = sim::FaultKind::stall, .ranks = {0}},
      {.kind = sim::FaultKind::stall, .ranks = {0}, .lasts = sim::Between<Duration>(7ms)},
      {.kind = sim::FaultKind::exit, .ranks = {0}, .trigger = {.time = Duration(5)}},
      {.kind = sim::FaultKind::partition, .ranks = {0}, .to = {1}}};
  std::map<std::string, int> left_out;
  const auto faults = process_faults_of(plan, left_out);
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(to_string(faults[0]), "rank 1 is killed after operation 4");
  EXPECT_EQ(to_string(faults[1]), "rank 2 is killed after operation 4");
  EXPECT_EQ(to_string(faults[2]), "rank 0 is stopped before operation 0");
  EXPECT_EQ(to_string(faults[3]), "rank 0 is delayed before operation 0 by 7 ms");
  EXPECT_EQ(left_out, (std::map<std::string, int>{{"exit", 1}, {"partition", 1}}));
}

TEST(FaultedGang, StrikesAtTheOperationOfItsRankCountedOverItsGangs) {
  const auto inner = std::make_shared<test::RecordingGang>(2);
  const auto child = std::make_shared<test::RecordingGang>(2);
  inner->reaction = [&child](Operation& operation) {
    if (operation.created != nullptr) *operation.created = child;
  };
  const ProcessFault fault{.kind = ProcessFaultKind::exception, .operation = 2};
  std::atomic<std::uint64_t> operations = 0;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, operations);
  gang->barrier();
  const std::vector<int> ranks = {0, 1};
  const auto made = gang->create_gang(ranks);
  EXPECT_THAT(test::message_of<std::runtime_error>([&made] { made->barrier(); }),
              HasSubstr("the fault: rank 0 throws before operation 2"));
  EXPECT_TRUE(child->sent.empty());
  EXPECT_EQ(operations, 3U);
  made->barrier();
  EXPECT_EQ(child->sent.size(), 1U);
}

TEST(FaultedGang, LeavesOtherRanksAlone) {
  const auto inner = std::make_shared<test::RecordingGang>(2, 1);
  const ProcessFault fault{.kind = ProcessFaultKind::exception};
  std::atomic<std::uint64_t> operations = 0;
  make_faulted_gang(inner, 1, {&fault, 1}, operations)->barrier();
  EXPECT_EQ(inner->sent.size(), 1U);
  EXPECT_EQ(operations, 1U);
}

}  // namespace
}  // namespace gang::harness
