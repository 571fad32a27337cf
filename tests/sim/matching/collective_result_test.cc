#include "sim/matching/collective_result.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include "gang/half.h"
#include "gang/object.h"
#include "sim/matching/reduction_pool.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Ints = std::vector<std::int32_t>;

// Runs `body(gang, rank)` on so many ranks, where everything must hold.
template <typename Body>
void on_ranks(int world_size, const Body& body) {
  const Report report =
      run(world_size, [&body](SimulatedRank& rank) { body(*rank.root(), rank.rank()); });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(AllReduce, CombinesElementByElementInEveryWay) {
  on_ranks(3, [](Gang& gang, int rank) {
    const Ints own = {rank + 1, 6 - rank, -7};
    const auto reduced = [&](ReduceOperation operation) {
      Ints values = own;
      gang.all_reduce(view(values), operation);
      return values;
    };
    EXPECT_EQ(reduced(ReduceOperation::sum), (Ints{6, 15, -21}));
    EXPECT_EQ(reduced(ReduceOperation::product), (Ints{6, 120, -343}));
    EXPECT_EQ(reduced(ReduceOperation::min), (Ints{1, 4, -7}));
    EXPECT_EQ(reduced(ReduceOperation::max), (Ints{3, 6, -7}));
    EXPECT_EQ(reduced(ReduceOperation::mean), (Ints{2, 5, -7}));
    EXPECT_EQ(reduced(ReduceOperation::bitwise_and), (Ints{0, 4, -7}));
    EXPECT_EQ(reduced(ReduceOperation::bitwise_or), (Ints{3, 7, -7}));
    EXPECT_EQ(reduced(ReduceOperation::bitwise_xor), (Ints{0, 7, -7}));
  });
}

TEST(AllReduce, OutOfPlaceLeavesTheInputAlone) {
  on_ranks(2, [](Gang& gang, int rank) {
    const Ints input = {rank, 10};
    Ints output = {-1, -1};
    gang.all_reduce(view(output), view(input), ReduceOperation::sum);
    EXPECT_EQ(output, (Ints{1, 20}));
    EXPECT_EQ(input, (Ints{rank, 10}));
  });
}

TEST(AllReduce, AnIntegerMeanTruncatesTowardZeroAndASumWraps) {
  on_ranks(2, [](Gang& gang, int rank) {
    Ints values = {rank == 0 ? -4 : -3, rank == 0 ? 4 : 3};
    gang.all_reduce(view(values), ReduceOperation::mean);
    EXPECT_EQ(values, (Ints{-3, 3}));
    std::uint8_t small = 200;
    gang.all_reduce(view_of(small), ReduceOperation::sum);
    EXPECT_EQ(small, 144);
  });
}

TEST(AllReduce, AFloatMeanMultipliesEachByTheRoundedShareThenSums) {
  on_ranks(3, [](Gang& gang, int) {
    float value = 0.1F;
    gang.all_reduce(view_of(value), ReduceOperation::mean);
    const float share = 0.1F * (1.0F / 3.0F);
    EXPECT_EQ(value, share + share + share);
    std::vector<float> large(1000, 0.1F);  // not kept beside the slot
    gang.all_reduce(view(large), ReduceOperation::mean);
    EXPECT_EQ(large, std::vector<float>(1000, value));
  });
}

template <typename T>
void expect_sum_of_ones(Gang& gang, std::size_t count) {
  std::vector<T> values(count, static_cast<T>(1));
  gang.all_reduce(view(values), ReduceOperation::sum);
  for (const T value : values) ASSERT_EQ(value, static_cast<T>(gang.size()));
}

TEST(AllReduce, KnowsEveryDataTypeSmallAndLarge) {
  on_ranks(5, [](Gang& gang, int rank) {
    for (const std::size_t count : {1U, 3U, 5000U}) {
      expect_sum_of_ones<std::uint8_t>(gang, count);
      expect_sum_of_ones<std::int8_t>(gang, count);
      expect_sum_of_ones<std::int32_t>(gang, count);
      expect_sum_of_ones<std::uint32_t>(gang, count);
      expect_sum_of_ones<std::int64_t>(gang, count);
      expect_sum_of_ones<std::uint64_t>(gang, count);
      expect_sum_of_ones<f16>(gang, count);
      expect_sum_of_ones<bf16>(gang, count);
      expect_sum_of_ones<float>(gang, count);
      expect_sum_of_ones<double>(gang, count);
    }
    std::array<bool, 2> flags = {rank == 3, true};
    gang.all_reduce(view(flags), ReduceOperation::bitwise_or);
    EXPECT_TRUE(flags[0]);
    flags[0] = rank != 3;
    gang.all_reduce(view(flags), ReduceOperation::bitwise_and);
    EXPECT_FALSE(flags[0]);
    EXPECT_TRUE(flags[1]);
  });
}

// Sizes at and around the blocks of a reduction and the point where it takes threads.
class LargeReduction : public testing::TestWithParam<std::size_t> {};

TEST_P(LargeReduction, IsRightToItsLastElement) {
  const std::size_t count = GetParam();
  for (const int threads : {1, 3}) {
    const Report report =
        run({.world_size = 4, .reduction_threads = threads}, [count](SimulatedRank& rank) {
          Ints input(count);
          std::iota(input.begin(), input.end(), rank.rank());
          Ints output(count);
          rank.root()->all_reduce(view(output), view(input), ReduceOperation::sum);
          Ints reduced = input;
          rank.root()->reduce(view(reduced), ReduceOperation::sum, 2);
          Ints chunk(count / 4);
          rank.root()->reduce_scatter(view(chunk), view(input).slice(0, count / 4 * 4),
                                      ReduceOperation::sum);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(output[i], 4 * static_cast<std::int32_t>(i) + 6);
          EXPECT_EQ(reduced, rank.rank() == 2 ? output : input);
          const auto first = output.begin() + rank.rank() * static_cast<std::ptrdiff_t>(count / 4);
          EXPECT_TRUE(std::equal(chunk.begin(), chunk.end(), first));
        });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

INSTANTIATE_TEST_SUITE_P(AroundItsBlocks, LargeReduction,
                         testing::Values(5, 4095, 4096, 4097, 65'536, 65'537, 300'001));

TEST(Reduce, OnlyTheDestinationIsWritten) {
  on_ranks(3, [](Gang& gang, int rank) {
    Ints tensor = {rank, 1};
    gang.reduce(view(tensor), ReduceOperation::sum, 1);
    EXPECT_EQ(tensor, rank == 1 ? (Ints{3, 3}) : (Ints{rank, 1}));
    const Ints input = {rank};
    Ints output = {-1};
    gang.reduce(view(output), view(input), ReduceOperation::max, 0);
    EXPECT_EQ(output, rank == 0 ? Ints{2} : Ints{-1});
  });
}

TEST(ReduceScatter, GivesEachRankItsChunk) {
  on_ranks(3, [](Gang& gang, int rank) {
    const Ints input = {1, 2, 3};
    Ints output(1);
    gang.reduce_scatter(view(output), view(input), ReduceOperation::sum);
    EXPECT_EQ(output, Ints{3 * (rank + 1)});
  });
}

TEST(AllGather, IsInRankOrder) {
  on_ranks(3, [](Gang& gang, int rank) {
    const Ints input = {rank, 10 * rank};
    Ints output(6, -1);
    gang.all_gather(view(output), view(input));
    EXPECT_EQ(output, (Ints{0, 0, 1, 10, 2, 20}));
  });
}

TEST(AllGatherToList, IsInRankOrder) {
  on_ranks(3, [](Gang& gang, int rank) {
    std::array<Ints, 3> outputs = {Ints(2), Ints(2), Ints(2)};
    const std::vector<TensorView> views = {view(outputs[0]), view(outputs[1]), view(outputs[2])};
    const Ints input = {rank, 7};
    gang.all_gather_to_list(views, view(input));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(outputs[static_cast<std::size_t>(i)], (Ints{i, 7}));
  });
}

TEST(GatherAndScatter, AreInversesAtTheRoot) {
  on_ranks(3, [](Gang& gang, int rank) {
    std::array<std::int32_t, 3> gathered = {-1, -1, -1};
    std::vector<TensorView> views;
    if (rank == 2)
      for (std::int32_t& value : gathered) views.push_back(view_of(value));
    std::int32_t own = 10 + rank;
    gang.gather(views, view_of(own), 2);
    if (rank == 2)
      EXPECT_THAT(gathered, ElementsAre(10, 11, 12));
    else
      EXPECT_THAT(gathered, ElementsAre(-1, -1, -1));
    own = 0;
    gang.scatter(view_of(own), views, 2);
    EXPECT_EQ(own, 10 + rank);
  });
}

TEST(AllToAll, IsATransposition) {
  on_ranks(3, [](Gang& gang, int rank) {
    const Ints input = {10 * rank, 10 * rank + 1, 10 * rank + 2};
    Ints output(3);
    gang.all_to_all(view(output), view(input));
    EXPECT_EQ(output, (Ints{rank, 10 + rank, 20 + rank}));
    Ints back(3);
    gang.all_to_all(view(back), view(output));  // its own inverse
    EXPECT_EQ(back, input);
  });
}

TEST(AllToAll, MovesWhatTheSplitsSay) {
  on_ranks(2, [](Gang& gang, int rank) {
    // Rank 0 keeps none and gives 3; rank 1 gives 1 and keeps 2.
    const Ints input = rank == 0 ? Ints{1, 2, 3} : Ints{4, 5, 6};
    const std::vector<std::int64_t> sends =
        rank == 0 ? std::vector<std::int64_t>{0, 3} : std::vector<std::int64_t>{1, 2};
    const std::vector<std::int64_t> receives =
        rank == 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{3, 2};
    Ints output(rank == 0 ? 1 : 5);
    gang.all_to_all(view(output), view(input), {.output = receives, .input = sends});
    EXPECT_EQ(output, rank == 0 ? Ints{4} : (Ints{1, 2, 3, 5, 6}));
  });
}

TEST(AllToAll, SplitsThatDifferPairByPairAreAMismatch) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const Ints input(3);
    Ints output(3);
    const std::vector<std::int64_t> sends = {1, 2};
    const std::vector<std::int64_t> receives = {2, 1};
    const auto error = gang_error_of([&] {
      rank.root()->all_to_all(view(output), view(input), {.output = receives, .input = sends});
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::mismatch);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_count"));
}

TEST(Broadcast, GivesTheSourcesDataToAll) {
  on_ranks(3, [](Gang& gang, int rank) {
    Ints values = {rank, rank * rank};
    gang.broadcast(view(values), 2);
    EXPECT_EQ(values, (Ints{2, 4}));
  });
}

TEST(BroadcastObjects, GivesTheSourcesValuesToAll) {
  on_ranks(3, [](Gang& gang, int rank) {
    std::vector<Object> objects = {Object(rank), Object("from " + std::to_string(rank))};
    gang.broadcast_objects(objects, 1);
    EXPECT_EQ(objects, (std::vector<Object>{Object(1), Object("from 1")}));
  });
}

TEST(EmptyTensors, MatchAndOrderLikeAnyOther) {
  on_ranks(2, [](Gang& gang, int rank) {
    Ints none;
    gang.all_reduce(view(none), ReduceOperation::sum);
    gang.reduce(view(none), ReduceOperation::mean, 1);
    gang.reduce_scatter(view(none), view(none), ReduceOperation::sum);
    gang.all_gather(view(none), view(none));
    gang.all_to_all(view(none), view(none));
    gang.broadcast(view(none));
    gang.start_all_reduce(view(none), ReduceOperation::mean).wait();
    if (rank == 0)
      gang.send(view(none), 1);
    else
      EXPECT_EQ(gang.recv(view(none)).source_rank, 0);
  });
}

}  // namespace
}  // namespace gang::sim
