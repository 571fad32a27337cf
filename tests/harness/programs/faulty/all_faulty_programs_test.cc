#include "harness/programs/faulty/all_faulty_programs.h"

#include <set>

#include "harness/programs/all_programs.h"
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

namespace id = sim::finding_id;

TEST(AllFaultyPrograms, HaveShortNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Program& program : all_programs()) names.insert(program.name);
  for (const FaultyProgram& faulty : all_faulty_programs()) {
    EXPECT_TRUE(names.insert(faulty.name).second) << faulty.name;
    EXPECT_LE(faulty.name.size(), 20U) << faulty.name;
    EXPECT_LE(faulty.description.size(), 31U) << faulty.name;
    EXPECT_GE(faulty.default_world_size, faulty.fewest_ranks) << faulty.name;
    EXPECT_EQ(faulty.default_world_size % faulty.world_step, 0) << faulty.name;
  }
}

TEST(AllFaultyPrograms, AreManyAndShowEveryFinding) {
  std::set<std::string_view> findings;
  for (const FaultyProgram& faulty : all_faulty_programs()) findings.insert(faulty.finding);
  EXPECT_GE(all_faulty_programs().size(), 60U);
  for (const std::string_view finding : {id::participant_missing,
                                         id::mismatch_operation,
                                         id::mismatch_count,
                                         id::mismatch_data_type,
                                         id::mismatch_reduce_operation,
                                         id::mismatch_root,
                                         id::mismatch_tag,
                                         id::mismatch_label,
                                         id::mismatch_blocking,
                                         id::mismatch_ranks,
                                         id::mismatch_gang,
                                         id::group_creation_order,
                                         id::cross_gang_cycle,
                                         id::point_to_point_cycle,
                                         id::stream_order_inversion,
                                         id::device_synchronization,
                                         id::deadlock,
                                         id::unwaited_work,
                                         id::unreceived_message,
                                         id::gang_not_closed,
                                         id::buffer_in_flight,
                                         id::use_after_close,
                                         id::rank_failed,
                                         id::wrong_result,
                                         id::timed_out,
                                         id::nondeterminism,
                                         id::buffering_hazard,
                                         id::message_race,
                                         id::uneven_iterations,
                                         id::blocked_in_other_gang}) {
    EXPECT_TRUE(findings.contains(finding)) << finding;
  }
}

// Deadlocks and mismatches that people have reported: each is shown by a program.
TEST(AllFaultyPrograms, ShowWhatPeopleHaveReported) {
  std::string seen;
  for (const FaultyProgram& faulty : all_faulty_programs()) seen += faulty.seen_in + ", ";
  for (const char* report :
       {"pytorch#130102", "pytorch#134314",  "sglang#15805",   "pytorch#18300",  "torchrec#4149",
        "pytorch#175145", "KempnerForge#49", "autocast#386",   "pytorch#33148",  "nccl#1417",
        "pytorch#150433", "pytorch#94819",   "pytorch#109401", "nccl#2130",      "pytorch#113376",
        "pytorch#172668", "pytorch#123969",  "pytorch#124714", "pytorch#162338", "torchcomms#287",
        "pytorch#196968", "pytorch#140563",  "fairseq2#794",   "fairseq2#679"}) {
    EXPECT_THAT(seen, testing::HasSubstr(std::string(report) + ","));
  }
}

// A rank that stops early is found and explained in a world of thousands, not only in a small one.
TEST(AllFaultyPrograms, AMissingRankIsFoundInALargeWorld) {
  const RunResult result =
      run_faulty(find_faulty(missing_participants(), "missing_rank"), false, 2048);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings.front().ranks, testing::ElementsAre(1024));
}

TEST(AllFaultyPrograms, AreBehindTheCorrectOnes) {
  const std::vector<Program> programs = with_faulty_programs(all_programs());
  EXPECT_EQ(programs.size(), all_programs().size() + all_faulty_programs().size());
  EXPECT_TRUE(programs.front().finding.empty());
  EXPECT_FALSE(programs.back().finding.empty());
}

}  // namespace
}  // namespace gang::harness
