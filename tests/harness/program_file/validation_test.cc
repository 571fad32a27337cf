#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/harness/program_file/program_file_testing.h"

namespace gang::harness::program_file {
namespace {

struct Case {
  const char* text;
  const char* message;
};

class ImpossibleProgramFile : public testing::TestWithParam<Case> {};

TEST_P(ImpossibleProgramFile, IsRejectedBeforeItRuns) {
  EXPECT_THAT([] { run_text(GetParam().text); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Validate, ImpossibleProgramFile,
    testing::Values(
        Case{"world = 4\n[[do]]\ncalls = [\"dp barrier\"]",
             "suspect.toml:3:11: gang 'dp' is unknown; must be one of: root"},
        Case{"world = 4\nlayout = { tp = 2 }\n[[do]]\ncalls = [\"tpx barrier\"]",
             "gang 'tpx' is unknown (did you mean 'tp'?)"},
        Case{"world = 4\n[[do]]\ncalls = [\"wait a\"]", ":3:11: started operation 'a' is unknown"},
        Case{"world = 4\n[[do]]\nranks = [0, 4]",
             ":3:9: rank 4 is outside world 4; must be 0 to 3"},
        Case{"world = 4\n[[do]]\n[[do.do]]\ncalls = [\"dp barrier\"]", "gang 'dp' is unknown"},
        Case{"world = 4\n[[do]]\n[[do.do]]\nranks = [4]", "rank 4 is outside world 4"},
        Case{"world = 4\n[gangs]\ng = [1, 9]\n[[do]]", ":3:5: rank 9 is outside world 4"},
        Case{"world = 4\nlayout = { tp = 3 }\n[[do]]", ":2:10: tp 3 times pp 1 does not divide"},
        Case{"world = 4\nlayout = { intra_node = 3 }\n[[do]]",
             "intra_node is 3; must be a divisor of dp (4)"},
        Case{"world = 4\nlayout = { intra_node = 1 }\n[[do]]",
             "intra_node is 1; must be a divisor of dp (4) greater than 1"}));

TEST(Validate, KnowsGangsThatTheProgramCreates) {
  EXPECT_TRUE(run_text(R"(
world = 4
[[do]]
calls = ["root split color rank % 2 as half", "half barrier"]
)")
                  .holds());
}

}  // namespace
}  // namespace gang::harness::program_file
