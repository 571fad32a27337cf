#include "sim/report/stacks_text.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

// Blocked at line 41 of a library of its own, in `train`, which line 60 of `main` has called.
BlockedCall blocked_in_train(int rank) {
  return {.rank = rank,
          .location = {.file = "/src/train.py", .line = 41, .function = "train"},
          .call_stack = {{.file = "/lib/nn.py", .line = 7, .function = "backward"},
                         {.file = "/src/train.py", .line = 41, .function = "train"},
                         {.file = "/src/train.py", .line = 60, .function = "main"}}};
}

TEST(StacksText, BeginsAtThePlaceOfTheCall) {
  EXPECT_EQ(stacks_text({blocked_in_train(2)}),
            "rank 2: train at train.py:41, from main at train.py:60");
}

TEST(StacksText, IsOneOfContextsThatCameTheSameWay) {
  std::vector<BlockedCall> blocked = {blocked_in_train(3), blocked_in_train(1), blocked_in_train(0),
                                      blocked_in_train(2)};
  blocked[3].call_stack.back().line = 61;
  EXPECT_EQ(stacks_text(blocked),
            "ranks 0-1,3: train at train.py:41, from main at train.py:60\n"
            "rank 2: train at train.py:41, from main at train.py:61");
  blocked[3] = blocked_in_train(2);
  blocked[3].context = "saver";
  EXPECT_EQ(stacks_text(blocked),
            "ranks 0-1,3: train at train.py:41, from main at train.py:60\n"
            "rank 2/saver: train at train.py:41, from main at train.py:60");
}

TEST(StacksText, IsThatOfARankOnceWhereSeveralOfItsContextsHaveIt) {
  std::vector<BlockedCall> blocked = {blocked_in_train(0), blocked_in_train(0)};
  blocked[1].context = "saver";
  EXPECT_EQ(stacks_text(blocked), "rank 0: train at train.py:41, from main at train.py:60");
}

TEST(StacksText, OfTheCauseComeFirst) {
  std::vector<BlockedCall> blocked = {blocked_in_train(0), blocked_in_train(1)};
  blocked[0].is_core = false;
  blocked[1].call_stack.back().line = 61;
  EXPECT_EQ(stacks_text(blocked),
            "rank 1: train at train.py:41, from main at train.py:61\n"
            "rank 0: train at train.py:41, from main at train.py:60");
}

TEST(StacksText, SayNothingThatThePlaceDoesNot) {
  EXPECT_EQ(stacks_text({}), "");
  BlockedCall call = blocked_in_train(0);
  call.call_stack.pop_back();  // at the place, in one function
  EXPECT_EQ(stacks_text({call}), "");
  call.call_stack.clear();
  EXPECT_EQ(stacks_text({call}), "");
  call = blocked_in_train(0);
  call.location.line = 42;  // nowhere on the stack
  EXPECT_EQ(stacks_text({call}), "");
  call = {.call_stack = {{.function = "train"}, {.function = "main"}}};  // without lines
  EXPECT_EQ(stacks_text({call}), "");
}

TEST(StacksText, OfAFunctionWithoutANameIsItsPlace) {
  BlockedCall call = blocked_in_train(2);
  call.call_stack.back().function.clear();
  EXPECT_EQ(stacks_text({call}), "rank 2: train at train.py:41, from train.py:60");
}

TEST(StacksText, EndsWhereThatOfAnotherThreadFollows) {
  BlockedCall call = blocked_in_train(2);
  call.call_stack.push_back({.function = "saver:"});
  call.call_stack.push_back({.file = "/src/train.py", .line = 9, .function = "save"});
  EXPECT_EQ(stacks_text({call}), "rank 2: train at train.py:41, from main at train.py:60");
}

TEST(StacksText, OfManyFramesHasTheFirstAndTheLast) {
  BlockedCall call = blocked_in_train(0);
  for (std::uint32_t i = 0; i < 7; ++i)
    call.call_stack.push_back({.file = "/src/x.py", .line = 1 + i, .function = "f"});
  const std::string nine = stacks_text({call});
  EXPECT_EQ(nine.find("more"), std::string::npos);
  EXPECT_NE(nine.find("f at x.py:4, from f at x.py:5, from f at x.py:6"), std::string::npos);
  call.call_stack.push_back({.file = "/src/x.py", .line = 8, .function = "f"});
  EXPECT_EQ(stacks_text({call}),
            "rank 0: train at train.py:41, from main at train.py:60, from f at x.py:1, from f at "
            "x.py:2, from f at x.py:3, from f at x.py:4, from 2 more, from f at x.py:7, from f at "
            "x.py:8");
}

TEST(StacksText, IsOfAFewWays) {
  std::vector<BlockedCall> blocked;
  for (int rank = 0; rank < 6; ++rank) {
    blocked.push_back(blocked_in_train(rank));
    blocked.back().call_stack.back().line = static_cast<std::uint32_t>(60 + rank);
  }
  const std::string text = stacks_text(blocked);
  EXPECT_NE(text.find("\nrank 3: "), std::string::npos);
  EXPECT_EQ(text.find("rank 4"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nand 2 more"));
}

}  // namespace
}  // namespace gang::sim
