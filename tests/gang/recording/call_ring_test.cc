#include "gang/recording/call_ring.h"

#include <thread>

#include <gtest/gtest.h>

#include "gang/operation.h"

namespace gang {
namespace {

Operation barrier(std::string_view label = "") {
  Operation operation;
  operation.collective.kind = OperationKind::barrier;
  operation.collective.label = label;
  return operation;
}

const GangInfo root{.name = "root", .root_ranks = {0, 1}, .size = 2};

TEST(CallRing, KeepsTheLastCalls) {
  CallRing ring({.rank = 1, .capacity = 3});
  const std::uint32_t gang = ring.add_gang(root);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t record = ring.begin(gang, barrier());
    if (i != 4) ring.complete(record);
  }
  CallTable calls;
  const Dump dump = ring.dump(calls, ProgramEnd::none);
  ASSERT_EQ(dump.calls.size(), 3U);
  EXPECT_EQ(dump.calls[0].record, 2U);
  EXPECT_EQ(dump.calls[0].sequence, 2U);
  EXPECT_EQ(dump.calls[0].state, DumpedState::completed);
  EXPECT_EQ(dump.calls[2].state, DumpedState::started);
  EXPECT_EQ(dump.rank, 1);
  ASSERT_EQ(dump.groups.size(), 1U);
  EXPECT_EQ(dump.groups[0], (DumpedGroup{"root", "default_pg", {0, 1}, 4}));
}

TEST(CallRing, ACallThatIsLostMayComplete) {
  CallRing ring({.capacity = 2});
  const std::uint32_t gang = ring.add_gang(root);
  const std::uint64_t first = ring.begin(gang, barrier());
  ring.begin(gang, barrier());
  ring.begin(gang, barrier());
  ring.complete(first);
  CallTable calls;
  for (const DumpedCall& call : ring.dump(calls, ProgramEnd::none).calls)
    EXPECT_EQ(call.state, DumpedState::started);
}

TEST(CallRing, TheMessagesOfABatchHaveOneNumberAndEndTogether) {
  CallRing ring({});
  const std::uint32_t gang = ring.add_gang(root);
  const std::vector<PointToPoint> messages = {{.kind = OperationKind::send,
                                               .tensor = {nullptr, DataType::f32, Shape::vector(4)},
                                               .peer = 1},
                                              {.kind = OperationKind::recv,
                                               .tensor = {nullptr, DataType::f64, Shape::vector(2)},
                                               .peer = 1}};
  Operation batch;
  batch.collective.kind = OperationKind::batch;
  const OperationExtras extras{.batch = messages};
  batch.extras = &extras;
  const std::uint64_t record = ring.begin(gang, batch);
  ring.begin(gang, batch);
  ring.complete(record);
  CallTable calls;
  const Dump dump = ring.dump(calls, ProgramEnd::none);
  ASSERT_EQ(dump.calls.size(), 4U);
  EXPECT_EQ(dump.calls[0].sequence, dump.calls[1].sequence);
  EXPECT_NE(dump.calls[1].sequence, dump.calls[2].sequence);
  EXPECT_EQ(dump.calls[1].state, DumpedState::completed);
  EXPECT_EQ(dump.calls[2].state, DumpedState::started);
  EXPECT_EQ(to_string(calls[dump.calls[1].call]), "recv f64[2] from rank 1");
}

TEST(CallRing, LabelsOutliveTheirCalls) {
  CallRing ring({});
  const std::uint32_t gang = ring.add_gang(root);
  {
    const std::string label = "a label that is longer than a short string";
    ring.begin(gang, barrier(label));
  }
  CallTable calls;
  const Dump dump = ring.dump(calls, ProgramEnd::none);
  EXPECT_EQ(calls[dump.calls[0].call].label, "a label that is longer than a short string");
}

TEST(CallRing, KnowsWhatIsOverdue) {
  const auto runtime = make_real_runtime();
  CallRing ring({.capacity = 2, .runtime = runtime.get()});
  const std::uint32_t gang = ring.add_gang(root);
  Operation patient = barrier();
  Operation late = barrier();
  late.timeout = Duration(1);
  ring.begin(gang, patient);
  EXPECT_EQ(ring.last_overdue(), 0U);
  const std::uint64_t record = ring.begin(gang, late);
  while (runtime->now() < deadline_after(runtime->now(), Duration(1)) && ring.last_overdue() == 0)
    runtime->yield();
  EXPECT_EQ(ring.last_overdue(), 2U);
  ring.complete(record);
  EXPECT_EQ(ring.last_overdue(), 0U);
}

TEST(CallRing, GangsDifferByTheirNamesAndTheirMembers) {
  CallRing ring({});
  EXPECT_EQ(ring.add_gang(root), 0U);
  EXPECT_EQ(ring.add_gang({.name = "root", .root_ranks = {0, 2}, .size = 2}), 1U);
  EXPECT_EQ(ring.add_gang({.name = "dp", .root_ranks = {0, 1}, .size = 2}), 2U);
  EXPECT_EQ(ring.add_gang(root), 0U);
  CallTable calls;
  const Dump dump = ring.dump(calls, ProgramEnd::none);
  ASSERT_EQ(dump.groups.size(), 3U);
  EXPECT_EQ(dump.groups[0].description, "default_pg");
  EXPECT_EQ(dump.groups[1].description, "root");
  EXPECT_EQ(dump.groups[2].description, "dp");
}

TEST(CallRing, EachGangCountsItsOwnCollectives) {
  CallRing ring({});
  const std::uint32_t first = ring.add_gang(root);
  const std::uint32_t second = ring.add_gang({.name = "dp", .root_ranks = {0, 1}, .size = 2});
  for (const std::uint32_t gang : {first, second, second}) ring.begin(gang, barrier());
  CallTable calls;
  const Dump dump = ring.dump(calls, ProgramEnd::none);
  EXPECT_EQ(dump.calls[1].sequence, 0U);
  EXPECT_EQ(dump.calls[2].sequence, 1U);
  EXPECT_EQ(dump.groups[first].last_enqueued, 0);
  EXPECT_EQ(dump.groups[second].last_enqueued, 1);
}

TEST(CallRing, AWaitIsAsOldAsTheCallsMadeBeforeIt) {
  CallRing ring({.capacity = 3});
  const std::uint32_t gang = ring.add_gang(root);
  const std::uint64_t record = ring.begin(gang, barrier());
  const auto waited = [&ring](std::size_t call) {
    CallTable calls;
    return ring.dump(calls, ProgramEnd::none).calls.at(call).waited;
  };
  EXPECT_EQ(waited(0), std::nullopt);
  ring.begin(gang, barrier());
  ring.begin_wait(record);
  ring.begin(gang, barrier());
  ring.begin_wait(record);
  EXPECT_EQ(waited(0), 2U) << "still the same wait";
  ring.give_up_wait(record);
  EXPECT_EQ(waited(0), std::nullopt);
  ring.begin_wait(record);
  EXPECT_EQ(waited(0), 3U);
  ring.begin(gang, barrier());
  EXPECT_EQ(waited(2), std::nullopt) << "in the place of the first";
}

TEST(CallRing, TimesAreThoseOfTheClockThatHostsShare) {
  const auto runtime = make_real_runtime();
  CallRing ring({.runtime = runtime.get(), .clock_offset = std::chrono::hours(100)});
  ring.begin(ring.add_gang(root), barrier());
  CallTable calls;
  const Duration created(ring.dump(calls, ProgramEnd::none).calls[0].created_ns);
  EXPECT_GE(created, std::chrono::hours(100));
  EXPECT_LT(created, std::chrono::hours(101));
}

TEST(CallRing, ThreadsMayShareIt) {
  CallRing ring({.capacity = 64});
  const std::uint32_t gang = ring.add_gang(root);
  constexpr int calls_each = 20'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        for (int call = 0; call < calls_each; ++call) ring.complete(ring.begin(gang, barrier()));
      });
    for (int i = 0; i < 50; ++i) {
      CallTable calls;
      const Dump dump = ring.dump(calls, ProgramEnd::none);
      for (std::size_t k = 1; k < dump.calls.size(); ++k)
        ASSERT_EQ(dump.calls[k].record, dump.calls[k - 1].record + 1);
    }
  }
  CallTable calls;
  EXPECT_EQ(ring.dump(calls, ProgramEnd::none).calls.back().record, 3U * calls_each - 1);
}

}  // namespace
}  // namespace gang
