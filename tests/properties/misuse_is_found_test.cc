#include "properties/misuse_is_found.h"

#include <set>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* misuse_law = "one_finding_names_what_and_who";

TEST(MisuseIsFound, HoldsOnTheSimulator) { expect_hold(misuse_is_found(), 2000); }

TEST(MisuseIsFound, EveryMisuseIsGenerated) {
  sim::RandomStream random(1, "misuse");
  Draw draw{random, 100, 16};
  std::set<Misuse> seen;
  for (int i = 0; i < 200; ++i) seen.insert(generate_misuse(draw).misuse);
  EXPECT_EQ(seen.size(), 4U);
}

TEST(MisuseIsFound, ASimulatorWithoutBufferGuardIsCaught) {
  const Subject subject =
      running_under([](sim::SimulationOptions& options) { options.buffer_guard = false; });
  const Counterexample found =
      expect_caught(misuse_is_found(subject), misuse_law, "expected one buffer_in_flight");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 2, rank 0 writes the input"));
}

class MissedFinding : public ::testing::TestWithParam<std::string_view> {};

TEST_P(MissedFinding, IsCaught) {
  const Subject subject = reporting([id = GetParam()](sim::Report& report) {
    std::erase_if(report.findings, [id](const sim::Finding& finding) { return finding.id == id; });
  });
  expect_caught(misuse_is_found(subject), misuse_law,
                "the findings are [], expected one " + std::string(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Findings, MissedFinding,
                         ::testing::Values(sim::finding_id::unwaited_work,
                                           sim::finding_id::unreceived_message,
                                           sim::finding_id::rank_failed),
                         [](const auto& test) { return std::string(test.param); });

TEST(MisuseIsFound, AFindingThatNamesAnotherRankIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks = {77};
  });
  expect_caught(misuse_is_found(subject), misuse_law, "names ranks [77], but not rank 0");
}

}  // namespace
}  // namespace gang::properties
