#include "properties/program_memory.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

struct Meaning {
  model::Ranks inputs;
  model::Ranks outputs;
};

// What a one-step program of i32 means on a world of three.
Meaning meaning_of(Step step) {
  GangProgram program;
  program.world = 3;
  program.steps = {step};
  const ProgramMemory memory(program);
  const Image before = memory.initial_image();
  const Image after = expected_image(memory);
  Meaning meaning;
  for (int rank = 0; rank < 3; ++rank) {
    meaning.inputs.push_back(read(before, memory.place(0, rank).input, DataType::i32));
    meaning.outputs.push_back(read(after, memory.place(0, rank).output, DataType::i32));
  }
  return meaning;
}

TEST(ProgramMeaning, FollowsTheModelOnTheGangOfTheStep) {
  const Meaning meaning = meaning_of({.kind = OperationKind::all_gather, .count = 2});
  EXPECT_EQ(meaning.outputs, model::all_gather(meaning.inputs));
}

TEST(ProgramMeaning, ASendReachesItsDestinationOnly) {
  const Meaning meaning =
      meaning_of({.kind = OperationKind::send, .count = 2, .root = 1, .peer = 2});
  EXPECT_EQ(meaning.outputs[2], meaning.inputs[1]);
  EXPECT_TRUE(meaning.outputs[0].empty());
}

TEST(ProgramMeaning, ABatchIsARing) {
  const Meaning meaning = meaning_of({.kind = OperationKind::batch, .count = 2, .peer = 1});
  EXPECT_EQ(meaning.outputs, model::ring(meaning.inputs, 1));
}

TEST(ProgramMeaning, AFanInKeepsASlotPerSender) {
  const Meaning meaning = meaning_of({.kind = OperationKind::recv, .count = 1, .root = 1});
  EXPECT_EQ(meaning.outputs[1][0], meaning.inputs[0][0]);
  EXPECT_EQ(meaning.outputs[1][2], meaning.inputs[2][0]);
}

TEST(ProgramMeaning, UnevenChunksGoWhereTheSplitsSay) {
  const Step step{.kind = OperationKind::all_to_all, .count = 3, .uneven = true};
  const Meaning meaning = meaning_of(step);
  const auto first = static_cast<std::size_t>(split_size(step, 0, 0));
  const auto second = static_cast<std::size_t>(split_size(step, 0, 1));
  const model::Values sent(meaning.inputs[0].begin() + static_cast<std::ptrdiff_t>(first),
                           meaning.inputs[0].begin() + static_cast<std::ptrdiff_t>(first + second));
  EXPECT_EQ(model::Values(meaning.outputs[1].begin(),
                          meaning.outputs[1].begin() + static_cast<std::ptrdiff_t>(second)),
            sent);
}

}  // namespace
}  // namespace gang::properties
