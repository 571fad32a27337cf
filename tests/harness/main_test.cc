#include "harness/main.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

int call_main(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const auto leave_early = [](Rank& rank) {
    if (rank.rank() != 0) rank.root()->barrier();
  };
  return main(static_cast<int>(argv.size()), argv.data(),
              {{"meet", "all ranks meet", [](Rank& rank) { rank.root()->barrier(); }},
               {"leave", "rank 0 leaves early", leave_early}});
}

TEST(Main, GivesAUsersBinaryTheCommandLine) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(call_main({"./layout", "run", "meet", "--world", "4"}), 0);
  EXPECT_EQ(call_main({"./layout", "run", "leave"}), 1);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("./layout run leave --seed 1"),
            std::string::npos);
}

TEST(Main, KnowsOnlyTheUsersPrograms) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(call_main({"./layout", "run", "ring"}), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("must be one of: meet, leave"),
            std::string::npos);
}

}  // namespace
}  // namespace gang::harness
