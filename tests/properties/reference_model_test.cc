#include "properties/reference_model.h"

#include "tests/properties/planted.h"

namespace gang::properties::model {
namespace {

using ::testing::ElementsAre;

const Ranks three = {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}};
constexpr Reduction sum{ReduceOperation::sum, DataType::i32};

TEST(ReferenceModel, AllReduceGivesEveryRankTheReduction) {
  EXPECT_THAT(all_reduce(three, sum),
              ElementsAre(Values{111, 222, 333}, Values{111, 222, 333}, Values{111, 222, 333}));
}

TEST(ReferenceModel, ReduceLeavesTheOthersAsTheyWere) {
  EXPECT_THAT(reduce(three, sum, 1), ElementsAre(three[0], Values{111, 222, 333}, three[2]));
}

TEST(ReferenceModel, ReduceScatterGivesRankRChunkR) {
  EXPECT_THAT(reduce_scatter(three, sum), ElementsAre(Values{111}, Values{222}, Values{333}));
}

TEST(ReferenceModel, GathersKeepTheOrderOfTheRanks) {
  const Values all = {1, 2, 3, 10, 20, 30, 100, 200, 300};
  EXPECT_THAT(all_gather(three), ElementsAre(all, all, all));
  EXPECT_THAT(gather(three, 2), ElementsAre(Values{}, Values{}, all));
}

TEST(ReferenceModel, ScatterCutsTheSourcesTensor) {
  EXPECT_THAT(scatter({1, 2, 3, 4}, 2), ElementsAre(Values{1, 2}, Values{3, 4}));
}

TEST(ReferenceModel, AllToAllPutsChunkIOfRankJInSlotJOfRankI) {
  const std::vector<Ranks> chunks = {{{1}, {2, 3}}, {{4, 5}, {}}};
  EXPECT_THAT(all_to_all(chunks), ElementsAre(Values{1, 4, 5}, Values{2, 3}));
}

TEST(ReferenceModel, BroadcastAndRingMoveWholeTensors) {
  EXPECT_THAT(broadcast(three, 2), ElementsAre(three[2], three[2], three[2]));
  EXPECT_THAT(ring(three, 1), ElementsAre(three[2], three[0], three[1]));
}

std::uint64_t reduced(ReduceOperation operation, DataType type, const Values& elements) {
  return reduce_element(elements, {operation, type});
}

TEST(ReferenceModel, IntegersWrapAround) {
  EXPECT_EQ(reduced(ReduceOperation::sum, DataType::u8, {200, 100}), 44U);
  EXPECT_EQ(reduced(ReduceOperation::product, DataType::i8, {0x80, 0xff}), 0x80U);  // -128 · -1
  EXPECT_EQ(reduced(ReduceOperation::sum, DataType::u64, {~0ULL, 2}), 1U);
}

TEST(ReferenceModel, SignDecidesMinimaAndMaxima) {
  EXPECT_EQ(reduced(ReduceOperation::min, DataType::i8, {0xff, 1}), 0xffU);
  EXPECT_EQ(reduced(ReduceOperation::min, DataType::u8, {0xff, 1}), 1U);
  EXPECT_EQ(reduced(ReduceOperation::max, DataType::i64, {~0ULL, 0}), 0U);
}

TEST(ReferenceModel, TheMeanOfIntegersTruncatesTowardZero) {
  EXPECT_EQ(reduced(ReduceOperation::mean, DataType::i32, {0xfffffff9, 0}), 0xfffffffdU);  // -7/2
  EXPECT_EQ(reduced(ReduceOperation::mean, DataType::u8, {255, 2}), 0U);  // 257 wraps to 1
}

TEST(ReferenceModel, TheMeanOfFloatsScalesEachFirst) {
  const auto bits = [](double value) { return encode(value, DataType::f32); };
  EXPECT_EQ(reduced(ReduceOperation::mean, DataType::f32, {bits(3), bits(5)}), bits(4));
  // 1/3 rounded to f32, three times: not what dividing the sum would give in f16.
  const auto half = [](double value) { return encode(value, DataType::f16); };
  const double third = decode(half(1.0 / 3), DataType::f16);
  EXPECT_EQ(reduced(ReduceOperation::mean, DataType::f16, {half(1), half(0), half(0)}),
            half(third));
}

TEST(ReferenceModel, HalfTypesRoundToNearestEven) {
  EXPECT_EQ(encode(1.0, DataType::bf16), 0x3f80U);
  EXPECT_EQ(encode(1.0, DataType::f16), 0x3c00U);
  EXPECT_EQ(decode(0xc000, DataType::f16), -2.0);
  EXPECT_EQ(reduced(ReduceOperation::sum, DataType::bf16,
                    {encode(256, DataType::bf16), encode(1, DataType::bf16)}),
            encode(256, DataType::bf16));
}

TEST(ReferenceModel, OnlyTheMeanOverOddSizesIsInexact) {
  EXPECT_TRUE(is_exact({ReduceOperation::sum, DataType::f16}, 3));
  EXPECT_TRUE(is_exact({ReduceOperation::mean, DataType::f16}, 4));
  EXPECT_TRUE(is_exact({ReduceOperation::mean, DataType::i8}, 3));
  EXPECT_FALSE(is_exact({ReduceOperation::mean, DataType::f16}, 3));
}

TEST(ReferenceModel, ClosenessIsTheErrorBoundAndNoMore) {
  const auto bits = [](double value) { return encode(value, DataType::f32); };
  const Inexact inexact{DataType::f32, 3, 3};
  EXPECT_TRUE(is_close(bits(1), bits(1 + 0x1p-22), inexact));
  EXPECT_FALSE(is_close(bits(1), bits(1.0001), inexact));
}

}  // namespace
}  // namespace gang::properties::model
