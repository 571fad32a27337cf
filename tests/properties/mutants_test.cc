#include "properties/mutants.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* mutants_law = "a_mistake_is_laid_at_its_ranks_door";

TEST(Mutants, AreLaidAtTheirRanksDoor) {
  const CheckResult result = find_property(mutants(), mutants_law).check({.cases = 1500});
  EXPECT_TRUE(result.held()) << why_not(result);
  EXPECT_THAT(result.figures, ::testing::HasSubstr(" detected ("));
}

TEST(Mutants, AnUndetectedMistakeIsCaught) {
  const Subject subject = reporting([](sim::Report& report) { report.findings.clear(); });
  expect_caught(mutants(subject), mutants_law);
}

TEST(Mutants, AnotherRankNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    report.blocked.clear();
    for (sim::Finding& finding : report.findings) {
      finding.ranks = {77};
      finding.divergence.reset();
      finding.near_misses.clear();
    }
  });
  expect_caught(mutants(subject), mutants_law, "the report does not name rank");
}

TEST(Mutants, NoCallNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    report.blocked.clear();
    for (sim::Finding& finding : report.findings) {
      finding.location = {.file = "elsewhere"};
      finding.message = finding.detail = "elsewhere";
      finding.divergence.reset();
    }
  });
  expect_caught(mutants(subject), mutants_law, "the report names no call of step");
}

// A simulator that names every rank is never wrong, and useless.
TEST(Mutants, NamingEveryRankIsNotEnough) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings)
      if (finding.id != sim::finding_id::unwaited_work &&
          finding.id != sim::finding_id::buffer_in_flight)
        for (int rank = 0; rank < 200; ++rank) finding.ranks.push_back(rank);
  });
  const CheckResult result = find_property(mutants(subject), mutants_law).check({.cases = 1500});
  EXPECT_THAT(result.gave_up, ::testing::HasSubstr("is named in 0.00 %"));
}

Mutant all_reduce_of(int world, Mutation mutation) {
  Mutant mutant;
  mutant.program.world = world;
  mutant.program.steps = {{.kind = OperationKind::all_reduce}, {.kind = OperationKind::barrier}};
  mutant.mutation = mutation;
  mutant.rank = 1;
  return mutant;
}

TEST(HasMajority, NeedsThreeMembers) {
  EXPECT_TRUE(has_majority(all_reduce_of(3, Mutation::other_count)));
  EXPECT_FALSE(has_majority(all_reduce_of(2, Mutation::other_count)));
}

TEST(HasMajority, IsNotThereForMessages) {
  Mutant mutant = all_reduce_of(4, Mutation::other_tag);
  mutant.program.steps.front().kind = OperationKind::batch;
  EXPECT_FALSE(has_majority(mutant));
}

}  // namespace
}  // namespace gang::properties
