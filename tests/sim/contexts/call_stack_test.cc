#include "sim/contexts/call_stack.h"

#include <vector>

#include "tests/sim/worlds.h"

// Outside gang::sim, where programs are.
namespace training {
namespace {

[[gnu::noinline]] void reduce_gradients(gang::Gang& gang, float value) {
  gang.all_reduce(gang::view_of(value), gang::ReduceOperation::sum);
}

[[gnu::noinline]] void step(gang::Gang& gang) {
  if (gang.rank() != 1) reduce_gradients(gang, 1.0F);
  asm volatile("");  // no tail call
}

[[gnu::noinline]] std::vector<std::uintptr_t> walk() {
  std::vector<std::uintptr_t> addresses = gang::sim::walk_call_stack();
  asm volatile("");
  return addresses;
}

}  // namespace
}  // namespace training

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class CallStack : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_name_frames()) GTEST_SKIP() << "needs libbacktrace, which comes with GCC";
  }
};

Report deadlock(ContextKind context, Recording call_stacks) {
  return run({.world_size = 3, .context = context, .call_stacks = call_stacks},
             [](SimulatedRank& rank) { training::step(*rank.root()); });
}

TEST_F(CallStack, NamesTheFunctionsOfTheProgram) {
  const std::vector<SourceLocation> stack = describe_call_stack(training::walk());
  ASSERT_FALSE(stack.empty());
  // This file is compiled with line numbers.
  EXPECT_THAT(frame_text(stack.front()), HasSubstr("training::walk at call_stack_test.cc:"));
  EXPECT_THAT(stack.front().file, testing::EndsWith("tests/sim/contexts/call_stack_test.cc"));
}

TEST_F(CallStack, OfABlockedContextIsTheProgramsPart) {
  for (const ContextKind context : deterministic_contexts()) {
    const Report report = deadlock(context, Recording::on);
    ASSERT_EQ(report.blocked.size(), 2U);
    const std::vector<SourceLocation>& stack = report.blocked[0].call_stack;
    ASSERT_GE(stack.size(), 2U);
    EXPECT_THAT(frame_text(stack[0]),
                HasSubstr("training::reduce_gradients at call_stack_test.cc:"));
    EXPECT_THAT(frame_text(stack[1]), HasSubstr("training::step at call_stack_test.cc:"));
    for (const SourceLocation& frame : stack) EXPECT_THAT(frame.function, Not(HasSubstr("Engine")));
    EXPECT_THAT(report.blocked[1].call_stack, IsEmpty()) << "the same call as rank 0's";
  }
}

TEST_F(CallStack, IsWalkedOnlyWhereAskedFor) {
  for (const BlockedCall& call : deadlock(deterministic_contexts().front(), Recording::off).blocked)
    EXPECT_THAT(call.call_stack, IsEmpty());
}

TEST_F(CallStack, OfAnUnknownAddressIsNothing) {
  EXPECT_THAT(describe_call_stack(std::vector<std::uintptr_t>{1, 2}), IsEmpty());
}

}  // namespace
}  // namespace gang::sim
