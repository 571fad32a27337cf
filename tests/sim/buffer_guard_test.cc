#include "sim/buffer_guard.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct Buffers {
  std::array<std::int32_t, 5> input{};
  std::array<std::int32_t, 5> output{};
  std::array<std::int32_t, 5> further{};
};

// Rank 0 starts an out-of-place sum and does something to its buffers before it waits.
Report touched(const std::function<void(Buffers&, SimulatedRank&)>& touch, bool guard = true) {
  return run({.world_size = 2, .buffer_guard = guard}, [&](SimulatedRank& rank) {
    Buffers buffers;
    const TensorView further[] = {view(buffers.further)};
    Work work = rank.root()->start_all_reduce(view(buffers.output), view(buffers.input),
                                              ReduceOperation::sum, {.guarded = further});
    if (rank.rank() == 0) touch(buffers, rank);
    work.wait();
  });
}

TEST(BufferGuard, FindsAWrittenInput) {
  const Report report = touched([](Buffers& buffers, SimulatedRank&) { buffers.input[4] = 1; });
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_THAT(report.findings[0].operation, HasSubstr("all_reduce #0 sum i32[5]"));
  EXPECT_THAT(report.findings[0].location, HasSubstr("buffer_guard_test.cc:"));
}

TEST(BufferGuard, FindsAWrittenOutput) {
  EXPECT_THAT(ids_of(touched([](Buffers& b, SimulatedRank&) { b.output[0] = 1; })),
              ElementsAre("buffer_in_flight"));
}

TEST(BufferGuard, FindsFurtherMemoryThatTheCallNames) {
  EXPECT_THAT(ids_of(touched([](Buffers& b, SimulatedRank&) { b.further[2] = 1; })),
              ElementsAre("buffer_in_flight"));
}

TEST(BufferGuard, FindsAWriteBetweenCompletionAndWait) {
  const auto later = [](Buffers& buffers, SimulatedRank& rank) {
    rank.runtime().sleep_for(1ms);  // the other has come by now
    buffers.output[0] += 1;
  };
  EXPECT_THAT(ids_of(touched(later)), ElementsAre("buffer_in_flight"));
}

TEST(BufferGuard, FindsNothingWhereNothingIsTouched) {
  const Report report =
      touched([](Buffers&, SimulatedRank& rank) { rank.runtime().sleep_for(1ms); });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(BufferGuard, CanBeSwitchedOff) {
  EXPECT_TRUE(touched([](Buffers& b, SimulatedRank&) { b.input[0] = 1; }, false).holds());
}

TEST(BufferGuard, IsOneFindingHoweverOftenItIsWritten) {
  const auto twice = [](Buffers& buffers, SimulatedRank& rank) {
    buffers.input[0] = 1;
    rank.runtime().sleep_for(1ms);
    buffers.output[0] = -1;
  };
  EXPECT_THAT(ids_of(touched(twice)), ElementsAre("buffer_in_flight"));
}

TEST(BufferGuard, BuffersAreTheProgramsAgainAfterTheWait) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 5> values{};
    for (int i = 0; i < 3; ++i) {
      Work work = rank.root()->start_all_reduce(view(values), ReduceOperation::sum);
      work.wait();
      values[0] = i;
      EXPECT_TRUE(work.test());
    }
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(BufferGuard, WatchesMessagesAndBatches) {
  const auto program = [](bool batched, bool sender_writes) {
    return run(2, [=](SimulatedRank& rank) {
      std::int32_t value = 5;
      const bool sends = rank.rank() == 0;
      const PointToPoint entry{.kind = sends ? OperationKind::send : OperationKind::recv,
                               .tensor = view_of(value),
                               .peer = 1 - rank.rank()};
      Work work = batched ? rank.root()->start_batch({&entry, 1})
                  : sends ? rank.root()->start_send(view_of(value), 1)
                          : rank.root()->start_recv(view_of(value), 0);
      if (sends == sender_writes) value = 6;
      work.wait();
    });
  };
  for (const bool batched : {false, true})
    for (const bool sender_writes : {false, true}) {
      const Report report = program(batched, sender_writes);
      ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
      EXPECT_THAT(report.findings[0].ranks, ElementsAre(sender_writes ? 0 : 1));
    }
}

TEST(BufferGuard, ListsAreWatchedToTheirLastTensor) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> outputs{};
    const std::vector<TensorView> views = {view_of(outputs[0]), view_of(outputs[1])};
    std::int32_t own = 1;
    Work work = rank.root()->start_all_gather_to_list(views, view_of(own));
    if (rank.rank() == 1) outputs[1] = 9;
    work.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

}  // namespace
}  // namespace gang::sim
