#include "properties/generators/training_case.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program/parameter.h"
#include "properties/training.h"

namespace gang::properties {
namespace {

std::vector<TrainingCase> some_cases(int count) {
  const auto programs = make_training_subject().programs;
  std::vector<TrainingCase> cases;
  for (int i = 0; i < count; ++i) {
    sim::RandomStream random{1, "case", static_cast<std::uint64_t>(i)};
    Draw draw{.random = random, .size = i % 101, .max_world = 16};
    cases.push_back(generate_training(draw, programs));
  }
  return cases;
}

void expect_accepted(const TrainingCase& one) {
  EXPECT_NO_THROW(one.program->validate(
      one.world, harness::ParameterValues(one.program->parameters, one.parameters)))
      << to_text(one);
}

TEST(TrainingCase, IsAcceptedByItsProgram) {
  for (const TrainingCase& one : some_cases(500)) expect_accepted(one);
}

TEST(TrainingCase, ShrinksToCasesThatAreAccepted) {
  for (const TrainingCase& one : some_cases(50)) {
    for (const TrainingCase& simpler : shrinks(one)) {
      expect_accepted(simpler);
      EXPECT_NE(to_text(simpler), to_text(one));
    }
  }
}

TEST(TrainingCase, CoversProgramsModelsAndLayouts) {
  std::set<std::string> seen;
  for (const TrainingCase& one : some_cases(500)) {
    seen.insert(one.program->name + " " + one.parameters.at("model"));
    if (one.parameter("tp", 1) > 2) seen.insert("tp more than 2");
    if (one.parameter("intra_node", 0) > 1 && one.parameter("intra_node", 0) < one.world) {
      seen.insert("hybrid shards");
    }
    if (one.context == sim::ContextKind::thread) seen.insert("threads");
  }
  EXPECT_THAT(seen, testing::SizeIs(13));
}

TEST(TrainingCase, IsWrittenAsTheCommandThatRunsIt) {
  const TrainingCase one = some_cases(1).front();
  EXPECT_THAT(to_text(one), testing::StartsWith("gangsim run " + one.program->name));
}

}  // namespace
}  // namespace gang::properties
