#include "harness/programs/faulty/all_faulty_programs.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "harness/program_file/program_source.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "harness/run/exploration.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

namespace id = sim::finding_id;

// One of the runs of each class of schedules shows it; corrected, none does.
TEST(AllFaultyPrograms, WhatDependsOnTheScheduleIsFoundAndItsCorrectionProved) {
  int found = 0;
  for (const FaultyProgram& faulty : all_faulty_programs()) {
    if (faulty.shown_in != ShownIn::some_schedules && faulty.finding != id::message_race) continue;
    SCOPED_TRACE(faulty.name);
    const Program program = to_program(faulty);
    RunSpecification specification = find_program_source({program}, program.name).specification;
    const ExplorationOptions options{.strategy = Strategy::exhaustive};
    const Exploration wrong = explore(program, specification, options);
    ASSERT_EQ(wrong.claim, Claim::found);
    EXPECT_EQ(wrong.failure->report.findings.front().id, faulty.finding);
    specification.parameters["fixed"] = "true";
    EXPECT_EQ(explore(program, specification, options).claim, Claim::proved);
    ++found;
  }
  EXPECT_GE(found, 7);
}

TEST(AllFaultyPrograms, HaveShortUniqueNames) {
  std::set<std::string> names;
  for (const Program& program : all_programs()) names.insert(program.name);
  for (const FaultyProgram& faulty : all_faulty_programs()) {
    EXPECT_TRUE(names.insert(faulty.name).second) << faulty.name;
    EXPECT_LE(faulty.name.size(), 20U) << faulty.name;
    EXPECT_LE(faulty.description.size(), 31U) << faulty.name;
    EXPECT_GE(faulty.default_world_size, faulty.fewest_ranks) << faulty.name;
    EXPECT_EQ(faulty.default_world_size % faulty.world_step, 0) << faulty.name;
    EXPECT_FALSE(faulty.ranks.empty()) << faulty.name;
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
                                         id::blocking_launch,
                                         id::one_thread_many_ranks,
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

// A bug seen in practice, and the programs that show it.
struct Cause {
  std::string what;
  std::string seen_in;  // as in FaultyProgram; one of the programs names each place
  std::vector<std::string> shown_by;
};

// What people have reported about PyTorch, NCCL and software built on them.
std::vector<Cause> reported_causes() {
  return {
      {"each rank creates only its own group", "pytorch#130102", {"own_gang_only"}},
      {"a member splits lazily, the others at once", "pytorch#134314", {"lazy_split"}},
      {"a group with different ranks on two nodes", "sglang#15805", {"old_rank_list"}},
      {"threads use communicators in different orders",
       "pytorch#18300, pytorch#131895",
       {"threads_share_gang", "nccl_threads", "nccl_launch_order"}},
      {"a cycle of groups, and waiting for the device",
       "torchrec#4149, nccl#195",
       {"three_gangs", "nccl_three_pairs", "nccl_gang_made_late"}},
      {"a message and a reduction in either order", "nccl#522", {"nccl_message_order"}},
      {"launches that wait for the device", "nccl#750", {"nccl_launch_blocks"}},
      {"messages on one thread, reductions on another", "pytorch#175145", {"threads_on_stream"}},
      {"a file exists for some ranks only", "KempnerForge#49", {"resume_by_listing"}},
      {"rank 0 saves, which ends in a barrier",
       "autocast#386",
       {"save_on_rank_0", "barrier_off_by_one"}},
      {"a rank has fewer batches", "pytorch#33148, pytorch#141069", {"uneven_batches", "ddp_join"}},
      {"different sizes: some hang, some are wrong",
       "nccl#1417, nccl#1394",
       {"last_batch", "nccl_other_count"}},
      {"a different data type on one rank", "pytorch#150433", {"mixed_precision"}},
      {"tags that a backend ignores", "pytorch#94819, pytorch#125079", {"wrong_tag", "any_tag"}},
      {"sends and receives cross",
       "pytorch#109401, pytorch#108378",
       {"both_send_first", "both_recv_first", "nccl_sends_ahead"}},
      {"a batch of messages on one side only", "nccl#2130, PiPPy#969", {"one_sided_batch"}},
      {"a message shorter than its receive", "pytorch#113376", {"short_message"}},
      {"two stages that both send, too few microbatches",
       "pytorch#172668, torchtitan#775",
       {"both_stages_send", "missing_microbatch"}},
      {"rank 0 exits and takes the store down",
       "pytorch#128096, pytorch#123969, pytorch#69520",
       {"store_goes_first"}},
      {"a barrier before the device is set", "pytorch#124714, ray#42751", {"guessed_device"}},
      {"the mean is not divided on one path",
       "pytorch#162338, pytorch#149781",
       {"undivided_shards"}},
      {"the mean is divided by the wrong number", "torchcomms#287", {"mean_of_means"}},
      {"a rank hangs in teardown", "pytorch#196968", {"stuck_in_teardown"}},
      {"1,025 elements against 262,144, on 128 ranks", "pytorch#140563", {"one_of_128"}},
  };
}

// What callers of fairseq2's gangs do wrong, at 027bdebca4b9.
std::vector<Cause> causes_in_fairseq2() {
  return {
      {"a rank without targets skips a sum", "fairseq2 trainer.py:599", {"empty_batch"}},
      {"ranks that run out of data do nothing",
       "fairseq2#794, fairseq2 datasets/data_reader.py:24",
       {"extra_batch"}},
      {"a request to stop that only one rank gets",
       "fairseq2#679, fairseq2 recipe/internal/task.py:38",
       {"stop_signal", "save_on_signal"}},
      {"rank 0 reads or writes, fails, and tells no other rank",
       "fairseq2 models/family.py:567, fairseq2 checkpoint/manager.py:494",
       {"download_fails", "commit_fails", "tokenize_on_rank_0"}},
      {"each rank lists the checkpoints",
       "fairseq2 trainer.py:363",
       {"resume_by_listing", "resume_step"}},
      {"metrics over dp, a barrier over root, keys",
       "fairseq2 trainer.py:860, fairseq2 validator.py:269",
       {"metrics_over_root", "metric_keys"}},
      {"only the root fails without scores", "fairseq2 validator.py:362", {"no_scores_on_root"}},
      {"one rank runs out of memory, no abort", "fairseq2 trainer.py:590", {"out_of_memory"}},
      {"an export that fails on the root", "fairseq2 checkpoint/hg.py:180", {"export_fails"}},
      {"a mesh with rank numbers of dp", "fairseq2 nn/fsdp/fsdp2.py:86", {"mesh_of_dp_ranks"}},
      {"a gradient reduced in place", "fairseq2 ops/tensor_parallel.py:23", {"tp_grad_in_place"}},
  };
}

// What PyTorch's ProcessGroupWrapper and monitored_barrier do not detect, or report wrongly.
std::vector<Cause> blind_spots() {
  return {
      {"the root", "", {"broadcast_from_self", "gather_on_leader"}},
      {"the reduce operation", "", {"sum_or_mean"}},
      {"the tag", "", {"wrong_tag"}},
      {"started against blocking", "", {"strict_port"}},
      {"split sizes", "", {"uneven_splits"}},
      {"strides", "", {"transposed_view"}},
      {"values", "", {"loss_scale", "ddp_buffers", "tp_own_data"}},
      {"all_gather and all_to_all of uneven sizes", "", {"last_batch", "uneven_splits"}},
      {"sends and receives", "", {"short_message", "token_type", "wrong_source", "extra_message"}},
      {"cycles of several groups", "", {"dp_and_tp", "three_gangs", "ring_of_gangs"}},
      {"barrier against all_reduce, reported as another operation", "", {"stop_signal"}},
      {"all ranks missing at a barrier, at once", "", {"stragglers"}},
      {"rank 0 missing at a barrier", "", {"late_leader"}},
      {"why a rank is missing", "", {"heartbeat", "lock_in_collective", "exhausted_loader"}},
  };
}

void expect_shown(const std::vector<Cause>& causes) {
  const std::vector<FaultyProgram> programs = all_faulty_programs();
  for (const Cause& cause : causes) {
    SCOPED_TRACE(cause.what);
    std::string seen;
    EXPECT_FALSE(cause.shown_by.empty());
    for (const std::string& name : cause.shown_by) {
      const auto shown = std::ranges::find(programs, name, &FaultyProgram::name);
      ASSERT_NE(shown, programs.end()) << name;
      seen += shown->seen_in + ", ";
    }
    std::istringstream places(cause.seen_in);
    for (std::string place; std::getline(places >> std::ws, place, ',');)
      EXPECT_THAT(seen, testing::HasSubstr(place + ","));
  }
}

TEST(AllFaultyPrograms, ShowWhatPeopleHaveReported) { expect_shown(reported_causes()); }

TEST(AllFaultyPrograms, ShowWhatCallersOfFairseq2DoWrong) { expect_shown(causes_in_fairseq2()); }

TEST(AllFaultyPrograms, ShowWhatOtherChecksMiss) { expect_shown(blind_spots()); }

// Every place in `seen_in` is in the lists above.
TEST(AllFaultyPrograms, NameOnlyListedPlaces) {
  std::string known;
  for (const auto& causes : {reported_causes(), causes_in_fairseq2()})
    for (const Cause& cause : causes) known += cause.seen_in + ", ";
  for (const FaultyProgram& faulty : all_faulty_programs()) {
    std::istringstream places(faulty.seen_in);
    for (std::string place; std::getline(places >> std::ws, place, ',');)
      EXPECT_THAT(known, testing::HasSubstr(place + ",")) << faulty.name;
  }
}

TEST(AllFaultyPrograms, AMissingRankIsFoundInALargeWorld) {
  const RunResult result =
      run_faulty(find_faulty(missing_participants, "missing_rank"), false, 2048);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings.front().ranks, testing::ElementsAre(1024));
}

TEST(AllFaultyPrograms, FollowTheCorrectOnes) {
  const std::vector<Program> programs = with_faulty_programs(all_programs());
  EXPECT_EQ(programs.size(), all_programs().size() + all_faulty_programs().size());
  EXPECT_TRUE(programs.front().finding.empty());
  EXPECT_FALSE(programs.back().finding.empty());
}

}  // namespace
}  // namespace gang::harness
