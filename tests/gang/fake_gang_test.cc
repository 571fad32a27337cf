#include "gang/fake_gang.h"

#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/half.h"
#include "gang/object.h"
#include "gang/reduction.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;

std::vector<float> counting(std::size_t count, float first = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(FakeGang, HasTheOptionsItWasMadeWith) {
  const auto gang = make_fake_gang(
      {.rank = 2, .size = 4, .device = {DeviceType::cuda, 1}, .name = "dp", .timeout = 3s});
  EXPECT_EQ(gang->rank(), 2);
  EXPECT_EQ(gang->size(), 4);
  EXPECT_EQ(gang->device(), (Device{DeviceType::cuda, 1}));
  EXPECT_EQ(gang->name(), "dp");
  EXPECT_EQ(gang->timeout(), Duration(3s));
  EXPECT_EQ(gang->info().backend, "fake");
  EXPECT_TRUE(gang->info().root_ranks.empty());
}

TEST(FakeGang, ThoseMadeAlikeShareWhatTheyAre) {
  const auto first = make_fake_gang({.rank = 0, .size = 2, .name = "sdp"});
  const auto same = make_fake_gang({.rank = 1, .size = 2, .name = "sdp"});
  EXPECT_EQ(&same->info(), &first->info());
  EXPECT_EQ(same->rank(), 1);
  const FakeGangOptions others[] = {{.size = 2, .name = "rdp"},
                                    {.size = 3, .name = "sdp"},
                                    {.size = 2, .device = {DeviceType::cuda, 1}, .name = "sdp"},
                                    {.size = 2, .name = "sdp", .timeout = 3s}};
  for (const FakeGangOptions& options : others) {
    const auto other = make_fake_gang(options);
    EXPECT_EQ(other->info(), (GangInfo{.name = options.name,
                                       .root_ranks = {},
                                       .device = options.device,
                                       .timeout = options.timeout,
                                       .backend = "fake",
                                       .size = options.size}));
  }
}

TEST(FakeGang, SizesRanksAndTimeoutsOutOfRangeAreRefused) {
  EXPECT_THROW(make_fake_gang({.size = 0}), InvalidArgument);
  EXPECT_THROW(make_fake_gang({.size = -1}), InvalidArgument);
  EXPECT_THROW(make_fake_gang({.rank = -1, .size = 2}), InvalidArgument);
  EXPECT_THROW(make_fake_gang({.rank = 2, .size = 2}), InvalidArgument);
  EXPECT_THROW(make_fake_gang({.timeout = Duration(0)}), InvalidArgument);
  EXPECT_EQ(test::message_of<InvalidArgument>([] { make_fake_gang({.rank = 2, .size = 2}); }),
            "fake gang root: rank is 2; must be 0 to 1");
}

template <typename T>
T reduced(ReduceOperation operation, T value, int size) {
  make_fake_gang({.size = size})->all_reduce(view_of(value), operation);
  return value;
}

TEST(FakeGangReductions, SumMultipliesBySizeAndProductRaisesToIt) {
  EXPECT_EQ(reduced(ReduceOperation::sum, 2.5f, 4), 10.0f);
  EXPECT_EQ(reduced(ReduceOperation::product, 2.5f, 3), 15.625f);
  EXPECT_EQ(reduced(ReduceOperation::sum, std::int8_t{100}, 2), std::int8_t{-56}) << "wraps";
  EXPECT_EQ(reduced(ReduceOperation::product, std::int32_t{-3}, 3), -27);
}

// fairseq2's B9: these were not supported.
TEST(FakeGangReductions, MeanMinMaxAndMostBitwiseOnesLeaveTheDataUnchanged) {
  for (const int size : {1, 2, 3, 8}) {
    for (const ReduceOperation operation :
         {ReduceOperation::mean, ReduceOperation::min, ReduceOperation::max,
          ReduceOperation::bitwise_and, ReduceOperation::bitwise_or})
      EXPECT_EQ(reduced(operation, std::int32_t{-12}, size), -12) << to_string(operation);
    EXPECT_EQ(reduced(ReduceOperation::mean, 1.5f, size), 1.5f);
    EXPECT_EQ(reduced(ReduceOperation::max, bf16(-2.5f), size), bf16(-2.5f));
    EXPECT_EQ(reduced(ReduceOperation::min, true, size), true);
  }
}

TEST(FakeGangReductions, ExclusiveOrIsZeroWhenSizeIsEven) {
  EXPECT_EQ(reduced(ReduceOperation::bitwise_xor, 12u, 2), 0u);
  EXPECT_EQ(reduced(ReduceOperation::bitwise_xor, 12u, 3), 12u);
  EXPECT_EQ(reduced(ReduceOperation::bitwise_xor, 12u, 1), 12u);
}

template <typename T>
class FakeGangReduction : public testing::Test {};
using Types = testing::Types<std::uint8_t, std::int8_t, std::int32_t, std::uint32_t, std::int64_t,
                             std::uint64_t, f16, bf16, float, double>;
TYPED_TEST_SUITE(FakeGangReduction, Types);

TYPED_TEST(FakeGangReduction, EqualsTheReductionOfEqualValuesBitForBit) {
  constexpr DataType type = DataTypeOf<TypeParam>::value;
  std::vector<TypeParam> values;
  for (int i = 0; i < 2000; ++i) values.push_back(static_cast<TypeParam>(float(i) * 0.0371f));
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, type)) continue;
    for (const int size : {1, 2, 3, 49}) {
      const std::vector<const void*> inputs(static_cast<std::size_t>(size), values.data());
      std::vector<TypeParam> expected(values.size());
      reduce_block(operation, type, expected.data(), inputs.data(), size, values.size());
      std::vector<TypeParam> output(values.size());
      make_fake_gang({.size = size})->all_reduce(view(output), view(values), operation);
      EXPECT_EQ(output, expected) << to_string(operation) << " size " << size;
    }
  }
}

TEST(FakeGang, OutOfPlaceLeavesTheInputUnchanged) {
  const std::vector<float> original = counting(5);
  std::vector<float> input = original;
  std::vector<float> output(5);
  make_fake_gang({.size = 2})->all_reduce(view(output), view(input), ReduceOperation::sum);
  EXPECT_EQ(input, original);
  EXPECT_EQ(output, (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST(FakeGang, ReduceChangesTheDestinationOnly) {
  const auto gang = make_fake_gang({.rank = 1, .size = 2});
  float value = 3;
  gang->reduce(view_of(value), ReduceOperation::sum, 0);
  EXPECT_EQ(value, 3);
  gang->reduce(view_of(value), ReduceOperation::sum, 1);
  EXPECT_EQ(value, 6);
}

TEST(FakeGang, ReduceScatterPicksThisRanksChunk) {
  std::vector<float> input = counting(6);
  std::vector<float> output(2);
  const auto gang = make_fake_gang({.rank = 2, .size = 3});
  gang->reduce_scatter(view(output), view(input), ReduceOperation::sum);
  EXPECT_EQ(output, (std::vector<float>{15, 18}));
  gang->reduce_scatter(view(output), view(input, {3, 2}), ReduceOperation::max);
  EXPECT_EQ(output, (std::vector<float>{5, 6}));
}

TEST(FakeGang, ScansReduceTheRanksUpToItsOwn) {
  for (const int rank : {0, 2}) {
    float value = 5;
    float before = 5;
    const auto gang = make_fake_gang({.rank = rank, .size = 4});
    gang->scan(view_of(value), ReduceOperation::sum);
    gang->exclusive_scan(view_of(before), ReduceOperation::sum);
    EXPECT_EQ(value, rank == 0 ? 5 : 15);
    EXPECT_EQ(before, rank == 0 ? 5 : 10);
  }
}

TEST(FakeGang, AllGatherWithCountsGetsAsMuchFromEveryRank) {
  std::vector<float> input = counting(2);
  std::vector<float> output(4);
  const auto gang = make_fake_gang({.rank = 1, .size = 2});
  gang->all_gather(view(output), view(input), std::array<std::int64_t, 2>{2, 2});
  EXPECT_EQ(output, (std::vector<float>{1, 2, 1, 2}));
  EXPECT_THROW(
      gang->all_gather(view(output).slice(0, 3), view(input), std::array<std::int64_t, 2>{1, 2}),
      GangError);
}

// fairseq2's B5 and B16: only one shape was supported, and what did not fit was broadcast and cast.
TEST(FakeGang, AllGatherReplicatesInBothShapes) {
  std::vector<float> input = counting(2);
  std::vector<float> output(6);
  const auto gang = make_fake_gang({.rank = 1, .size = 3});
  gang->all_gather(view(output), view(input));
  EXPECT_EQ(output, (std::vector<float>{1, 2, 1, 2, 1, 2}));
  input = {3, 4};
  gang->all_gather(view(output, {3, 2}), view(input));
  EXPECT_EQ(output, (std::vector<float>{3, 4, 3, 4, 3, 4}));
  std::vector<float> single(1);
  EXPECT_THROW(gang->all_gather(view(output, {3, 2}), view(single)), InvalidArgument);
  std::vector<double> doubles(2);
  EXPECT_THROW(gang->all_gather(view(output, {3, 2}), view(doubles)), InvalidArgument);
}

TEST(FakeGang, ListsAreFilledOnTheRankThatHasThem) {
  std::vector<float> input = counting(2);
  std::vector<float> output(4);
  const std::vector<TensorView> list = {view(output).slice(0, 2), view(output).slice(2, 2)};
  const auto gang = make_fake_gang({.rank = 1, .size = 2});
  gang->all_gather_to_list(list, view(input));
  EXPECT_EQ(output, (std::vector<float>{1, 2, 1, 2}));
  input = {5, 6};
  gang->gather({}, view(input), 0);
  EXPECT_EQ(output, (std::vector<float>{1, 2, 1, 2}));
  gang->gather(list, view(input), 1);
  EXPECT_EQ(output, (std::vector<float>{5, 6, 5, 6}));
}

TEST(FakeGang, ScatterPicksThisRanksChunkOfItsOwnList) {
  std::vector<float> inputs = counting(4);
  const std::vector<TensorView> list = {view(inputs).slice(0, 2), view(inputs).slice(2, 2)};
  std::vector<float> output(2);
  const auto gang = make_fake_gang({.rank = 1, .size = 2});
  gang->scatter(view(output), list, 1);
  EXPECT_EQ(output, (std::vector<float>{3, 4}));
  EXPECT_THROW(gang->scatter(view(output), {}, 0), NotSupported)
      << "what an imagined rank would send is unknown";
}

TEST(FakeGang, AllToAllGetsTheSameChunkFromEveryRank) {
  std::vector<float> input = counting(6);
  std::vector<float> output(6);
  const auto gang = make_fake_gang({.rank = 1, .size = 3});
  gang->all_to_all(view(output), view(input));
  EXPECT_EQ(output, (std::vector<float>{3, 4, 3, 4, 3, 4}));
}

TEST(FakeGang, UnevenAllToAllGetsAsMuchAsItSendsItself) {
  std::vector<float> input = counting(6);
  std::vector<float> output(6);
  const auto gang = make_fake_gang({.rank = 1, .size = 3});
  const std::array<std::int64_t, 3> input_splits = {3, 2, 1};
  const std::array<std::int64_t, 3> output_splits = {2, 2, 2};
  gang->all_to_all(view(output), view(input), {.output = output_splits, .input = input_splits});
  EXPECT_EQ(output, (std::vector<float>{4, 5, 4, 5, 4, 5}));
  EXPECT_THROW(
      gang->all_to_all(view(output), view(input), {.output = input_splits, .input = input_splits}),
      GangError);
}

TEST(FakeGang, BroadcastsAndBarriersLeaveTheDataUnchangedForAnySource) {
  const auto gang = make_fake_gang({.rank = 1, .size = 3});
  float value = 3;
  std::vector<Object> objects = {"mine", 1};
  for (int source = 0; source < 3; ++source) {
    gang->broadcast(view_of(value), source);
    gang->broadcast_objects(objects, source);
  }
  gang->barrier();
  gang->monitored_barrier(1s);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(objects, (std::vector<Object>{"mine", 1}));
  EXPECT_THROW(gang->broadcast(view_of(value), 3), InvalidArgument);
}

TEST(FakeGang, CannotSendOrReceive) {
  const auto gang = make_fake_gang({.size = 2});
  float value = 3;
  EXPECT_EQ(test::message_of<NotSupported>([&] { gang->send(view_of(value), 1); }),
            "send on root[0,1]: a fake gang cannot send or receive; simulated gangs can");
  EXPECT_THROW(gang->recv(view_of(value), 1), NotSupported);
  EXPECT_THROW(gang->batch({}), NotSupported);
  EXPECT_THROW(gang->start_send(view_of(value), 1), NotSupported);
  gang->barrier();
}

TEST(FakeGang, StartedOperationsAreCompleteAtOnce) {
  const auto gang = make_fake_gang({.size = 2});
  float value = 3;
  Work work = gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  EXPECT_TRUE(work.test());
  EXPECT_EQ(value, 6);
}

// fairseq2's B1 and B4: a child larger than its parent, and the order of the list.
TEST(FakeGangCreateGang, KeepsTheOrderOfTheListAndIsNullForOthers) {
  const auto gang = make_fake_gang({.rank = 4, .size = 6});
  const auto child = gang->create_gang(std::vector{2, 4, 0});
  EXPECT_EQ(child->rank(), 1);
  EXPECT_EQ(child->size(), 3);
  EXPECT_EQ(gang->create_gang(std::vector{4, 0, 2})->rank(), 0);
  EXPECT_EQ(gang->create_gang(std::vector{0, 1}), nullptr);
  EXPECT_THROW(make_fake_gang({.size = 2})->create_gang(std::vector{0, 1, 2}), InvalidArgument);
  EXPECT_THROW(gang->create_gang({}), InvalidArgument);
}

TEST(FakeGangCreateGang, ChildrenInheritAndAreNamed) {
  const auto gang = make_fake_gang({.size = 2, .device = {DeviceType::cuda, 1}, .timeout = 3s});
  const auto child = gang->create_gang(std::vector{0, 1});
  EXPECT_EQ(child->timeout(), Duration(3s));
  EXPECT_EQ(child->device(), (Device{DeviceType::cuda, 1}));
  EXPECT_EQ(child->name(), "root.0");
  EXPECT_EQ(gang->create_gang(std::vector{0})->name(), "root.1");
  const auto named = gang->create_gang(std::vector{0}, {.name = "tp", .timeout = 1s});
  EXPECT_EQ(named->name(), "tp");
  EXPECT_EQ(named->timeout(), Duration(1s));
}

TEST(FakeGangSplit, EveryRankHasThisRanksColor) {
  const auto gang = make_fake_gang({.rank = 1, .size = 3});
  const auto child = gang->split({.color = 5, .key = -1});
  EXPECT_EQ(child->size(), 3);
  EXPECT_EQ(child->rank(), 1);
  EXPECT_EQ(gang->split({}), nullptr);
}

TEST(FakeGang, ChildrenCloseWithTheirParent) {
  const auto gang = make_fake_gang({.size = 2});
  const auto child = gang->create_gang(std::vector{0, 1});
  gang->close();
  gang->close();
  EXPECT_THROW(child->barrier(), InvalidOperation);
}

TEST(FakeGang, AfterAnAbortEveryOperationFailsWithIt) {
  const auto gang = make_fake_gang({.size = 2, .name = "dp"});
  gang->abort();
  gang->abort();
  for (int i = 0; i < 2; ++i) {
    try {
      gang->barrier();
      FAIL() << "an aborted gang went on";
    } catch (const GangError& error) {
      EXPECT_EQ(error.kind(), GangErrorKind::aborted);
      EXPECT_EQ(error.gang(), "dp[0,1]");
      EXPECT_EQ(error.sequence_number(), static_cast<std::uint64_t>(i));
    }
  }
}

TEST(FakeGang, TheFirstFailureBreaksItAndStays) {
  const auto gang = make_fake_gang({.size = 2});
  std::vector<float> output(3);
  std::vector<float> input(1);
  const std::vector<std::int64_t> counts = {1, 2};
  const auto fails_with = [](const auto& act) -> std::optional<GangErrorKind> {
    try {
      act();
    } catch (const GangError& error) {
      return error.kind();
    }
    return std::nullopt;
  };
  const auto mismatch = GangErrorKind::mismatch;
  EXPECT_EQ(fails_with([&] { gang->all_gather(view(output), view(input), counts); }), mismatch);
  EXPECT_EQ(fails_with([&] { gang->barrier(); }), mismatch);
  gang->abort();
  EXPECT_EQ(fails_with([&] { gang->barrier(); }), mismatch);
}

TEST(FakeGang, ShrinksToAGangOfAllImaginaryMembers) {
  const auto gang = make_fake_gang({.rank = 1, .size = 3, .name = "dp"});
  gang->abort();
  const auto shrunk = gang->shrink();
  gang->close();
  EXPECT_EQ(shrunk->name(), "dp.0");
  EXPECT_EQ(shrunk->size(), 3);
  EXPECT_EQ(shrunk->rank(), 1);
  shrunk->barrier();
  EXPECT_EQ(shrunk->shrink({.name = "rest"})->name(), "rest");
  EXPECT_THROW(shrunk->shrink(), InvalidOperation) << "already shrunk";
  EXPECT_THROW(shrunk->barrier(), GangError) << "broken since";
}

TEST(FakeGang, EmptyTensorsAreLegal) {
  const auto gang = make_fake_gang({.size = 2});
  gang->all_reduce(TensorView(), ReduceOperation::sum);
  gang->all_gather(TensorView(), TensorView());
  gang->reduce_scatter(TensorView(), TensorView(), ReduceOperation::mean);
  gang->all_to_all(TensorView(), TensorView());
}

}  // namespace
}  // namespace gang
