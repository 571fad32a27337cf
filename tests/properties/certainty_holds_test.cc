#include "properties/certainty_holds.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(CertaintyHolds, OnTheSimulator) { expect_hold(certainty_holds(), 3000); }

TEST(CertaintyHolds, ASimulatorThatIsAlwaysCertainIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings)
      if (finding.certainty) finding.certainty->schedules = sim::Schedules::every;
    if (report.certainty) report.certainty->schedules = sim::Schedules::every;
  });
  expect_caught(certainty_holds(subject), "every_schedule_is_every_schedule");
  expect_caught(certainty_holds(subject), "what_looks_like_a_choice_is_none");
}

TEST(CertaintyHolds, OnAnotherBackend) {
  Subject subject;
  subject.is_guided = false;
  subject.has_tags = false;
  subject.simulate = [](sim::SimulationOptions options, const sim::RankProgram& program) {
    options.backend = sim::SimulatedBackend::nccl;
    return sim::Simulation(options).run(program);
  };
  expect_hold(certainty_holds(subject), 1000);
}

TEST(CertaintyHolds, AClaimThatEveryScheduleEndsLikeThisIsCaught) {
  const Subject subject =
      reporting([](sim::Report& report) { report.schedules = sim::Schedules::every; });
  expect_caught(certainty_holds(subject), "what_looks_like_a_choice_is_none");
}

TEST(CertaintyHolds, AClaimFromOneScheduleOfTheDecidingRunIsCaught) {
  const Subject subject =
      reporting([](sim::Report& report) { report.schedules = sim::Schedules::every; });
  expect_caught(certainty_holds(subject), "what_buffers_cure_they_cure_in_every_schedule");
}

}  // namespace
}  // namespace gang::properties
