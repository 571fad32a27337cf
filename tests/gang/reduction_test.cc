#include "gang/reduction.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "gang/half.h"

namespace gang {
namespace {

__extension__ typedef __int128 Int128;

template <typename T>
constexpr bool is_float =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// One step, implemented a second time: in 128 bits for integers, and for the half types in f32 with
// one rounding.
template <typename T>
T naive_step(ReduceOperation operation, T a, T b) {
  using Wide =
      std::conditional_t<is_float<T>, std::conditional_t<sizeof(T) == 2, float, T>, Int128>;
  const Wide x = static_cast<Wide>(a);
  const Wide y = static_cast<Wide>(b);
  switch (operation) {
    case ReduceOperation::sum:
    case ReduceOperation::mean:
      return static_cast<T>(x + y);
    case ReduceOperation::product:
      return static_cast<T>(x * y);
    case ReduceOperation::min:
      return x < y ? a : b;
    case ReduceOperation::max:
      return x < y ? b : a;
    default:
      break;
  }
  if constexpr (!is_float<T>) {
    if (operation == ReduceOperation::bitwise_and) return static_cast<T>(x & y);
    if (operation == ReduceOperation::bitwise_or) return static_cast<T>(x | y);
    return static_cast<T>(x ^ y);
  }
  return T{};
}

template <typename T>
T naive_reduction(ReduceOperation operation, const std::vector<std::vector<T>>& inputs,
                  std::size_t i) {
  const int size = static_cast<int>(inputs.size());
  const auto value = [&](std::size_t rank) {
    if constexpr (is_float<T>) {
      if (operation == ReduceOperation::mean)
        return static_cast<T>(inputs[rank][i] * static_cast<T>(static_cast<T>(1) / T(size)));
    }
    return inputs[rank][i];
  };
  T result = value(0);
  for (std::size_t rank = 1; rank < inputs.size(); ++rank)
    result = naive_step(operation, result, value(rank));
  if constexpr (!is_float<T>) {
    if (operation == ReduceOperation::mean)
      result = static_cast<T>(static_cast<Int128>(result) / size);
  }
  return result;
}

// Values of all magnitudes and, for integers, at both ends of the range.
template <typename T>
std::vector<T> values_of(std::size_t count, unsigned seed) {
  std::vector<T> values;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if constexpr (is_float<T>)
      values.push_back(static_cast<T>(static_cast<float>(static_cast<std::int64_t>(state >> 40)) /
                                          static_cast<float>(1 << 20) -
                                      8.0f));
    else
      values.push_back(static_cast<T>(state >> 24));
  }
  return values;
}

template <typename T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Those that this processor has.
std::vector<VectorWidth> vector_widths() {
  if (best_vector_width() == VectorWidth::baseline) return {VectorWidth::baseline};
  return {VectorWidth::baseline, best_vector_width()};
}

template <typename T>
class Reduction : public testing::Test {
 protected:
  static constexpr DataType type = DataTypeOf<T>::value;

  static std::vector<std::vector<T>> inputs_of(int size, std::size_t count) {
    std::vector<std::vector<T>> inputs;
    for (int rank = 0; rank < size; ++rank)
      inputs.push_back(values_of<T>(count, static_cast<unsigned>(rank + 1)));
    return inputs;
  }

  static std::vector<const void*> pointers_of(const std::vector<std::vector<T>>& inputs) {
    std::vector<const void*> pointers;
    for (const std::vector<T>& input : inputs) pointers.push_back(input.data());
    return pointers;
  }

  static void expect_naive(ReduceOperation operation, const std::vector<std::vector<T>>& inputs,
                           const std::vector<T>& output) {
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_TRUE(same_bits(output[i], naive_reduction(operation, inputs, i)))
          << to_string(operation) << " " << to_string(type) << " element " << i << " of "
          << output.size() << ", " << inputs.size() << " ranks";
  }
};

using Types = testing::Types<std::uint8_t, std::int8_t, std::int32_t, std::uint32_t, std::int64_t,
                             std::uint64_t, f16, bf16, float, double>;
TYPED_TEST_SUITE(Reduction, Types);

TYPED_TEST(Reduction, ABlockEqualsTheNaiveReductionInRankOrder) {
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, this->type)) continue;
    for (const int size : {1, 2, 3, 7}) {
      for (const std::size_t count : {0u, 1u, 5u, 64u, 1000u, 5000u}) {
        const auto inputs = this->inputs_of(size, count);
        for (const VectorWidth width : vector_widths()) {
          std::vector<TypeParam> output(count);
          reduce_block(operation, this->type, output.data(), this->pointers_of(inputs).data(), size,
                       count, 0, width);
          this->expect_naive(operation, inputs, output);
        }
      }
    }
  }
}

TYPED_TEST(Reduction, ABlockMayBeginAnywhereInTheInputs) {
  const auto inputs = this->inputs_of(3, 1200);
  const auto pointers = this->pointers_of(inputs);
  std::vector<TypeParam> output(1200);
  for (std::size_t first = 0, count = 1; first < 1200; first += count, count = 2 * count + 1) {
    count = std::min(count, 1200 - first);
    reduce_block(ReduceOperation::max, this->type, output.data() + first, pointers.data(), 3, count,
                 first);
  }
  this->expect_naive(ReduceOperation::max, inputs, output);
}

TYPED_TEST(Reduction, TheOutputOfABlockMayBeAnyOfTheInputs) {
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, this->type)) continue;
    for (const std::size_t place : {0u, 1u, 2u}) {
      for (const std::size_t count : {3u, 4000u}) {
        const auto inputs = this->inputs_of(3, count);
        auto memory = inputs;
        reduce_block(operation, this->type, memory[place].data(), this->pointers_of(memory).data(),
                     3, count);
        this->expect_naive(operation, inputs, memory[place]);
      }
    }
  }
}

TYPED_TEST(Reduction, StepByStepEqualsABlock) {
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, this->type)) continue;
    auto inputs = this->inputs_of(5, 100);
    std::vector<TypeParam> block(100);
    reduce_block(operation, this->type, block.data(), this->pointers_of(inputs).data(), 5, 100);
    const bool is_mean = operation == ReduceOperation::mean;
    for (auto& input : inputs)
      if (is_mean) scale_for_mean(this->type, input.data(), 100, 5);
    std::vector<TypeParam> steps = inputs[0];
    for (std::size_t rank = 1; rank < 5; ++rank)
      combine(operation, this->type, steps.data(), inputs[rank].data(), 100);
    if (is_mean) finish_mean(this->type, steps.data(), 100, 5);
    EXPECT_EQ(std::memcmp(steps.data(), block.data(), 100 * sizeof(TypeParam)), 0)
        << to_string(operation);
  }
}

// Also of infinities, subnormal numbers and NaNs, on either side or both.
TYPED_TEST(Reduction, EveryVectorWidthGivesTheSameBits) {
  constexpr std::size_t count = 2003;
  constexpr std::uint64_t nan = 0x7ff07f807ff07f80;  // of every floating-point type
  std::array<std::vector<TypeParam>, 2> inputs;
  std::uint64_t state = 17;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    inputs[rank].resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t bits = (state >> 32 | state << 32) | (i % (3 + 2 * rank) == 0 ? nan : 0);
      std::memcpy(static_cast<void*>(&inputs[rank][i]), &bits, sizeof(TypeParam));
    }
  }
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, this->type)) continue;
    std::vector<TypeParam> expected = inputs[0];
    combine(operation, this->type, expected.data(), inputs[1].data(), count, VectorWidth::baseline);
    for (const VectorWidth width : vector_widths()) {
      std::vector<TypeParam> result = inputs[0];
      combine(operation, this->type, result.data(), inputs[1].data(), count, width);
      EXPECT_EQ(std::memcmp(result.data(), expected.data(), count * sizeof(TypeParam)), 0)
          << to_string(operation);
    }
  }
}

TYPED_TEST(Reduction, OneRankIsTheIdentity) {
  const auto inputs = this->inputs_of(1, 50);
  for (const ReduceOperation operation : all_reduce_operations) {
    if (!is_defined(operation, this->type)) continue;
    std::vector<TypeParam> output(50);
    reduce_block(operation, this->type, output.data(), this->pointers_of(inputs).data(), 1, 50);
    EXPECT_EQ(std::memcmp(output.data(), inputs[0].data(), 50 * sizeof(TypeParam)), 0)
        << to_string(operation);
  }
}

template <typename T>
T reduced(ReduceOperation operation, std::vector<T> values) {
  std::vector<const void*> pointers;
  for (const T& value : values) pointers.push_back(&value);
  T output{};
  reduce_block(operation, DataTypeOf<T>::value, &output, pointers.data(),
               static_cast<int>(values.size()), 1);
  return output;
}

TEST(ReductionOfIntegers, WrapsAround) {
  EXPECT_EQ(reduced<std::int8_t>(ReduceOperation::sum, {127, 1}), -128);
  EXPECT_EQ(reduced<std::uint8_t>(ReduceOperation::sum, {255, 2}), 1);
  EXPECT_EQ(reduced<std::int8_t>(ReduceOperation::product, {-128, -1}), -128);
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reduced<std::int64_t>(ReduceOperation::sum, {most, 1}),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reduced<std::int32_t>(ReduceOperation::product, {65536, 65536}), 0);
}

TEST(ReductionOfIntegers, MeanSumsWithWrapAroundThenDividesTruncatingTowardZero) {
  EXPECT_EQ(reduced<std::int32_t>(ReduceOperation::mean, {-1, -2}), -1);
  EXPECT_EQ(reduced<std::int32_t>(ReduceOperation::mean, {1, 2}), 1);
  EXPECT_EQ(reduced<std::int8_t>(ReduceOperation::mean, {100, 100, 100}), 14) << "300 wraps to 44";
  EXPECT_EQ(reduced<std::uint64_t>(ReduceOperation::mean, {~std::uint64_t{0}, 0}),
            ~std::uint64_t{0} / 2);
}

TEST(ReductionOfFloats, MeanMultipliesByTheRoundedReciprocalThenSums) {
  const float third = 1.0f / 3.0f;
  const std::vector<float> values = {5.0f, 7.0f, 11.0f};
  EXPECT_EQ(reduced<float>(ReduceOperation::mean, values),
            (5.0f * third + 7.0f * third) + 11.0f * third);
}

TEST(ReductionOfFloats, HalfTypesRoundAfterEveryStep) {
  EXPECT_EQ(static_cast<float>(reduced<f16>(ReduceOperation::sum, {f16(2048), f16(1), f16(1)})),
            2048.0f);
  EXPECT_EQ(static_cast<float>(reduced<bf16>(ReduceOperation::sum, {bf16(256), bf16(1), bf16(1)})),
            256.0f);
}

TEST(ReductionOfFloats, MinAndMaxAreNanIfAnyValueIs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOperation operation : {ReduceOperation::min, ReduceOperation::max}) {
    EXPECT_TRUE(std::isnan(reduced<float>(operation, {nan, 1, 2})));
    EXPECT_TRUE(std::isnan(reduced<float>(operation, {1, nan, 2})));
    EXPECT_TRUE(std::isnan(reduced<float>(operation, {1, 2, nan})));
    EXPECT_TRUE(std::isnan(static_cast<float>(reduced<bf16>(operation, {bf16(1), bf16(nan)}))));
  }
}

TEST(ReductionOfFloats, MinAndMaxKeepTheFirstOfEqualValues) {
  for (const ReduceOperation operation : {ReduceOperation::min, ReduceOperation::max}) {
    EXPECT_TRUE(std::signbit(reduced<float>(operation, {-0.0f, 0.0f})));
    EXPECT_FALSE(std::signbit(reduced<float>(operation, {0.0f, -0.0f})));
  }
}

TEST(ReductionOfBool, MinIsAndMaxIsOr) {
  const bool yes = true;
  const bool no = false;
  const std::vector<const void*> pointers = {&yes, &no};
  const auto result = [&pointers](ReduceOperation operation) {
    bool output = false;
    reduce_block(operation, DataType::boolean, &output, pointers.data(), 2, 1);
    return output;
  };
  EXPECT_FALSE(result(ReduceOperation::min));
  EXPECT_TRUE(result(ReduceOperation::max));
  EXPECT_FALSE(result(ReduceOperation::bitwise_and));
  EXPECT_TRUE(result(ReduceOperation::bitwise_or));
  EXPECT_TRUE(result(ReduceOperation::bitwise_xor));
}

TEST(Reduction, OfStridedInputsIsThatOfABlock) {
  struct Slot {
    std::array<float, 2> values;
    std::array<float, 2> unused;
  };
  const std::array<Slot, 3> slots = {{{{1, 2}, {}}, {{10, 20}, {}}, {{5, -7}, {}}}};
  const std::array<const void*, 3> inputs = {&slots[0], &slots[1], &slots[2]};
  for (const ReduceOperation operation : {ReduceOperation::sum, ReduceOperation::mean,
                                          ReduceOperation::max, ReduceOperation::product}) {
    std::array<float, 2> strided{};
    std::array<float, 2> block{};
    reduce_strided(operation, DataType::f32, strided.data(), &slots, sizeof(Slot), 3, 2);
    reduce_block(operation, DataType::f32, block.data(), inputs.data(), 3, 2);
    EXPECT_EQ(strided, block) << to_string(operation);
  }
}

}  // namespace
}  // namespace gang
