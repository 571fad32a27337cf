#include "gang/data_type.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gang/half.h"

namespace gang {
namespace {

TEST(DataType, TextsAreUniqueAndParseBack) {
  std::set<std::string> texts;
  for (const DataType type : all_data_types) {
    const std::string text(to_string(type));
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_EQ(parse_data_type(text), type);
  }
  EXPECT_EQ(texts.size(), 11u);
}

TEST(DataType, OtherTextsAreNotTypes) {
  for (const char* text : {"", "F32", "f32 ", "float", "u16", "unknown"})
    EXPECT_EQ(parse_data_type(text), std::nullopt) << text;
}

template <typename T>
void expect_type(DataType type, const char* text) {
  EXPECT_EQ(DataTypeOf<T>::value, type);
  EXPECT_EQ(size_bytes(type), sizeof(T)) << text;
  EXPECT_EQ(to_string(type), text);
}

TEST(DataType, EachHasACppTypeOfItsSizeAndAName) {
  expect_type<bool>(DataType::boolean, "bool");
  expect_type<std::uint8_t>(DataType::u8, "u8");
  expect_type<std::int8_t>(DataType::i8, "i8");
  expect_type<std::int32_t>(DataType::i32, "i32");
  expect_type<std::uint32_t>(DataType::u32, "u32");
  expect_type<std::int64_t>(DataType::i64, "i64");
  expect_type<std::uint64_t>(DataType::u64, "u64");
  expect_type<f16>(DataType::f16, "f16");
  expect_type<bf16>(DataType::bf16, "bf16");
  expect_type<float>(DataType::f32, "f32");
  expect_type<double>(DataType::f64, "f64");
}

TEST(DataType, FourAreFloatingPoint) {
  for (const DataType type : all_data_types)
    EXPECT_EQ(is_floating_point(type), to_string(type).find('f') != std::string::npos);
}

}  // namespace
}  // namespace gang
