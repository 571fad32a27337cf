#include "properties/culprits.h"

#include "gang/root_gang.h"
#include "sim/further_runs/settled_run.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* alone = "one_culprit_is_named_alone";
constexpr const char* two = "of_two_culprits_no_innocent_is_named";

// A simulator that settles its verdicts, whose report is not what happened.
Subject blamed_and(const std::function<void(sim::Report&)>& falsify) {
  Subject subject;
  subject.simulate = [falsify](const sim::SimulationOptions& options,
                               const sim::RankProgram& program) {
    sim::Report report = sim::run_settled(options, program);
    falsify(report);
    return report;
  };
  return subject;
}

TEST(Culprits, AreNamedAlone) {
  for (const char* name : {alone, two}) {
    const CheckResult result = find_property(culprits(), name).check({.cases = 20'000});
    EXPECT_TRUE(result.held()) << why_not(result);
    EXPECT_THAT(result.figures, ::testing::HasSubstr("culprits alone are named in"));
  }
}

constexpr const char* early = "who_ends_early_is_the_only_finding";

// Settles the verdicts of another backend, and falsifies them.
Subject on_backend(sim::SimulatedBackend backend,
                   const std::function<void(sim::Report&)>& falsify = {}) {
  Subject subject;
  subject.simulate = [backend, falsify](sim::SimulationOptions options,
                                        const sim::RankProgram& program) {
    options.backend = backend;
    sim::Report report = sim::run_settled(options, program);
    if (falsify) falsify(report);
    return report;
  };
  return subject;
}

TEST(Culprits, WhoEndsEarlyIsTheOnlyFindingOnEveryBackend) {
  using enum sim::SimulatedBackend;
  for (const sim::SimulatedBackend backend : {sim, gloo, nccl}) {
    if (backend == gloo && !gloo_availability().is_available) continue;
    const CheckResult result =
        find_property(early_ends(on_backend(backend)), early).check({.cases = 300});
    EXPECT_TRUE(result.held()) << static_cast<int>(backend) << why_not(result);
  }
}

TEST(Culprits, AVictimThatIsNamedTooIsCaught) {
  const auto add_victim = [](sim::Report& report) {
    if (report.findings.empty()) return;
    report.findings.push_back(report.findings.front());
    report.findings.back().ranks = {7777};
  };
  expect_caught(early_ends(on_backend(sim::SimulatedBackend::sim, add_victim)), early,
                "expected one finding");
}

TEST(Culprits, OnlyInnocentsNamedIsCaught) {
  const Subject subject = blamed_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks = {7777};
  });
  expect_caught(culprits(subject), alone, "only innocents are named");
}

TEST(Culprits, NobodyNamedIsCaught) {
  const Subject subject = blamed_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks.clear();
  });
  expect_caught(culprits(subject), two, "no rank is named");
}

TEST(Culprits, NamingEveryRankIsNotEnough) {
  const Subject subject = blamed_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings)
      for (int rank = 0; rank < 300; ++rank) finding.ranks.push_back(rank);
  });
  const CheckResult result = find_property(culprits(subject), alone).check({.cases = 10'000});
  EXPECT_THAT(result.gave_up, ::testing::HasSubstr("culprits alone are named in 0.00 %"));
}

TEST(Culprits, AnotherLineIsNotEnough) {
  const Subject subject = blamed_and([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.location = {"elsewhere.py", 1};
  });
  const CheckResult result = find_property(culprits(subject), alone).check({.cases = 10'000});
  EXPECT_THAT(result.gave_up, ::testing::HasSubstr("the place is a culprit's own in 0.00 %"));
}

// Without a comparison of all ranks, the gang that hangs is all that is looked at.
TEST(Culprits, AreNotNamedAloneByTheGangThatHangs) {
  const CheckResult result = find_property(culprits(Subject{}), alone).check({.cases = 10'000});
  EXPECT_FALSE(result.held());
}

}  // namespace
}  // namespace gang::properties
