#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_tp(std::map<std::string, std::string> parameters, int world_size = 4) {
  return run(tp_program(),
             {.program = "tp", .world_size = world_size, .parameters = std::move(parameters)},
             {.outputs = KeepOutputs::data});
}

std::string refusal_of_tp(std::map<std::string, std::string> parameters, int world_size = 4) {
  try {
    run_tp(std::move(parameters), world_size);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tp, EqualsOneProcessForEverySizeOfTp) {
  for (const char* tp : {"1", "2", "4"}) {
    for (const char* model : {"mlp", "transformer"}) {
      const RunResult result = run_tp({{"tp", tp}, {"model", model}, {"layers", "2"}}, 8);
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

TEST(Tp, DividesTheModel) {
  const RunResult whole = run_tp({{"tp", "1"}});
  const RunResult halves = run_tp({{"tp", "2"}});
  const auto embedding = [](const RunResult& result) { return result.outputs.by_rank[0][3]; };
  EXPECT_EQ(embedding(whole).name, "embedding.weight");
  EXPECT_EQ(embedding(whole).count, 2 * embedding(halves).count);
}

TEST(Tp, ListsThePossibleSizes) {
  EXPECT_EQ(refusal_of_tp({{"tp", "3"}}), "tp 3 does not divide world 4; must be one of: 1, 2, 4");
  EXPECT_EQ(refusal_of_tp({{"tp", "8"}}, 8),
            "tp 8 does not divide the 4 heads of attention0; must be one of: 1, 2, 4");
  EXPECT_THAT(
      refusal_of_tp({{"model", "mlp"}, {"layers", "2"}, {"hidden", "9"}, {"tp", "2"}}),
      testing::HasSubstr("tp 2 does not divide the 9 outputs of linear0; must be one of: 1, 3"));
}

}  // namespace
}  // namespace gang::harness
