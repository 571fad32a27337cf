#include "properties/faults_are_contained.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* contained = "nothing_hangs_nothing_lies";

TEST(FaultsAreContained, HoldsOnTheSimulator) { expect_hold(faults_are_contained(), 3000); }

TEST(FaultsAreContained, ARankThatIsToldSuccessIsCaught) {
  const Counterexample found = expect_caught(faults_are_contained(forgiving()), contained);
  EXPECT_THAT(found.text, ::testing::HasSubstr("fault: "));
}

TEST(FaultsAreContained, AHangIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (!report.faults.empty()) report.outcome = sim::Outcome::deadlock;
  });
  expect_caught(faults_are_contained(subject), contained, "the run ended as 'deadlock'");
}

TEST(FaultsAreContained, AFindingThatNoFaultCausesIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.id = sim::finding_id::unwaited_work;
  });
  expect_caught(faults_are_contained(subject), contained, "finding unwaited_work");
}

TEST(FaultsAreContained, ARunThatDoesNotReplayIsCaught) {
  const auto runs = std::make_shared<int>(0);
  const Subject subject = reporting([runs](sim::Report& report) {
    for (sim::FiredFault& fault : report.faults) fault.time += Duration(++*runs);
  });
  expect_caught(faults_are_contained(subject), "same_plan_and_seed_give_the_same_trace",
                "different faults happened");
}

TEST(FaultsAreContained, AReplayWithOtherFindingsIsCaught) {
  const auto runs = std::make_shared<int>(0);
  const Subject subject = reporting([runs](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.detail = std::to_string(++*runs);
  });
  expect_caught(faults_are_contained(subject), "same_plan_and_seed_give_the_same_trace",
                "the findings differ");
}

TEST(FaultsAreContained, APlanThatLeavesATraceIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.fault_plan) ++report.counts.switches;
  });
  expect_caught(faults_are_contained(subject), "what_does_not_happen_changes_nothing",
                "the counts differ");
}

TEST(FaultsAreContained, CorruptionThatNoGangLooksForIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) { return gang; };
  expect_caught(faults_are_contained(subject), "corrupt_results_are_found",
                "no rank gets an error");
}

TEST(FaultsAreContained, ShrunkCasesAreValid) {
  sim::RandomStream random(1, "test");
  for (int i = 0; i < 50; ++i) {
    Draw draw{.random = random, .size = 50, .max_world = 8};
    const FaultedProgram faulted = generate_faulted(draw);
    for (const FaultedProgram& smaller : shrinks(faulted)) {
      sim::validate(smaller.plan, smaller.program.world);
      sim::check_drawn(smaller.plan);
      EXPECT_FALSE(smaller == faulted);
    }
  }
}

}  // namespace
}  // namespace gang::properties
