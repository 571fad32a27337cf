#include "sim/report/report.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Finding some_finding() {
  return {.id = "mismatch_count",
          .ranks = {1, 5},
          .gang = {"dp", "0,2"},
          .call = {.kind = "all_reduce", .sequence = 3, .payload = "sum f32[1024]"},
          .message = "Ranks 1,5 called something else.",
          .location = {"train.cc", 41},
          .consequences = {"rank 3: failed"}};
}

TEST(Report, HoldsOnlyIfCompletedWithoutAFinding) {
  Report report;
  EXPECT_TRUE(report.holds());
  report.findings = {some_finding()};
  EXPECT_FALSE(report.holds());
  report.findings.clear();
  report.outcome = Outcome::failed;
  EXPECT_FALSE(report.holds());
}

TEST(Report, ItsCertaintyIsItsOwnOrThatOfItsFirstFinding) {
  Report report;
  EXPECT_EQ(certainty_of(report), nullptr);
  report.findings = {some_finding()};
  EXPECT_EQ(certainty_of(report), nullptr);
  report.findings[0].certainty = Certainty{.sends = Dependence::open};
  EXPECT_EQ(certainty_of(report)->sends, Dependence::open);
  report.certainty = Certainty{.schedules = Schedules::every};
  EXPECT_EQ(certainty_of(report)->schedules, Schedules::every);
}

TEST(Report, WithoutContestedChoicesWhatItSaysIsOfEverySchedule) {
  Report report;
  report.findings = {some_finding(), some_finding(), some_finding()};
  report.findings[1].certainty.emplace();
  report.findings[2].certainty = Certainty{.schedules = Schedules::every};
  report.certainty = Certainty{.sends = Dependence::open};
  note_uncontested(report);
  EXPECT_EQ(report.certainty,
            (Certainty{
                .schedules = Schedules::every, .is_uncontested = true, .sends = Dependence::open}));
  EXPECT_FALSE(report.findings[0].certainty);
  EXPECT_EQ(report.findings[1].certainty,
            (Certainty{.schedules = Schedules::every, .is_uncontested = true}));
  EXPECT_EQ(report.findings[2].certainty, Certainty{.schedules = Schedules::every})
      << "the run made no choice before";
}

TEST(Report, OfASeenScheduleAnotherThatHoldsIsNoted) {
  Report report;
  report.findings = {some_finding(), some_finding()};
  report.findings[1].certainty = Certainty{.schedules = Schedules::every};
  report.certainty.emplace();
  note_avoided(report);
  EXPECT_EQ(report.certainty, Certainty{.is_avoided = true});
  EXPECT_FALSE(report.findings[0].certainty);
  EXPECT_EQ(report.findings[1].certainty, Certainty{.schedules = Schedules::every});
}

TEST(Finding, ItsSentencesAreItsMessageAndItsDetail) {
  EXPECT_EQ(full_message({.message = "It is so."}), "It is so.");
  EXPECT_EQ(full_message({.message = "It is so.", .detail = "Thus."}), "It is so. Thus.");
}

}  // namespace
}  // namespace gang::sim
