#include "harness/backends/process_fault.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "tests/gang/capturing_gang.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

TEST(ProcessFault, IsNamedInTextAndBack) {
  for (const auto& [kind, name] : process_fault_names) {
    EXPECT_EQ(to_string(kind), name);
    EXPECT_EQ(parse_name(process_fault_names, name), kind);
  }
  EXPECT_EQ(parse_name(process_fault_names, "kil"), std::nullopt);
}

TEST(ProcessFault, NamesTheRankAndTheFault) {
  ProcessFault fault{.rank = 2, .operation = 17, .moment = FaultMoment::inside, .span = 2ms};
  EXPECT_EQ(to_string(fault), "rank 2 is killed inside operation 17, after 2 ms");
  fault = {.kind = ProcessFaultKind::delay, .operation = 3, .span = 40ms};
  EXPECT_EQ(to_string(fault), "rank 0 is delayed before operation 3 by 40 ms");
  fault = {.kind = ProcessFaultKind::stop,
           .operation = 1,
           .during = OperationKind::barrier,
           .gang = "dp"};
  EXPECT_EQ(to_string(fault), "rank 0 is stopped before operation 1 of barrier on dp");
  fault = {.kind = ProcessFaultKind::restart, .time = 40ms, .pause = 5ms};
  EXPECT_EQ(to_string(fault), "rank 0 is killed 40 ms after its start, and restarts 5 ms later");
}

TEST(ProcessFault, OfAStoreIsDrawnToo) {
  std::set<StoreFaultKind> kinds;
  for (std::uint64_t index = 0; index < 50; ++index) {
    const ProcessFault fault =
        draw_process_fault(ProcessFaultKind::store, {{4, 4}, 10ms}, 1, index);
    ASSERT_TRUE(fault.store);
    EXPECT_LE(fault.store->delay, 10ms);
    kinds.insert(fault.store->kind);
  }
  EXPECT_EQ(kinds.size(), 3U);
}

TEST(ProcessFault, OfAPlanAffectsTheStoreOfItsRank) {
  const sim::FaultPlan plan{
      .faults = {
          {.kind = sim::FaultKind::store_unavailable,
           .ranks = {1},
           .trigger = {.time = Duration(5ms)},
           .lasts = sim::Between<Duration>(7ms)},
          {.kind = sim::FaultKind::slow_store, .ranks = {0}, .delay = sim::Between<Duration>(2ms)},
          {.kind = sim::FaultKind::lossy_store,
           .ranks = {1},
           .trigger = {.operation = std::uint64_t{3}}}}};
  std::map<std::string, int> left_out;
  const auto faults = process_faults_of(plan, left_out);
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(to_string(faults[0]), "rank 1 has a store that is unavailable from 5 ms for 7 ms");
  EXPECT_EQ(to_string(faults[1]), "rank 0 has a store that is slow by 2 ms");
  EXPECT_EQ(to_string(faults[2]), "rank 1 has a store that is lossy at request 3");
  EXPECT_TRUE(left_out.empty());
}

TEST(ProcessFault, OfAPlanMayLoseEachRequestToAStoreWithAProbability) {
  const sim::FaultPlan plan{
      .faults = {
          {.kind = sim::FaultKind::lossy_store, .ranks = {1}, .trigger = {.probability = 0.25}}}};
  std::map<std::string, int> left_out;
  const auto faults = process_faults_of(plan, left_out);
  EXPECT_TRUE(left_out.empty());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].store.value().kind, StoreFaultKind::lossy);
  EXPECT_EQ(faults[0].store.value().probability, 0.25);
  EXPECT_EQ(faults[0].store.value().request, std::nullopt);
}

TEST(FaultedStore, IsFaultyForTheRanksThatMeetTheFault) {
  const auto runtime = make_real_runtime();
  const std::shared_ptr<Store> intact = make_memory_store(*runtime);
  const ProcessFault faults[] = {
      {.kind = ProcessFaultKind::store, .rank = 1, .store = StoreFault{}}};
  EXPECT_EQ(make_faulted_store(*runtime, intact, 0, faults, 1ms), intact);
  const auto faulty = make_faulted_store(*runtime, intact, 1, faults, 1ms);
  EXPECT_THROW(faulty->set_text("a", "1"), StoreError);
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

TEST(ProcessFault, IsMadeFromAPlanWhereAProcessCanHaveIt) {
  sim::FaultPlan plan;
  plan.faults = {
      {.kind = sim::FaultKind::crash,
       .ranks = {1, 2},
       .trigger = {.operation = std::uint64_t{4}, .moment = FaultMoment::after}},
      {.kind = sim::FaultKind::stall, .ranks = {0}},
      {.kind = sim::FaultKind::stall, .ranks = {0}, .lasts = sim::Between<Duration>(7ms)},
      {.kind = sim::FaultKind::exit, .ranks = {0}, .trigger = {.time = Duration(5'000'000)}},
      {.kind = sim::FaultKind::restart, .ranks = {1}, .delay = sim::Between<Duration>(3ms)},
      {.kind = sim::FaultKind::crash,
       .ranks = {2},
       .trigger = {.operation = std::uint64_t{1}, .during = OperationKind::barrier, .gang = "dp"}}};
  std::map<std::string, int> left_out;
  const auto faults = process_faults_of(plan, left_out);
  ASSERT_EQ(faults.size(), 7U);
  EXPECT_EQ(to_string(faults[0]), "rank 1 is killed after operation 4");
  EXPECT_EQ(to_string(faults[1]), "rank 2 is killed after operation 4");
  EXPECT_EQ(to_string(faults[2]), "rank 0 is stopped before operation 0");
  EXPECT_EQ(to_string(faults[3]), "rank 0 is delayed before operation 0 by 7 ms");
  EXPECT_EQ(to_string(faults[4]), "rank 0 exits 5 ms after its start");
  EXPECT_EQ(to_string(faults[5]), "rank 1 is killed before operation 0, and restarts 3 ms later");
  EXPECT_EQ(pause_of_restart(faults, 1), 3ms);
  EXPECT_EQ(pause_of_restart(faults, 0), std::nullopt);
  EXPECT_EQ(to_string(faults[6]), "rank 2 is killed before operation 1 of barrier on dp");
  EXPECT_TRUE(left_out.empty());
}

TEST(ProcessFault, IsCountedWithTheReasonWhereAProcessCannotHaveIt) {
  sim::FaultPlan plan;
  plan.faults = {
      {.kind = sim::FaultKind::partition, .ranks = {0}, .to = {1}},
      {.kind = sim::FaultKind::corrupt_result, .ranks = {0}},
      {.kind = sim::FaultKind::watchdog_abort, .ranks = {0}},
      {.kind = sim::FaultKind::slow, .ranks = {0}, .factor = 2},
      {.kind = sim::FaultKind::crash, .ranks = {0}, .trigger = {.message = std::uint64_t{3}}},
      {.kind = sim::FaultKind::crash, .ranks = {0}, .trigger = {.message = std::uint64_t{4}}},
      {.kind = sim::FaultKind::exit, .ranks = {0}, .trigger = {.probability = 0.5}},
      {.kind = sim::FaultKind::stall, .ranks = {0}, .trigger = {.while_rank = 1}}};
  std::map<std::string, int> left_out;
  EXPECT_TRUE(process_faults_of(plan, left_out).empty());
  EXPECT_EQ(left_out,
            (std::map<std::string, int>{{"corrupt_result (of data)", 1},
                                        {"crash (at a message)", 2},
                                        {"exit (with a probability)", 1},
                                        {"partition (of a link)", 1},
                                        {"slow (by a factor)", 1},
                                        {"stall (while another rank waits)", 1},
                                        {"watchdog_abort (of the simulated watchdog)", 1}}));
}

TEST(FaultedGang, StrikesAtTheOperationOfItsRankCountedOverItsGangs) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const auto child = std::make_shared<test::CapturingGang>(2);
  inner->reaction = [&child](Operation& operation) {
    if (operation.extras->created != nullptr) *operation.extras->created = child;
  };
  const ProcessFault fault{.kind = ProcessFaultKind::exception, .operation = 2};
  FaultTally tally;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, tally);
  gang->barrier();
  const std::vector<int> ranks = {0, 1};
  const auto made = gang->create_gang(ranks);
  EXPECT_THAT(test::message_of<std::runtime_error>([&made] { made->barrier(); }),
              HasSubstr("injected: rank 0 throws before operation 2"));
  EXPECT_TRUE(child->sent.empty());
  EXPECT_EQ(tally.operations, 3U);
  EXPECT_EQ(tally.struck, 1U);
  made->barrier();
  EXPECT_EQ(child->sent.size(), 1U);
}

TEST(FaultedGang, LeavesOtherRanksAlone) {
  const auto inner = std::make_shared<test::CapturingGang>(2, 1);
  const ProcessFault fault{.kind = ProcessFaultKind::exception};
  FaultTally tally;
  make_faulted_gang(inner, 1, {&fault, 1}, tally)->barrier();
  EXPECT_EQ(inner->sent.size(), 1U);
  EXPECT_EQ(tally.operations, 1U);
  EXPECT_EQ(tally.struck, 0U);
}

TEST(FaultedGang, CountsTheOperationsThatFit) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{
      .kind = ProcessFaultKind::exception, .operation = 1, .during = OperationKind::barrier};
  FaultTally tally;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, tally);
  std::int32_t value = 0;
  gang->barrier();
  gang->all_reduce(view_of(value), ReduceOperation::sum);
  EXPECT_THROW(gang->barrier(), std::runtime_error);
  gang->barrier();
  EXPECT_EQ(tally.struck, 1U);
}

TEST(FaultedGang, OfAnotherNameIsLeftAlone) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::exception, .gang = "other"};
  FaultTally tally;
  make_faulted_gang(inner, 0, {&fault, 1}, tally)->barrier();
  EXPECT_EQ(tally.struck, 0U);
}

TEST(FaultedGang, AnOverdueExceptionIsThrownFromTheNextOperation) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::exception, .time = 20ms};
  FaultTally tally;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, tally);
  std::this_thread::sleep_for(30ms);
  EXPECT_THROW(gang->barrier(), std::runtime_error);
  gang->barrier();
}

TEST(FaultedGang, AFaultThatIsNotDueYetDoesNotDelayTheEnd) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::kill, .time = std::chrono::hours(1)};
  FaultTally tally;
  make_faulted_gang(inner, 0, {&fault, 1}, tally)->barrier();
  EXPECT_EQ(tally.struck, 0U);
}

TEST(ProcessFault, OfAStoreIsDrawnFromShortToForever) {
  std::set<Duration> lasting;
  std::set<std::uint64_t> requests;
  Duration longest{0};
  for (std::uint64_t index = 0; index < 300; ++index) {
    const StoreFault fault =
        *draw_process_fault(ProcessFaultKind::store, {{4, 4}, 10ms}, 1, index).store;
    if (fault.kind == StoreFaultKind::lossy) requests.insert(fault.request.value());
    EXPECT_LE(fault.delay, 10ms);
    if (fault.kind != StoreFaultKind::unavailable) continue;
    lasting.insert(fault.lasts);
    if (fault.lasts != no_timeout) longest = std::max(longest, fault.lasts);
  }
  EXPECT_EQ(requests, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(lasting.contains(no_timeout));
  EXPECT_GT(longest, 40ms);
  EXPECT_LE(longest, 60ms);
}

TEST(ProcessFault, OfAStoreIsDrawnWhereNothingMayBeLate) {
  for (std::uint64_t index = 0; index < 20; ++index) {
    const StoreFault fault =
        *draw_process_fault(ProcessFaultKind::store, {{4}, Duration(0)}, 1, index).store;
    EXPECT_EQ(fault.delay, Duration(0));
    EXPECT_TRUE(fault.lasts == Duration(0) || fault.lasts == no_timeout);
  }
}

TEST(ProcessFault, IsDrawnAmongAllOperationsOfItsRank) {
  std::set<std::uint64_t> of_rank_2;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const ProcessFault fault =
        draw_process_fault(ProcessFaultKind::kill, {{1, 5, 9}, 10ms}, 7, index);
    if (fault.rank == 2) of_rank_2.insert(fault.operation);
    EXPECT_EQ(fault.pause, Duration(0));
    EXPECT_TRUE(fault.moment == FaultMoment::inside || fault.span == Duration(0));
  }
  EXPECT_EQ(of_rank_2.size(), 9U);
  EXPECT_EQ(draw_process_fault(ProcessFaultKind::kill, {{0}, 10ms}, 7, 0).operation, 0U)
      << "of a rank without operations";
}

TEST(ProcessFault, InsideOrLateForADrawnTimeAndRestartedAfterADrawnPause) {
  std::set<Duration> inside;
  std::set<Duration> delays;
  std::set<Duration> pauses;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const ProcessFault kill = draw_process_fault(ProcessFaultKind::kill, {{4}, 10ms}, 1, index);
    if (kill.moment == FaultMoment::inside) inside.insert(kill.span);
    delays.insert(draw_process_fault(ProcessFaultKind::delay, {{4}, 10ms}, 1, index).span);
    pauses.insert(draw_process_fault(ProcessFaultKind::restart, {{4}, 10ms}, 1, index).pause);
  }
  EXPECT_GT(inside.size(), 10U);
  EXPECT_LT(*inside.rbegin(), std::chrono::microseconds(300));
  EXPECT_GT(delays.size(), 50U);
  EXPECT_GT(*delays.rbegin(), 5ms);
  EXPECT_EQ(*pauses.begin(), 0ms);
  EXPECT_EQ(*pauses.rbegin(), 19ms);
}

// The fault of a process that corresponds to one of a plan.
ProcessFault made_from(sim::Fault fault) {
  fault.ranks = {0};
  std::map<std::string, int> left_out;
  const auto faults = process_faults_of({.faults = {std::move(fault)}}, left_out);
  EXPECT_TRUE(left_out.empty());
  return faults.at(0);
}

TEST(ProcessFault, OfAPlanHappensWhereItsTriggerSays) {
  const ProcessFault inside =
      made_from({.kind = sim::FaultKind::crash,
                 .trigger = {.operation = std::uint64_t{2}, .moment = FaultMoment::inside}});
  EXPECT_EQ(inside.moment, FaultMoment::inside);
  EXPECT_EQ(inside.span, std::chrono::microseconds(100)) << "it takes a while to get there";
  const ProcessFault thrown =
      made_from({.kind = sim::FaultKind::exception,
                 .trigger = {.operation = std::uint64_t{2}, .moment = FaultMoment::inside}});
  EXPECT_EQ(thrown.kind, ProcessFaultKind::exception);
  EXPECT_EQ(thrown.operation, 2U);
  EXPECT_EQ(thrown.moment, FaultMoment::before);
  EXPECT_EQ(
      made_from({.kind = sim::FaultKind::crash, .trigger = {.moment = FaultMoment::any}}).moment,
      FaultMoment::before);
}

TEST(ProcessFault, OfAPlanIsLateAsLongAsThereItIs) {
  const ProcessFault late = made_from(
      {.kind = sim::FaultKind::late_start, .delay = sim::Between<Duration>(Duration(4ms))});
  EXPECT_EQ(late.kind, ProcessFaultKind::delay);
  EXPECT_EQ(late.span, 4ms);
  const ProcessFault slow =
      made_from({.kind = sim::FaultKind::slow, .delay = sim::Between<Duration>(Duration(6ms))});
  EXPECT_EQ(slow.kind, ProcessFaultKind::delay);
  EXPECT_EQ(slow.span, 6ms);
}

TEST(ProcessFault, DataOfAProcessCannotBeCorrupted) {
  std::map<std::string, int> left_out;
  EXPECT_TRUE(
      process_faults_of({.faults = {{.kind = sim::FaultKind::corrupt_contribution, .ranks = {0}}}},
                        left_out)
          .empty());
  EXPECT_EQ(left_out, (std::map<std::string, int>{{"corrupt_contribution (of data)", 1}}));
}

TEST(ProcessFault, OnlyTheRankThatIsRestartedHasAPause) {
  const ProcessFault faults[] = {{.kind = ProcessFaultKind::kill, .rank = 0, .pause = 4ms},
                                 {.kind = ProcessFaultKind::restart, .rank = 1, .pause = 3ms}};
  EXPECT_EQ(pause_of_restart(faults, 0), std::nullopt);
  EXPECT_EQ(pause_of_restart(faults, 1), 3ms);
}

}  // namespace
}  // namespace gang::harness
