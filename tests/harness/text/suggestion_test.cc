#include "harness/text/suggestion.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(Suggestion, IsTheNearestCandidate) {
  EXPECT_EQ(suggestion("rnu", {"run", "replay"}), " (did you mean 'run'?)");
  EXPECT_EQ(suggestion("all_redcue", {"all_reduce", "all_gather"}),
            " (did you mean 'all_reduce'?)");
}

TEST(Suggestion, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(suggestion("frobnicate", {"run", "replay"}), "");
  EXPECT_EQ(suggestion("x", {}), "");
}

TEST(UnknownName, SaysWhatIsAccepted) {
  EXPECT_EQ(unknown_name("rn", {"run", "list"}),
            "'rn' is unknown (did you mean 'run'?); must be one of: run, list");
  EXPECT_EQ(unknown_name("x", std::vector<std::string>{}), "'x' is unknown; there are none");
}

TEST(UnknownName, ListsAtMost24) {
  std::vector<std::string> many(30, "candidate");
  EXPECT_TRUE(unknown_name("x", many).ends_with("candidate, ..."));
  many.resize(24);
  EXPECT_TRUE(unknown_name("x", many).ends_with("candidate, candidate"));
}

TEST(Suggestion, IsTheFirstOfThoseThatAreEquallyNear) {
  EXPECT_EQ(suggestion("lost", {"list", "last"}), " (did you mean 'list'?)");
}

TEST(Suggestion, OfAShortNameHasOneEdit) {
  EXPECT_EQ(suggestion("ab", {"xy"}), "");
  EXPECT_EQ(suggestion("tp", {"pp"}), " (did you mean 'pp'?)");
  EXPECT_EQ(suggestion("reduced", {"reduce"}), " (did you mean 'reduce'?)");
}

TEST(Suggestion, OfALongNameMayDifferInAThirdOfItsLetters) {
  EXPECT_EQ(suggestion("monitored_bar", {"monitored_barrier"}),
            " (did you mean 'monitored_barrier'?)");
  EXPECT_EQ(suggestion("monitored_bar", {"monitored_barriers"}), "");
}

}  // namespace
}  // namespace gang::harness
