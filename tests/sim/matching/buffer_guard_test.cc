#include "sim/matching/buffer_guard.h"

#include <sys/mman.h>

#include <utility>
#include <vector>

#include <fmt/format.h>

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

// Touching an output: a finding of rank `rank`, or the end of the process where each byte is
// fenced.
void expect_found(const std::function<Report()>& run_it, int rank) {
  if constexpr (MemoryFence::is_fatal) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(run_it(), "use-after-poison");
  } else {
    const Report report = run_it();
    ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
    EXPECT_THAT(report.findings[0].ranks, ElementsAre(rank));
  }
}

TEST(BufferGuard, FindsAWrittenInput) {
  const Report report = touched([](Buffers& buffers, SimulatedRank&) { buffers.input[4] = 1; });
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_THAT(to_string(report.findings[0].call), HasSubstr("all_reduce #0 sum i32[5]"));
  EXPECT_THAT(to_string(report.findings[0].location), HasSubstr("buffer_guard_test.cc:"));
}

TEST(BufferGuard, FindsAWrittenOutput) {
  expect_found([] { return touched([](Buffers& b, SimulatedRank&) { b.output[0] = 1; }); }, 0);
}

TEST(BufferGuard, FindsFurtherMemoryThatTheCallNames) {
  EXPECT_THAT(ids_of(touched([](Buffers& b, SimulatedRank&) { b.further[2] = 1; })),
              ElementsAre("buffer_in_flight"));
}

// Memory of up to 8 bytes is compared as it is, more of it by a digest.
TEST(BufferGuard, FindsAWriteToAnyByteOfLittleMemory) {
  for (std::size_t size = 1; size <= 9; ++size) {
    for (std::size_t written = 0; written < size; ++written) {
      SCOPED_TRACE(fmt::format("byte {} of {}", written, size));
      const Report report = run(2, [size, written](SimulatedRank& rank) {
        std::vector<std::uint8_t> data(size, 1);
        Work work = rank.root()->start_reduce(view(data), ReduceOperation::sum, 0);
        if (rank.rank() == 1) ++data[written];
        work.wait();
      });
      ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
      EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
    }
  }
}

TEST(BufferGuard, FindsAWriteBetweenCompletionAndWait) {
  const auto later = [](Buffers& buffers, SimulatedRank& rank) {
    rank.runtime().sleep_for(1ms);  // the other has come by now
    buffers.output[0] += 1;
  };
  expect_found([&] { return touched(later); }, 0);
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
    buffers.further[0] = -1;
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
      if (sender_writes) {
        const Report report = program(batched, sender_writes);
        ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
        EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
      } else {
        expect_found([&] { return program(batched, sender_writes); }, 1);
      }
    }
}

TEST(BufferGuard, ListsAreWatchedToTheirLastTensor) {
  const auto program = [] {
    return run(2, [](SimulatedRank& rank) {
      std::array<std::int64_t, 2> outputs{};  // eight bytes each: what a sanitizer can fence
      const std::vector<TensorView> views = {view_of(outputs[0]), view_of(outputs[1])};
      std::int64_t own = 1;
      Work work = rank.root()->start_all_gather_to_list(views, view_of(own));
      if (rank.rank() == 1) outputs[1] = 9;
      work.wait();
    });
  };
  expect_found(program, 1);
}

// Two sums of one buffer in flight at the same time, `between` them or not.
Report sum_twice(const std::function<void(Work&)>& between) {
  return run(4, [&](SimulatedRank& rank) {
    std::array<std::int32_t, 5> values{1, 2, 3, 4, 5};
    Work first = rank.root()->start_all_reduce(view(values), ReduceOperation::sum, {},
                                               CallSite::at("train.cc", 1));
    between(first);
    Work second = rank.root()->start_all_reduce(view(values), ReduceOperation::sum, {},
                                                CallSite::at("train.cc", 2));
    second.wait();
    first.wait();
  });
}

TEST(BufferGuard, OneBufferOfTwoOperationsIsAFindingOfAllRanksThatGiveIt) {
  if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process at an access";
  const Report report = sum_twice([](Work&) {});
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:2");
  EXPECT_THAT(report.findings[0].message, HasSubstr("(called at train.cc:1) to all_reduce #1"));
  EXPECT_TRUE(sum_twice([](Work& first) { first.wait(); }).holds());
}

// Rank 2 alone does.
TEST(BufferGuard, AndOfNobodyElse) {
  if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process at an access";
  const Report report = run(4, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> values{1, 2};
    Work first = rank.root()->start_all_reduce(view_of(values[0]), ReduceOperation::sum);
    Work second = rank.root()->start_all_reduce(view_of(values[rank.rank() == 2 ? 0 : 1]),
                                                ReduceOperation::sum);
    first.wait();
    second.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
}

TEST(BufferGuard, OperationsMayShareAnInput) {
  const Report report = run(2, [](SimulatedRank& rank) {
    Buffers buffers;
    Work first = rank.root()->start_all_reduce(view(buffers.output), view(buffers.input),
                                               ReduceOperation::sum);
    Work second = rank.root()->start_all_reduce(view(buffers.further), view(buffers.input),
                                                ReduceOperation::sum);
    first.wait();
    second.wait();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// Large enough to hold whole pages.
constexpr std::size_t large = 16384;

// Rank 1 reads one of its buffers after a start and before or after the wait.
Report read_by_rank_1(
    const std::function<Work(Gang&, std::vector<float>&, std::vector<float>&)>& start,
    bool reads_output, bool early) {
  return run(2, [&](SimulatedRank& rank) {
    std::vector<float> input(large, 1.0F);
    std::vector<float> output(large);
    Work work = start(*rank.root(), output, input);
    const std::vector<float>& touched = reads_output ? output : input;
    float value = 0.0F;
    const auto read = [&] { value = *static_cast<const volatile float*>(&touched[large / 2]); };
    if (early && rank.rank() == 1) read();
    work.wait();
    if (!early) read();
    EXPECT_GE(value, 0.0F);
  });
}

Work start_sum(Gang& gang, std::vector<float>& output, std::vector<float>& input) {
  return gang.start_all_reduce(view(output), view(input), ReduceOperation::sum);
}

// Rank 1 changes one of its buffers in flight, and changes it back.
Report put_back_by_rank_1(bool in_output) {
  return run(2, [&](SimulatedRank& rank) {
    std::vector<float> input(large, 1.0F);
    std::vector<float> output(large);
    Work work = start_sum(*rank.root(), output, input);
    volatile float& value = (in_output ? output : input)[large / 2];
    if (rank.rank() == 1) {
      const float former = in_output ? 0.0F : 1.0F;
      value = 2.0F;
      value = former;
    }
    work.wait();
  });
}

TEST(BufferGuard, FindsAValueThatIsPutBack) {
  expect_found([] { return put_back_by_rank_1(true); }, 1);
  if (MemoryFence::is_fatal) return;  // it fences outputs only
  const Report report = put_back_by_rank_1(false);
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(report.findings[0].message, HasSubstr("wrote to a buffer of all_reduce #0"));
}

TEST(BufferGuard, FindsAReadOutput) {
  expect_found([] { return read_by_rank_1(start_sum, true, true); }, 1);
  if constexpr (!MemoryFence::is_fatal) {
    const Report report = read_by_rank_1(start_sum, true, true);
    EXPECT_THAT(full_message(report.findings[0]),
                HasSubstr("Rank 1 read a buffer of all_reduce #0"));
  }
}

TEST(BufferGuard, FindsAReadOfATensorThatIsReducedInPlace) {
  const auto in_place = [](Gang& gang, std::vector<float>& output, std::vector<float>&) {
    return gang.start_all_reduce(view(output), ReduceOperation::sum);
  };
  expect_found([&] { return read_by_rank_1(in_place, true, true); }, 1);
}

TEST(BufferGuard, OutputsMayBeReadAfterTheWaitAndInputsAlways) {
  for (const bool early : {false, true}) {
    const Report report = read_by_rank_1(start_sum, !early, early);
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(BufferGuard, WhatASourceBroadcastsIsAnInputThere) {
  const auto broadcast = [](Gang& gang, std::vector<float>& output, std::vector<float>&) {
    return gang.start_broadcast(view(output), 1);
  };
  EXPECT_TRUE(read_by_rank_1(broadcast, true, true).holds());
}

TEST(BufferGuard, OutputsOfABrokenGangAreTheProgramsAgain) {
  const Report report =
      run({.world_size = 2, .pending_timeouts = PendingTimeouts::fire}, [](SimulatedRank& rank) {
        std::vector<float> values(large, 1.0F);
        if (rank.rank() == 0) return;
        Work work = rank.root()->start_all_reduce(view(values), ReduceOperation::sum);
        EXPECT_THROW(work.wait(), GangError);
        EXPECT_EQ(values[large / 2], 1.0F);
      });
  EXPECT_THAT(ids_of(report), testing::Not(testing::Contains("buffer_in_flight")));
}

TEST(BufferGuard, WhatWaitAnyReportsMayBeRead) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::vector<float> values(large, 1.0F);
    std::vector<Work> works;
    works.push_back(rank.root()->start_all_reduce(view(values), ReduceOperation::sum));
    EXPECT_EQ(Work::wait_any(works), 0U);
    EXPECT_EQ(values[large / 2], 2.0F);
    values[0] = 9.0F;
    works[0].wait();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// Memory of its own, which goes back to the system as an allocator returns large buffers.
class LargeBuffer {
 public:
  explicit LargeBuffer(SimulatedRank& rank)
      : memory_(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    rank.root()->barrier();  // no other buffer is made later, in the place of a freed one
  }
  ~LargeBuffer() { free(); }
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;

  TensorView view() const {
    const std::span values(static_cast<float*>(memory_), count);
    return gang::view(values);
  }
  void free() {
    if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), bytes);
  }

 private:
  static constexpr std::size_t count = 100'000;
  static constexpr std::size_t bytes = count * sizeof(float);
  void* memory_;
};

TEST(BufferGuard, ABufferThatIsFreedInFlightIsAFindingAndNoCrash) {
  if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process; runs without it";
  const Report report = run(3, [](SimulatedRank& rank) {
    LargeBuffer values(rank);
    if (rank.rank() == 2) rank.runtime().sleep_for(1ms);
    Work work = rank.root()->start_all_reduce(values.view(), ReduceOperation::sum);
    if (rank.rank() == 1) values.free();
    const auto error = gang_error_of([&work] { work.wait(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(report.findings[0].message, HasSubstr("Rank 1 freed a buffer of all_reduce #1"));
}

TEST(BufferGuard, SoIsOneThatIsFreedBeforeTheProgramKnowsOfTheEnd) {
  if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process; runs without it";
  const Report report = run(3, [](SimulatedRank& rank) {
    LargeBuffer values(rank);
    Work work = rank.root()->start_all_reduce(values.view(), ReduceOperation::sum);
    rank.runtime().sleep_for(1ms);
    if (rank.rank() == 1) values.free();
    work.wait();
  });
  EXPECT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
}

TEST(BufferGuard, SoIsTheFreedBufferOfAMessage) {
  if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process; runs without it";
  const Report report = run(2, [](SimulatedRank& rank) {
    LargeBuffer values(rank);
    if (rank.rank() == 1) rank.runtime().sleep_for(1ms);
    Work work = rank.rank() == 0 ? rank.root()->start_send(values.view(), 1)
                                 : rank.root()->start_recv(values.view(), 0);
    if (rank.rank() == 0) values.free();
    EXPECT_TRUE(gang_error_of([&work] { work.wait(); }));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("buffer_in_flight"));
}

}  // namespace
}  // namespace gang::sim
