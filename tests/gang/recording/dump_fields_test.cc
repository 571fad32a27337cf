#include "gang/recording/dump_fields.h"

#include <gtest/gtest.h>

namespace gang::dump_fields {
namespace {

TEST(DumpFields, EveryTypeHasAName) {
  for (const DataType type : all_data_types) EXPECT_EQ(type_named(name_of_type(type)), type);
  EXPECT_EQ(name_of_type(DataType::f32), "Float");
  EXPECT_EQ(type_named("Float8_e4m3fn"), std::nullopt);
}

TEST(DumpFields, OperationsHaveSeveralNames) {
  EXPECT_EQ(operation_named("_all_gather_base"), OperationKind::all_gather);
  EXPECT_EQ(operation_named("all_reduce_barrier"), OperationKind::barrier);
  EXPECT_EQ(operation_named("coalesced"), OperationKind::batch);
  EXPECT_EQ(operation_named("new_window"), std::nullopt);
}

}  // namespace
}  // namespace gang::dump_fields
