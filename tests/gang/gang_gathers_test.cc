// How all_gather, gather, scatter and all_to_all reach a backend, and which calls never do.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;
using test::message_of;

class GangGathers : public testing::Test {
 protected:
  // `count` tensors of `elements` elements each, without overlap.
  std::vector<TensorView> list(std::int64_t count, std::int64_t elements) {
    std::vector<TensorView> tensors;
    for (std::int64_t i = 0; i < count; ++i)
      tensors.push_back(view(memory_).slice(i * elements, elements));
    return tensors;
  }

  std::array<float, 32> memory_{};
  std::array<float, 6> chunk_memory_{};
  const TensorView chunk_ = view(chunk_memory_, {2, 3});
  CapturingGang gang_{4, 2};
};

TEST_F(GangGathers, AllGatherTakesAStackOrAConcatenation) {
  const TensorView whole = view(memory_).slice(0, 24);
  gang_.all_gather(whole.reshaped({4, 2, 3}), chunk_);
  gang_.all_gather(whole.reshaped({8, 3}), chunk_);
  for (const test::Sent& sent : gang_.sent)
    EXPECT_EQ(to_string(sent.collective()), "all_gather #0 f32[2,3]") << "the input fixes the size";
}

TEST_F(GangGathers, AllGatherRefusesOtherShapes) {
  const TensorView whole = view(memory_).slice(0, 24);
  for (const Shape& shape : {Shape{24}, Shape{2, 12}, Shape{2, 3, 4}, Shape{4, 6}, Shape{4, 3, 2}})
    EXPECT_THROW(gang_.all_gather(whole.reshaped(shape), chunk_), InvalidArgument)
        << to_string(shape);
  EXPECT_THROW(gang_.all_gather(view(memory_), chunk_), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangGathers, AllGatherOfScalarsTakesAVector) {
  float value = 0;
  gang_.all_gather(view(memory_).slice(0, 4), view_of(value));
  EXPECT_EQ(gang_.sent.size(), 1u);
  EXPECT_THROW(gang_.all_gather(view(memory_).slice(0, 4).reshaped({4, 1}), view_of(value)),
               InvalidArgument);
}

TEST_F(GangGathers, AllGatherRefusesAnInputWithinTheOutput) {
  const TensorView whole = view(memory_).slice(0, 8);
  for (const int place : {0, 4, 6})
    EXPECT_THROW(gang_.all_gather(whole, whole.slice(place, 2)), InvalidArgument) << place;
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangGathers, AllGatherWithCountsTakesAnInputOfItsOwnCount) {
  const std::array<std::int64_t, 4> counts = {3, 0, 2, 4};
  const TensorView whole = view(memory_).slice(0, 9);
  gang_.all_gather(whole, view(chunk_memory_).slice(0, 2), counts);
  EXPECT_EQ(to_string(gang_.only().collective()), "all_gather #0 f32[9]");
  EXPECT_EQ(std::vector<std::int64_t>(gang_.only().extras.output_splits.begin(),
                                      gang_.only().extras.output_splits.end()),
            std::vector<std::int64_t>(counts.begin(), counts.end()));
  const std::array<std::int64_t, 4> others = {2, 1, 2, 4};
  gang_.start_all_gather(whole, view(chunk_memory_).slice(0, 2), others).wait();
  EXPECT_FALSE(gang_.sent[1].collective().blocking);
  EXPECT_NE(gang_.sent[0].collective().detail, gang_.sent[1].collective().detail);
}

TEST_F(GangGathers, AllGatherRefusesCountsThatDoNotFit) {
  const TensorView whole = view(memory_).slice(0, 9);
  const TensorView own = view(chunk_memory_).slice(0, 2);
  const auto refusal = [&](std::vector<std::int64_t> counts, const TensorView& input) {
    return message_of<InvalidArgument>([&] { gang_.all_gather(whole, input, counts); });
  };
  EXPECT_EQ(refusal({3, 2, 4}, own),
            "all_gather on root[0-3]: counts has 3 entries on rank 2; must have 4");
  EXPECT_EQ(
      refusal({3, 0, 2, 5}, own),
      "all_gather on root[0-3]: output f32[9] has 9 elements; must have as many as counts add "
      "up to");
  EXPECT_EQ(refusal({5, -1, 2, 3}, own),
            "all_gather on root[0-3]: an entry of counts is -1; must be 0 or more");
  EXPECT_EQ(refusal({3, 0, 2, 4}, view(chunk_memory_)),
            "all_gather on root[0-3]: input f32[6] has 6 elements; must have 2, as counts[2]");
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangGathers, AllGatherToListTakesSizeTensorsLikeTheInput) {
  gang_.all_gather_to_list(list(4, 6), chunk_);
  EXPECT_EQ(gang_.only().outputs.size(), 4u);
  EXPECT_EQ(gang_.only().collective().shape, chunk_.shape());
  EXPECT_THROW(gang_.all_gather_to_list(list(3, 6), chunk_), InvalidArgument);
  EXPECT_THROW(gang_.all_gather_to_list(list(4, 5), chunk_), InvalidArgument);
  EXPECT_EQ(message_of<InvalidArgument>([&] { gang_.all_gather_to_list({}, chunk_); }),
            "all_gather_to_list on root[0-3]: outputs has 0 entries on rank 2; must have 4");
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangGathers, AListMayHoldTheOtherOperandInThisRanksPlaceOnly) {
  std::vector<TensorView> outputs = list(4, 6);
  gang_.all_gather_to_list(outputs, outputs[2]);
  EXPECT_THROW(gang_.all_gather_to_list(outputs, outputs[1]), InvalidArgument);
  EXPECT_THROW(gang_.all_gather_to_list(outputs, view(memory_).slice(13, 6)), InvalidArgument);
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangGathers, EveryEntryOfAListIsChecked) {
  std::vector<TensorView> outputs = list(4, 6);
  outputs[3] = TensorView(nullptr, DataType::f32, {6});
  EXPECT_THROW(gang_.all_gather_to_list(outputs, chunk_), InvalidArgument);
  outputs[3] = TensorView(memory_.data(), DataType::i32, {6});
  EXPECT_THROW(gang_.all_gather_to_list(outputs, chunk_), InvalidArgument);
  outputs[3] = TensorView(memory_.data(), DataType::f32, {6}, {DeviceType::cuda, 0});
  EXPECT_THROW(gang_.all_gather_to_list(outputs, chunk_), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangGathers, GatherHasAListOnTheDestinationOnly) {
  gang_.gather(list(4, 6), chunk_, 2);
  gang_.gather({}, chunk_, 0);
  EXPECT_EQ(to_string(gang_.sent[0].collective()), "gather #0 f32[2,3] to rank 2");
  EXPECT_EQ(gang_.sent[0].outputs.size(), 4u);
  EXPECT_THROW(gang_.gather({}, chunk_, 2), InvalidArgument);
  EXPECT_THROW(gang_.gather(list(4, 6), chunk_, 0), InvalidArgument);
  EXPECT_THROW(gang_.gather({}, chunk_, 4), InvalidArgument);
  EXPECT_THROW(gang_.start_gather({}, chunk_, -1), InvalidArgument);
  EXPECT_EQ(gang_.sent.size(), 2u);
}

TEST_F(GangGathers, ScatterHasAListOnTheSourceOnly) {
  gang_.scatter(chunk_, list(4, 6), 2);
  gang_.scatter(chunk_, {}, 0);
  EXPECT_EQ(to_string(gang_.sent[0].collective()), "scatter #0 f32[2,3] from rank 2");
  EXPECT_EQ(gang_.sent[0].inputs.size(), 4u);
  EXPECT_EQ(gang_.sent[0].operation.output.data(), chunk_.data());
  EXPECT_THROW(gang_.scatter(chunk_, {}, 2), InvalidArgument);
  EXPECT_THROW(gang_.scatter(chunk_, list(4, 6), 0), InvalidArgument);
  EXPECT_THROW(gang_.scatter(chunk_, list(4, 5), 2), InvalidArgument);
  EXPECT_THROW(gang_.scatter(chunk_, {}, 4), InvalidArgument);
  EXPECT_EQ(gang_.sent.size(), 2u);
}

TEST_F(GangGathers, AllToAllTakesEqualCountsThatDivide) {
  const TensorView output = view(memory_).slice(0, 8);
  const TensorView input = view(memory_).slice(8, 8);
  gang_.all_to_all(output, input.reshaped({4, 2}));
  EXPECT_EQ(gang_.only().collective().count, 8);
  EXPECT_TRUE(gang_.only().extras.input_splits.empty());
  EXPECT_THROW(gang_.all_to_all(output, view(memory_).slice(8, 12)), InvalidArgument);
  EXPECT_THROW(gang_.all_to_all(output.slice(0, 6), input.slice(0, 6)), InvalidArgument)
      << "6 elements for 4 ranks";
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangGathers, AllToAllIsNeverInPlace) {
  const TensorView tensor = view(memory_).slice(0, 8);
  EXPECT_EQ(message_of<InvalidArgument>([&] { gang_.all_to_all(tensor, tensor); }),
            "all_to_all on root[0-3]: output and input overlap; must be disjoint memory");
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangGathers, SplitSizesMayDifferFromRankToRankAndAreNotPartOfTheMatch) {
  const std::array<std::int64_t, 4> output_splits = {1, 0, 4, 0};
  const std::array<std::int64_t, 4> input_splits = {0, 0, 4, 3};
  gang_.all_to_all(view(memory_).slice(0, 5), view(memory_).slice(8, 7),
                   {.output = output_splits, .input = input_splits});
  EXPECT_EQ(gang_.only().collective().count, 0);
  EXPECT_EQ(gang_.only().collective().shape, Shape::vector(0));
  EXPECT_EQ(gang_.only().extras.input_splits.data(), input_splits.data());
  EXPECT_EQ(gang_.only().extras.output_splits.data(), output_splits.data());
}

TEST_F(GangGathers, SplitSizesAddUpToTheTensors) {
  const std::array<std::int64_t, 4> good = {1, 2, 0, 3};
  const TensorView output = view(memory_).slice(0, 6);
  const TensorView input = view(memory_).slice(8, 6);
  gang_.all_to_all(output, input, {.output = good, .input = good});
  const std::vector<std::vector<std::int64_t>> bad = {
      {},
      {1, 2, 3},
      {1, 2, 0, 2},
      {1, 2, 0, 4},
      {-1, 4, 0, 3},
      {1, 2, 0, 3, 0},
      {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(), 8, 0}};
  for (const std::vector<std::int64_t>& splits : bad) {
    EXPECT_THROW(gang_.all_to_all(output, input, {.output = splits, .input = good}),
                 InvalidArgument);
    EXPECT_THROW(gang_.start_all_to_all(output, input, {.output = good, .input = splits}),
                 InvalidArgument);
  }
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangGathers, StartedFormsAreDescribedTheSameWay) {
  const std::vector<TensorView> tensors = list(4, 6);
  const TensorView whole = view(memory_).slice(0, 24).reshaped({8, 3});
  const TensorView left = view(memory_).slice(0, 8);
  const TensorView right = view(memory_).slice(8, 8);
  const std::array<std::int64_t, 4> splits = {2, 2, 2, 2};
  std::vector<Work> works;
  works.push_back(gang_.start_all_gather(whole, chunk_));
  works.push_back(gang_.start_all_gather_to_list(tensors, chunk_));
  works.push_back(gang_.start_gather(tensors, chunk_, 2));
  works.push_back(gang_.start_scatter(chunk_, tensors, 2));
  works.push_back(gang_.start_all_to_all(left, right));
  works.push_back(gang_.start_all_to_all(left, right, {.output = splits, .input = splits}));
  gang_.all_gather(whole, chunk_);
  gang_.all_gather_to_list(tensors, chunk_);
  gang_.gather(tensors, chunk_, 2);
  gang_.scatter(chunk_, tensors, 2);
  gang_.all_to_all(left, right);
  gang_.all_to_all(left, right, {.output = splits, .input = splits});
  for (std::size_t i = 0; i < works.size(); ++i) {
    EXPECT_EQ(to_string(gang_.sent[i].collective()),
              to_string(gang_.sent[i + works.size()].collective()));
    EXPECT_FALSE(gang_.sent[i].collective().blocking);
  }
}

}  // namespace
}  // namespace gang
