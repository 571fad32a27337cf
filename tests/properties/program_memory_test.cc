#include "properties/program_memory.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

GangProgram two_ranks(const Step& step) {
  GangProgram program;
  program.world = 2;
  program.steps = {step};
  return program;
}

TEST(ProgramMemory, GivesEachRankTheBuffersOfItsPart) {
  const GangProgram program = two_ranks({.kind = OperationKind::scatter, .count = 3, .root = 1});
  const ProgramMemory memory(program);
  EXPECT_EQ(memory.place(0, 0).input.count, 0);
  EXPECT_EQ(memory.place(0, 1).input.count, 6);
  EXPECT_EQ(memory.place(0, 0).output.count, 3);
  EXPECT_EQ(memory.place(0, 1).size(), 2);
}

TEST(ProgramMemory, SharesTheBufferOfAnOperationInPlace) {
  const GangProgram program = two_ranks({.kind = OperationKind::all_reduce, .in_place = true});
  const ProgramMemory memory(program);
  EXPECT_EQ(memory.place(0, 0).input, memory.place(0, 0).output);
}

TEST(ProgramMemory, LeavesOutRanksThatAreInNoGang) {
  GangProgram program = two_ranks({.node = 1, .kind = OperationKind::barrier});
  program.nodes.push_back(
      {.making = Making::create_gang, .parent = 0, .ranks = {1}, .colors = {}, .keys = {}});
  const ProgramMemory memory(program);
  EXPECT_FALSE(memory.place(0, 0).takes_part());
  EXPECT_TRUE(memory.place(0, 1).takes_part());
}

TEST(ProgramMemory, RanksHoldDifferentOrEqualInputs) {
  const GangProgram program =
      two_ranks({.kind = OperationKind::all_gather, .data_type = DataType::u64, .count = 4});
  const auto inputs = [&program](Inputs kind) {
    const ProgramMemory memory(program, kind);
    const Image image = memory.initial_image();
    return std::pair{read(image, memory.place(0, 0).input, DataType::u64),
                     read(image, memory.place(0, 1).input, DataType::u64)};
  };
  EXPECT_NE(inputs(Inputs::differ).first, inputs(Inputs::differ).second);
  EXPECT_EQ(inputs(Inputs::equal).first, inputs(Inputs::equal).second);
}

TEST(ProgramMemory, NamesTheElementThatDiffers) {
  const GangProgram program = two_ranks({.kind = OperationKind::broadcast, .count = 4, .root = 0});
  const ProgramMemory memory(program);
  const Image expected = memory.initial_image();
  EXPECT_FALSE(memory.first_difference(expected, expected));
  Image actual = expected;
  actual[memory.place(0, 1).input.offset + 2 * sizeof(std::int32_t)] ^= std::byte{1};
  const auto difference = memory.first_difference(expected, actual);
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, ::testing::HasSubstr("step 0: element 2 of the input of rank 1"));
}

TEST(ProgramMemory, FindsAWriteBesideTheBuffers) {
  const GangProgram program = two_ranks({.kind = OperationKind::broadcast, .count = 4});
  const ProgramMemory memory(program);
  const Image expected = memory.initial_image();
  Image actual = expected;
  actual[memory.place(0, 0).input.offset + 4 * sizeof(std::int32_t)] ^= std::byte{1};
  const auto difference = memory.first_difference(expected, actual);
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, ::testing::HasSubstr("belongs to no buffer"));
}

TEST(ProgramMemory, AllowsTheRoundingOfAnInexactMeanAndNoMore) {
  GangProgram program = two_ranks({.kind = OperationKind::all_reduce,
                                   .data_type = DataType::f32,
                                   .reduce_operation = ReduceOperation::mean,
                                   .in_place = true});
  program.world = 3;
  const ProgramMemory memory(program);
  Image expected = memory.initial_image();
  const Region region = memory.place(0, 0).output;
  write(expected, region, DataType::f32, {model::encode(1, DataType::f32)});
  Image actual = expected;
  write(actual, region, DataType::f32, {model::encode(1 + 0x1p-23, DataType::f32)});
  EXPECT_FALSE(memory.first_difference(expected, actual));
  write(actual, region, DataType::f32, {model::encode(1.01, DataType::f32)});
  EXPECT_TRUE(memory.first_difference(expected, actual));
}

TEST(ProgramMemory, FloatingPointInputsAreSmallIntegersOrFactors) {
  Step step{.kind = OperationKind::all_reduce, .data_type = DataType::bf16};
  for (std::uint64_t hash = 0; hash < 100; ++hash) {
    const double value = model::decode(input_word(hash, step), DataType::bf16);
    EXPECT_EQ(value, static_cast<int>(value));
    EXPECT_LE(std::abs(value), 3);
  }
  step.reduce_operation = ReduceOperation::product;
  for (std::uint64_t hash = 0; hash < 100; ++hash) {
    EXPECT_NE(model::decode(input_word(hash, step), DataType::bf16), 0);
  }
}

}  // namespace
}  // namespace gang::properties
