#include "properties/recordings.h"

#include "properties/culprits.h"
#include "sim/further_runs/settled_run.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* law = "dumps_say_what_the_run_said";

Subject settled_and(const std::function<void(sim::Report&)>& falsify) {
  Subject subject;
  subject.simulate = [falsify](const sim::SimulationOptions& options,
                               const sim::RankProgram& program) {
    sim::Report report = sim::run_settled(options, program);
    falsify(report);
    return report;
  };
  return subject;
}

TEST(Recordings, SayWhatTheRunSaid) {
  const CheckResult result =
      find_property(recordings(settling_subject()), law).check({.cases = 20'000});
  EXPECT_TRUE(result.held()) << why_not(result);
  EXPECT_THAT(result.figures, ::testing::HasSubstr("the same ranks are named in"));
}

TEST(Recordings, AFindingThatTheDumpsDoNotSayIsCaught) {
  const Subject subject = settled_and([](sim::Report& report) { report.findings.clear(); });
  expect_caught(recordings(subject), law, "only one of the two has a finding");
}

TEST(Recordings, OtherRanksAreCaught) {
  const Subject subject = settled_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks = {7777};
  });
  expect_caught(recordings(subject), law, "they name different ranks");
}

TEST(Recordings, AnotherCauseIsNotEnough) {
  const Subject subject = settled_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.id = "elsewhere";
  });
  const CheckResult result = find_property(recordings(subject), law).check({.cases = 20'000});
  EXPECT_THAT(result.gave_up, ::testing::HasSubstr("the same finding names them in 0.00 %"));
}

constexpr const char* program_law = "a_recording_is_a_program";

TEST(RecordedPrograms, RunIntoTheSame) {
  const CheckResult result =
      find_property(recordings(settling_subject()), program_law).check({.cases = 5'000});
  EXPECT_TRUE(result.held()) << why_not(result);
  EXPECT_THAT(result.figures, ::testing::HasSubstr("the same ranks are named in"));
}

TEST(RecordedPrograms, ARunThatFindsNothingIsCaught) {
  const Subject subject = settled_and([](sim::Report& report) { report.findings.clear(); });
  expect_caught(recordings(subject), program_law, "only one of the two has a finding");
}

TEST(RecordedPrograms, OtherRanksAreCaught) {
  const Subject subject = settled_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks = {7777};
  });
  expect_caught(recordings(subject), program_law, "they name different ranks");
}

}  // namespace
}  // namespace gang::properties
