#include "harness/programs/faulty/faulty_program.h"

#include "gang/error.h"
#include "harness/program_file/program_source.h"
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;

void last_rank_leaves(Rank& rank, const PlantedBug& bug) {
  if (bug.is_planted() && rank.rank() == rank.world_size() - 1) return;
  rank.root()->barrier({}, bug.here());
}

FaultyProgram program() {
  return {.name = "leaves",
          .description = "the last rank leaves",
          .body = last_rank_leaves,
          .finding = sim::finding_id::participant_missing,
          .ranks = {2},
          .default_world_size = 3,
          .fewest_ranks = 3,
          .world_step = 3};
}

TEST(FaultyProgram, GoesWrongUnlessItIsFixed) {
  const RunResult wrong = run_faulty(program());
  EXPECT_EQ(wrong.report.outcome, sim::Outcome::deadlock);
  EXPECT_TRUE(run_faulty(program(), true).holds());
}

TEST(FaultyProgram, RemembersTheCallsThatItMarks) {
  const FaultyProgram faulty = program();
  const RunResult wrong = run_faulty(faulty);
  ASSERT_EQ(wrong.report.findings.size(), 1U);
  EXPECT_THAT(faulty.record->locations(),
              ElementsAre(to_string(wrong.report.findings.front().location)));
}

TEST(FaultyProgram, NamesTheWorldSizesItNeeds) {
  EXPECT_THAT([] { run_faulty(program(), false, 4); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(
                  "leaves: world size is 4; must be a multiple of 3 and at least 3")));
  FaultyProgram any = program();
  any.world_step = 1;
  EXPECT_THAT([&] { run_faulty(any, false, 2); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("world size is 2; must be at least 3")));
}

TEST(FaultyProgram, HasItsOwnRunOptions) {
  FaultyProgram faulty = program();
  faulty.options = {{"execution", "stream_ordered"}};
  const Program with_options = to_program(faulty);
  const ProgramSource source = find_program_source({with_options}, "leaves");
  EXPECT_EQ(source.specification.options.execution, sim::ExecutionModel::stream_ordered);
  EXPECT_EQ(with_options.finding, "participant_missing");
}

TEST(BugRecord, CountsAndKeepsForTheNextRun) {
  BugRecord record;
  EXPECT_EQ(record.count_up(), 0);
  EXPECT_EQ(record.count_up(), 1);
  record.mark(CallSite::at("a.cc", 7));
  record.mark(CallSite::at("a.cc", 7));
  EXPECT_THAT(record.locations(), ElementsAre("a.cc:7"));
}

}  // namespace
}  // namespace gang::harness
