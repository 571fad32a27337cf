#include "gang/reduce_operation.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(ReduceOperation, TextsAreUniqueAndParseBack) {
  std::set<std::string> texts;
  for (const ReduceOperation operation : all_reduce_operations) {
    const std::string text(to_string(operation));
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_EQ(parse_reduce_operation(text), operation);
  }
  EXPECT_EQ(texts,
            (std::set<std::string>{"sum", "mean", "product", "min", "max", "band", "bor", "bxor"}));
  EXPECT_EQ(parse_reduce_operation("avg"), std::nullopt);
  EXPECT_EQ(parse_reduce_operation(""), std::nullopt);
}

TEST(ReduceOperation, BitwiseOnesAreDefinedOnIntegersAndBoolOnly) {
  for (const ReduceOperation operation :
       {ReduceOperation::bitwise_and, ReduceOperation::bitwise_or, ReduceOperation::bitwise_xor})
    for (const DataType type : all_data_types)
      EXPECT_EQ(is_defined(operation, type), !is_floating_point(type))
          << to_string(operation) << " " << to_string(type);
}

TEST(ReduceOperation, ArithmeticIsDefinedOnEverythingButBool) {
  for (const ReduceOperation operation :
       {ReduceOperation::sum, ReduceOperation::mean, ReduceOperation::product})
    for (const DataType type : all_data_types)
      EXPECT_EQ(is_defined(operation, type), type != DataType::boolean)
          << to_string(operation) << " " << to_string(type);
}

TEST(ReduceOperation, MinAndMaxAreDefinedOnEverything) {
  for (const DataType type : all_data_types) {
    EXPECT_TRUE(is_defined(ReduceOperation::min, type));
    EXPECT_TRUE(is_defined(ReduceOperation::max, type));
  }
}

}  // namespace
}  // namespace gang
