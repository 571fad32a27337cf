#include "properties/faulty_programs.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using harness::FaultyProgram;

// The real programs, except that one is not what it claims to be.
FaultySubject with(const std::string& name, const std::function<void(FaultyProgram&)>& change) {
  FaultySubject subject = make_faulty_subject();
  const auto found = std::ranges::find(subject.faulty, name, &FaultyProgram::name);
  if (found == subject.faulty.end()) throw std::out_of_range(name);
  change(*found);
  return subject;
}

TEST(FaultyPrograms, AreFoundAndTheCorrectOnesAreNot) { expect_hold(faulty_programs(), 1500); }

TEST(FaultyPrograms, AreRunAsOftenAsTheCasesSay) {
  const Property property = find_property(faulty_programs(), "built_in_ones_hold");
  const std::uint64_t programs = make_faulty_subject().correct.size();
  EXPECT_EQ(property.check({.cases = 1}).cases, 2 * programs);
  EXPECT_EQ(property.check({.cases = 900}).cases, 4 * programs);
  EXPECT_EQ(property.check({}).cases, 101 * programs);
}

TEST(FaultyPrograms, AnotherFindingThanExpectedIsCaught) {
  const auto subject = with(
      "wrong_tag", [](FaultyProgram& faulty) { faulty.finding = sim::finding_id::mismatch_root; });
  expect_caught(faulty_programs(subject), "every_fault_is_named",
                "the findings are [mismatch_tag], expected one mismatch_root");
}

TEST(FaultyPrograms, OtherRanksThanExpectedAreCaught) {
  const auto subject = with("missing_rank", [](FaultyProgram& faulty) { faulty.ranks = {1}; });
  expect_caught(faulty_programs(subject), "every_fault_is_named",
                "the finding names ranks [2], expected [1]");
}

void unmarked(harness::Rank& rank, const harness::PlantedBug& bug) {
  bug.here();
  if (bug.is_planted() && rank.rank() == 2) return;
  rank.root()->barrier();
}

TEST(FaultyPrograms, AnotherCallThanExpectedIsCaught) {
  const auto subject = with("missing_rank", [](FaultyProgram& faulty) { faulty.body = unmarked; });
  expect_caught(faulty_programs(subject), "every_fault_is_named",
                "the finding points at 'faulty_programs_test.cc:");
}

TEST(FaultyPrograms, ATextWithoutTheCallIsCaught) {
  FaultySubject subject = make_faulty_subject();
  subject.run = [](const harness::Program& program, const harness::RunSpecification& specified) {
    harness::RunResult result = harness::run(program, specified);
    result.report.blocked.clear();
    for (sim::Finding& finding : result.report.findings) {
      finding.message = "Something is wrong.";
      finding.detail.clear();
      finding.divergence.reset();
    }
    return result;
  };
  expect_caught(faulty_programs(subject), "every_fault_is_named",
                "the report does not show missing_participants.cc:");
}

TEST(FaultyPrograms, AFaultThatIsNotFoundIsCaught) {
  FaultySubject subject = make_faulty_subject();
  subject.run = [](const harness::Program& program, const harness::RunSpecification& specified) {
    harness::RunResult result = harness::run(program, specified);
    result.report.findings.clear();
    return result;
  };
  expect_caught(faulty_programs(subject), "every_fault_is_named", "the findings are []");
}

TEST(FaultyPrograms, ARaceThatNoScheduleShowsIsCaught) {
  const auto subject = with("lost_wakeup", [](FaultyProgram& faulty) {
    faulty.body = [](harness::Rank& rank, const harness::PlantedBug&) { rank.root()->barrier(); };
  });
  expect_caught(faulty_programs(subject), "every_race_shows", "no schedule shows deadlock");
}

TEST(FaultyPrograms, AnIneffectiveCorrectionIsCaught) {
  const auto subject = with("wrong_tag", [](FaultyProgram& faulty) {
    faulty.body = [](harness::Rank& rank, const harness::PlantedBug&) {
      if (rank.rank() == 0) rank.root()->barrier();
    };
  });
  expect_caught(faulty_programs(subject), "corrected_ones_hold", "a correct program has findings");
}

TEST(FaultyPrograms, ABuiltInProgramWithAFindingIsCaught) {
  FaultySubject subject = make_faulty_subject();
  subject.correct.push_back(harness::to_program(subject.faulty.front()));
  expect_caught(faulty_programs(subject), "built_in_ones_hold", "a correct program has findings");
}

}  // namespace
}  // namespace gang::properties
