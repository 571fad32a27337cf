#include "properties/program_verdict.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

GangProgram one_all_reduce() {
  GangProgram program;
  program.world = 3;
  program.steps = {{.kind = OperationKind::all_reduce, .count = 2}};
  return program;
}

TEST(ProblemOf, NamesTheFirstFinding) {
  sim::Report report;
  EXPECT_EQ(problem_of(report), "");
  report.outcome = sim::Outcome::deadlock;
  EXPECT_THAT(problem_of(report), ::testing::HasSubstr("ended as 'deadlock'"));
  report.findings.push_back({.id = "unwaited_work", .message = "planted"});
  EXPECT_THAT(problem_of(report), ::testing::HasSubstr("unwaited_work: planted"));
}

TEST(JudgeAgainstModel, HoldsForTheRealThing) {
  const Verdict verdict = judge_against_model(one_all_reduce(), {});
  EXPECT_FALSE(verdict.is_violated()) << verdict.message();
}

TEST(JudgeAgainstModel, NamesWhereTheMemoryDiffers) {
  const Verdict verdict =
      judge_against_model(one_all_reduce(), corrupting(OperationKind::all_reduce));
  EXPECT_THAT(verdict.message(), ::testing::HasSubstr("of rank 2"));
}

TEST(JudgeAgainstModel, AFindingIsAViolationWhateverTheResults) {
  const Subject subject = reporting([](sim::Report& report) {
    report.findings.push_back({.id = "unwaited_work", .message = "planted"});
  });
  EXPECT_TRUE(judge_against_model(one_all_reduce(), subject).is_violated());
}

}  // namespace
}  // namespace gang::properties
