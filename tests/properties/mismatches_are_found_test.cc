#include "properties/mismatches_are_found.h"

#include <set>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* odd_rank_law = "any_field_names_the_odd_rank";

TEST(MismatchesAreFound, HoldsOnSimulatedGangs) { expect_hold(mismatches_are_found(), 1000); }

TEST(MismatchesAreFound, EveryFieldIsGenerated) {
  sim::RandomStream random(1, "fields");
  Draw draw{random, 100, 16};
  std::set<MatchField> fields;
  for (int i = 0; i < 500; ++i) fields.insert(generate_mismatch(draw).field);
  EXPECT_EQ(fields.size(), 8U);
}

TEST(MismatchesAreFound, AMismatchThatIsNotReportedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) { report.findings.clear(); });
  const Counterexample found =
      expect_caught(mismatches_are_found(subject), odd_rank_law, "the findings are []");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 3, rank 0 differs in the"));
}

TEST(MismatchesAreFound, AnotherRankNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.ranks = {1};
  });
  expect_caught(mismatches_are_found(subject), odd_rank_law, "names ranks [1], expected [0]");
}

TEST(MismatchesAreFound, AnotherFieldNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    for (sim::Finding& finding : report.findings) finding.id = sim::finding_id::mismatch_tag;
  });
  expect_caught(mismatches_are_found(subject), odd_rank_law,
                "the findings are [mismatch_tag], expected one mismatch_");
}

TEST(MismatchesAreFound, AMatchThatDoesNotLookAtBlockingIsCaught) {
  const Subject subject =
      running_under([](sim::SimulationOptions& options) { options.strict_blocking = false; });
  const Counterexample found = expect_caught(mismatches_are_found(subject), odd_rank_law);
  EXPECT_THAT(found.text, ::testing::HasSubstr("differs in the blocking of"));
}

// A member that sees success although the others called something else.
TEST(MismatchesAreFound, ARankThatIsNotToldIsCaught) {
  expect_caught(mismatches_are_found(forgiving()), odd_rank_law, "ended without an error");
}

}  // namespace
}  // namespace gang::properties
