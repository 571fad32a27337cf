// How all_reduce, reduce, reduce_scatter and the scans reach a backend, and which calls never do.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;

constexpr ReduceOperation sum = ReduceOperation::sum;

class GangReductions : public testing::Test {
 protected:
  std::array<float, 8> memory_{};
  const TensorView input_ = view(memory_).slice(0, 4).reshaped({2, 2});
  const TensorView output_ = view(memory_).slice(4, 4);
  CapturingGang gang_{4, 2};
};

TEST_F(GangReductions, AllReduceDescribesItself) {
  gang_.all_reduce(input_, ReduceOperation::max);
  const Collective& collective = gang_.only().collective();
  EXPECT_EQ(to_string(collective), "all_reduce #0 max f32[2,2]");
  EXPECT_EQ(collective.count, 4);
  EXPECT_EQ(collective.peer, no_rank);
}

TEST_F(GangReductions, InPlaceTheInputIsTheOutput) {
  gang_.all_reduce(input_, sum);
  EXPECT_EQ(gang_.only().operation.input.data(), input_.data());
  EXPECT_EQ(gang_.only().operation.output.data(), input_.data());
}

TEST_F(GangReductions, OutOfPlaceTheyDiffer) {
  gang_.all_reduce(output_, input_, sum);
  EXPECT_EQ(gang_.only().operation.input.data(), input_.data());
  EXPECT_EQ(gang_.only().operation.output.data(), output_.data());
  EXPECT_EQ(gang_.only().collective().shape, input_.shape());
}

TEST_F(GangReductions, ReduceHasAnOutputOnTheDestinationOnly) {
  gang_.reduce(input_, sum, 1);
  EXPECT_EQ(gang_.only().collective().peer, 1);
  EXPECT_EQ(gang_.only().operation.input.data(), input_.data());
  EXPECT_EQ(gang_.only().operation.output.count(), 0);
}

TEST_F(GangReductions, ReduceOnTheDestinationIsInPlace) {
  gang_.reduce(input_, sum, 2);
  EXPECT_EQ(gang_.only().operation.output.data(), input_.data());
}

TEST_F(GangReductions, ReduceUsesAnOutputOnTheDestinationOnly) {
  const TensorView bad = output_.slice(0, 3);
  gang_.reduce(bad, input_, sum, 0);
  EXPECT_EQ(gang_.only().operation.output.count(), 0);
  EXPECT_THROW(gang_.reduce(bad, input_, sum, 2), InvalidArgument);
  EXPECT_EQ(gang_.sent.size(), 1u);
  gang_.reduce(output_, input_, sum, 2);
  EXPECT_EQ(gang_.sent[1].operation.output.data(), output_.data());
}

TEST_F(GangReductions, DestinationsOutsideTheGangAreRefused) {
  for (const int rank : {-1, 4}) {
    EXPECT_THROW(gang_.reduce(input_, sum, rank), InvalidArgument);
    EXPECT_THROW(gang_.start_reduce(output_, input_, sum, rank), InvalidArgument);
  }
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangReductions, ReduceScatterTakesAStackOrAConcatenation) {
  std::array<float, 24> whole{};
  std::array<float, 6> chunk{};
  const TensorView output = view(chunk, {2, 3});
  gang_.reduce_scatter(output, view(whole, {4, 2, 3}), sum);
  gang_.reduce_scatter(output, view(whole, {8, 3}), sum);
  for (const test::Sent& sent : gang_.sent)
    EXPECT_EQ(to_string(sent.collective()), "reduce_scatter #0 sum f32[2,3]")
        << "the output fixes the size";
}

TEST_F(GangReductions, ReduceScatterRefusesOtherShapes) {
  std::array<float, 24> whole{};
  std::array<float, 6> chunk{};
  const TensorView output = view(chunk, {2, 3});
  for (const Shape& shape : {Shape{24}, Shape{2, 12}, Shape{3, 8}, Shape{2, 4, 3}, Shape{4, 6},
                             Shape{4, 3, 2}, Shape{1, 8, 3}})
    EXPECT_THROW(gang_.reduce_scatter(output, view(whole, shape), sum), InvalidArgument)
        << to_string(shape);
  EXPECT_EQ(
      test::message_of<InvalidArgument>([&] { gang_.reduce_scatter(output, view(whole), sum); }),
      "reduce_scatter on root[0-3]: input f32[24] does not hold 4 chunks f32[2,3]; must be "
      "[4, *chunk] or the chunks concatenated along dimension 0");
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangReductions, ReduceScatterRefusesElementsThatDoNotMakeWholeChunks) {
  std::array<float, 9> whole{};
  std::array<float, 2> chunk{};
  EXPECT_THROW(gang_.reduce_scatter(view(chunk), view(whole), sum), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangReductions, ReduceScatterOfScalarsTakesAVector) {
  std::array<float, 4> whole{};
  float chunk = 0;
  gang_.reduce_scatter(view_of(chunk), view(whole), sum);
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangReductions, ReduceScatterRefusesAnOutputWithinTheInput) {
  for (const int place : {0, 2, 6})
    EXPECT_THROW(gang_.reduce_scatter(view(memory_).slice(place, 2), view(memory_), sum),
                 InvalidArgument)
        << place;
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangReductions, ScansDescribeThemselves) {
  gang_.scan(input_, ReduceOperation::max);
  gang_.exclusive_scan(output_, input_, sum);
  EXPECT_EQ(to_string(gang_.sent[0].collective()), "scan #0 max f32[2,2]");
  EXPECT_EQ(gang_.sent[0].operation.output.data(), input_.data());
  EXPECT_EQ(to_string(gang_.sent[1].collective()), "exclusive_scan #0 sum f32[2,2]");
  EXPECT_EQ(gang_.sent[1].operation.output.data(), output_.data());
}

TEST_F(GangReductions, TheFirstRankOfAnExclusiveScanGetsNothing) {
  CapturingGang first{4, 0};
  first.exclusive_scan(output_, input_, sum);
  EXPECT_EQ(first.only().operation.input.data(), input_.data());
  EXPECT_EQ(first.only().operation.output.count(), 0);
  EXPECT_THROW(first.exclusive_scan(output_.slice(0, 3), input_, sum), InvalidArgument);
}

TEST_F(GangReductions, ScansHaveNoMean) {
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang_.scan(input_, ReduceOperation::mean); }),
            "scan on root[0-3]: mean is not defined for a scan; use sum, and divide");
  EXPECT_THROW(gang_.start_exclusive_scan(input_, ReduceOperation::mean), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangReductions, StartedFormsAreDescribedTheSameWay) {
  std::array<float, 16> whole{};
  std::vector<Work> works;
  works.push_back(gang_.start_all_reduce(input_, sum));
  works.push_back(gang_.start_all_reduce(output_, input_, sum));
  works.push_back(gang_.start_reduce(input_, sum, 1));
  works.push_back(gang_.start_reduce(output_, input_, sum, 2));
  works.push_back(gang_.start_reduce_scatter(output_, view(whole), sum));
  works.push_back(gang_.start_scan(input_, sum));
  works.push_back(gang_.start_scan(output_, input_, sum));
  works.push_back(gang_.start_exclusive_scan(input_, sum));
  works.push_back(gang_.start_exclusive_scan(output_, input_, sum));
  gang_.all_reduce(input_, sum);
  gang_.all_reduce(output_, input_, sum);
  gang_.reduce(input_, sum, 1);
  gang_.reduce(output_, input_, sum, 2);
  gang_.reduce_scatter(output_, view(whole), sum);
  gang_.scan(input_, sum);
  gang_.scan(output_, input_, sum);
  gang_.exclusive_scan(input_, sum);
  gang_.exclusive_scan(output_, input_, sum);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Collective& started = gang_.sent[i].collective();
    const Collective& blocking = gang_.sent[i + works.size()].collective();
    EXPECT_EQ(to_string(started), to_string(blocking));
    EXPECT_FALSE(started.blocking);
    EXPECT_TRUE(blocking.blocking);
  }
}

}  // namespace
}  // namespace gang
