#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_mesh(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(mesh_program(),
             {.program = "mesh", .world_size = world_size, .parameters = std::move(parameters)});
}

TEST(Mesh, HoldsWithOtherParameters) {
  const RunResult result = run_mesh({{"tp", "2"}, {"pp", "2"}, {"intra_node", "2"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Mesh, RefusesSizesThatDoNotDivide) {
  EXPECT_THROW(run_mesh({{"tp", "3"}}), InvalidArgument);
  EXPECT_THROW(run_mesh({{"intra_node", "1"}}), InvalidArgument);
  EXPECT_THROW(run_mesh({{"intra_node", "3"}}), InvalidArgument);
  EXPECT_THROW(run_mesh({{"tp", "2"}, {"pp", "2"}, {"intra_node", "4"}}), InvalidArgument);
}

TEST(Mesh, RefusesSizesWhoseProductDoesNotDivide) {
  const Program program = mesh_program();
  const auto validate = [&](const char* pp) {
    program.validate(12, ParameterValues{program.parameters, {{"tp", "2"}, {"pp", pp}}});
  };
  EXPECT_NO_THROW(validate("3"));
  EXPECT_THROW(validate("4"), InvalidArgument);
}

TEST(Mesh, HoldsForEveryLayoutOfALargerWorld) {
  for (const char* tp : {"1", "2", "4"}) {
    for (const char* pp : {"1", "2", "4"}) {
      for (const char* intra_node : {"0", "2", "4"}) {
        const RunResult result = run_mesh({{"tp", tp}, {"pp", pp}, {"intra_node", intra_node}}, 64);
        EXPECT_TRUE(result.holds()) << to_string(result);
      }
    }
  }
}

TEST(Mesh, EveryAxisIsReducedOver) {
  const auto operations = [](const char* intra_node) {
    return run_mesh({{"intra_node", intra_node}}, 8).report.counts.rank_operations;
  };
  // Each rank makes two gangs more, and reduces over them.
  EXPECT_EQ(operations("2"), operations("0") + 8 * 4);
}

TEST(Mesh, PutsOutTheSumOfTheRanksOfEachAxis) {
  const RunResult result = run(mesh_program(),
                               {.program = "mesh",
                                .world_size = 16,
                                .parameters = {{"tp", "2"}, {"pp", "2"}, {"intra_node", "2"}}},
                               {.outputs = KeepOutputs::data});
  std::vector<std::pair<std::string, std::int64_t>> sums;  // of rank 13
  for (const Output& output : result.outputs.by_rank.at(13)) {
    std::int64_t sum = 0;
    ASSERT_EQ(output.data.size(), sizeof(sum));
    std::memcpy(&sum, output.data.data(), sizeof(sum));
    sums.emplace_back(output.name, sum);
  }
  using Sum = std::pair<std::string, std::int64_t>;
  EXPECT_THAT(
      sums, testing::ElementsAre(Sum{"tp", 12 + 13}, Sum{"dp", 9 + 11 + 13 + 15}, Sum{"pp", 5 + 13},
                                 Sum{"sdp", 13 + 15}, Sum{"rdp", 9 + 13}));
}

TEST(Mesh, SaysTheSumThatIsWrongAndWhatItShouldBe) {
  const Program wrong =
      altered(mesh_program(), {.after = [](const Gang& gang, Operation& operation) {
                const std::int64_t other = 40;
                if (gang.name() == "dp" && operation.collective.kind == OperationKind::all_reduce)
                  std::memcpy(operation.output.data(), &other, sizeof other);
              }});
  const RunResult result =
      run(wrong, {.program = "mesh", .world_size = 8, .parameters = {{"tp", "2"}}});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message,
              testing::HasSubstr("The sum of the root ranks over dp is 40 on rank 0, not 12."));
}

TEST(Mesh, ARefusalSaysEachSize) {
  EXPECT_THAT([] { run_mesh({{"tp", "2"}, {"pp", "3"}}); },
              testing::ThrowsMessage<InvalidArgument>("tp 2 times pp 3 does not divide world 8"));
}

TEST(Mesh, ClosesTheGangsThatItMade) {
  std::set<std::string> closed;
  run(altered(mesh_program(),
              {.closed = [&closed](const Gang& gang) { closed.emplace(gang.name()); }}),
      {.program = "mesh",
       .world_size = 16,
       .parameters = {{"tp", "2"}, {"pp", "2"}, {"intra_node", "2"}}});
  EXPECT_THAT(closed, testing::IsSupersetOf({"tp", "dp", "pp", "sdp", "rdp"}));
}

}  // namespace
}  // namespace gang::harness
