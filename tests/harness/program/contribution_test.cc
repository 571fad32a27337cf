#include "harness/program/contribution.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gang/reduction.h"

namespace gang::harness {
namespace {

struct ContributionCase {
  DataType type;
  ReduceOperation operation;
};

std::vector<ContributionCase> every_case() {
  std::vector<ContributionCase> cases;
  for (const DataType type : all_data_types) {
    for (const ReduceOperation operation : all_reduce_operations) {
      if (is_defined(operation, type)) cases.push_back({type, operation});
    }
  }
  return cases;
}

class Contributions : public testing::TestWithParam<ContributionCase> {
 protected:
  static constexpr std::int64_t count = 11;

  TensorView make() {
    auto& memory = memory_.emplace_back(count * 8);
    return {memory.data(), GetParam().type, Shape::vector(count)};
  }

  // The contributions of all ranks, reduced as the library does it.
  TensorView reduced(int size) {
    std::vector<const void*> inputs;
    for (int rank = 0; rank < size; ++rank) {
      const TensorView tensor = make();
      fill_contribution(tensor, GetParam().operation, rank);
      inputs.push_back(tensor.data());
    }
    const TensorView result = make();
    reduce_block(GetParam().operation, GetParam().type, result.data(), inputs.data(), size, count);
    return result;
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
};

TEST_P(Contributions, ReduceToWhatIsExpected) {
  for (const int size : {1, 2, 3, 4, 5, 9, 64}) {
    EXPECT_TRUE(is_reduction(reduced(size), GetParam().operation, size)) << size;
  }
}

TEST_P(Contributions, TellAWrongReduction) {
  const TensorView result = reduced(3);
  result.data()[result.size_bytes() - 1] ^= std::byte{0x55};
  EXPECT_FALSE(is_reduction(result, GetParam().operation, 3));
}

TEST_P(Contributions, HaveChunks) {
  const TensorView result = reduced(4);
  EXPECT_TRUE(is_reduction(result.slice(4, 5), GetParam().operation, 4, 4));
}

// A mean is divided by the number of ranks.
class ContributionsBesidesMeans : public Contributions {};

// So a sum stays small, and exact, however many ranks there are.
TEST_P(ContributionsBesidesMeans, OfAllButFourRanksChangeNothing) {
  const TensorView of_four = reduced(4);
  const TensorView of_many = reduced(64);
  for (std::int64_t i = 0; i < count; ++i)
    EXPECT_EQ(read_element(of_many, i), read_element(of_four, i)) << i;
}

std::string name_of_case(const testing::TestParamInfo<ContributionCase>& tested) {
  return std::string{to_string(tested.param.type)} + "_" +
         std::string{to_string(tested.param.operation)};
}

std::vector<ContributionCase> cases_besides_means() {
  std::vector<ContributionCase> cases = every_case();
  std::erase_if(cases,
                [](const ContributionCase& one) { return one.operation == ReduceOperation::mean; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Contribution, Contributions, testing::ValuesIn(every_case()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Contribution, ContributionsBesidesMeans,
                         testing::ValuesIn(cases_besides_means()), name_of_case);

TEST(IsReduction, NoticesAMissingRank) {
  std::vector<float> sum = {1 + 2 + 3, 2 + 3 + 1, 3 + 1 + 2};
  EXPECT_TRUE(is_reduction(view(sum), ReduceOperation::sum, 3));
  EXPECT_FALSE(is_reduction(view(sum), ReduceOperation::sum, 2));
}

TEST(IsReduction, HoldsForNoElements) {
  EXPECT_TRUE(is_reduction(TensorView{}, ReduceOperation::sum, 3));
}

// Two ranks contribute 1, 2, 3, ... and 2, 3, 1, ...
TEST(IsReduction, AMeanMayBeRoundedAndASumMayNot) {
  std::vector<float> mean = {1.5F, 2.5F, 2.0F, 1.5F};
  EXPECT_TRUE(is_reduction(view(mean), ReduceOperation::mean, 2));
  mean[1] = std::nextafter(mean[1], 3.0F);
  EXPECT_TRUE(is_reduction(view(mean), ReduceOperation::mean, 2));
  mean[1] = 2.501F;
  EXPECT_FALSE(is_reduction(view(mean), ReduceOperation::mean, 2));
  std::vector<float> sum = {3.0F, 5.0F, 4.0F, 3.0F};
  EXPECT_TRUE(is_reduction(view(sum), ReduceOperation::sum, 2));
  sum[1] = std::nextafter(sum[1], 6.0F);
  EXPECT_FALSE(is_reduction(view(sum), ReduceOperation::sum, 2));
}

TEST(IsReduction, OfAMeanRoundsAsItsTypeDoes) {
  std::vector<std::uint16_t> mean = {0x3FC0, 0x4020, 0x4000};  // 1.5, 2.5 and 2 in bf16
  const TensorView tensor{mean.data(), DataType::bf16, Shape::vector(3)};
  EXPECT_TRUE(is_reduction(tensor, ReduceOperation::mean, 2));
  ++mean[0];
  EXPECT_TRUE(is_reduction(tensor, ReduceOperation::mean, 2));
  mean[0] += 16;
  EXPECT_FALSE(is_reduction(tensor, ReduceOperation::mean, 2));
}

TEST(IsReduction, WhatIsNoNumberIsNoMean) {
  std::vector<float> mean = {1.5F, 2.5F, 2.0F};
  mean[1] = std::nanf("");
  EXPECT_FALSE(is_reduction(view(mean), ReduceOperation::mean, 2));
}

}  // namespace
}  // namespace gang::harness
