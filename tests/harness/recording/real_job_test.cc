// Real Gloo processes of which one is killed or stopped; their dumps name it.
#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/environment.h"
#include "gang/root_gang.h"
#include "harness/recording/dump_files.h"
#include "harness/recording/explained_recording.h"
#include "tests/free_port.h"
#include "tests/temporary_directory.h"
#include "tests/worker_process.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

// What the processes below run: steps of training, in which rank 2 signals itself in the fourth. On
// its own it is a job of one process.
TEST(RecordedJobWorker, Trains) {
  const auto environment = parse_environment(process_environment());
  const auto root = setup_root_gang(environment, {.timeout = 3s});
  const auto half = root->split({.color = root->rank() / 2}, {.name = "half"});
  std::vector<float> gradients(64, 1);
  const char* const text = std::getenv("GANGSIM_TEST_SIGNAL");
  const int signal = text == nullptr ? 0 : std::atoi(text);
  try {
    for (int step = 0; step < 6; ++step) {
      half->all_reduce(view(gradients), ReduceOperation::mean);
      if (signal != 0 && root->rank() == 2 && step == 3) {
        ::raise(signal);
        while (true) ::pause();  // as if it hung
      }
      root->all_reduce(view(gradients), ReduceOperation::sum);
    }
  } catch (const GangError&) {
    ASSERT_NE(signal, 0);
  }
}

// The dumps of four processes. `signal`: what befalls rank 2; 0: nothing.
std::string dumps_of_job(int signal, const std::string& name) {
  const std::string folder = test::temporary_directory() + name;
  std::filesystem::remove_all(folder);
  const std::uint16_t port = test::free_port();
  std::vector<pid_t> workers;
  for (int rank = 0; rank < 4; ++rank) {
    test::Variables variables = test::environment_of(rank, 4, port);
    variables.emplace_back("GANGSIM_RECORD", folder);
    variables.emplace_back("GANGSIM_TEST_SIGNAL", std::to_string(signal));
    workers.push_back(test::start_worker("RecordedJobWorker.*", variables));
  }
  EXPECT_EQ(test::wait_for({workers[0], workers[1], workers[3]}), (std::vector{0, 0, 0}));
  ::kill(workers[2], SIGKILL);
  test::wait_for({workers[2]});
  return folder;
}

void expect_rank_2_named(const std::string& folder) {
  EXPECT_FALSE(std::filesystem::exists(folder + "/nccl_trace_rank_2"));
  const RunResult result = explain(read_recording({folder}), "job", "explain job");
  ASSERT_EQ(result.report.findings.size(), 1U) << to_string(result.report);
  const sim::Finding& finding = result.report.findings[0];
  EXPECT_EQ(finding.id, "participant_missing");
  EXPECT_EQ(finding.ranks, std::vector{2}) << to_string(result.report);
  // The split was #0 of its gang.
  EXPECT_EQ(to_string(finding.call).substr(0, 13), "all_reduce #4");
  EXPECT_THAT(to_string(result.report), testing::HasSubstr("rank 2's dump is missing"));
}

TEST(RecordedJob, ARankThatIsKilledIsNamed) {
  expect_rank_2_named(dumps_of_job(SIGKILL, "killed_job"));
}

TEST(RecordedJob, ARankThatIsStoppedIsNamed) {
  expect_rank_2_named(dumps_of_job(SIGSTOP, "stopped_job"));
}

TEST(RecordedJob, ARankThatHangsLeavesItsDumpOnASignal) {
  const std::string folder = dumps_of_job(SIGUSR1, "hung_job");
  const Recording recording = read_recording({folder});
  EXPECT_TRUE(recording.evidence.missing.empty());
  EXPECT_EQ(recording.ranks[2].end, sim::LaneEnd::none);
  const RunResult result = explain(recording, "job", "explain job");
  ASSERT_EQ(result.report.findings.size(), 1U) << to_string(result.report);
  EXPECT_EQ(result.report.findings[0].id, "participant_missing");
  EXPECT_EQ(result.report.findings[0].ranks, std::vector{2});
}

TEST(RecordedJob, AJobThatEndsHolds) {
  const std::string folder = dumps_of_job(0, "sound_job");
  const Recording recording = read_recording({folder});
  EXPECT_TRUE(recording.evidence.missing.empty());
  EXPECT_EQ(recording.ranks[2].calls.size(), 13U);
  EXPECT_TRUE(explain(recording, "job", "explain job").holds());
}

}  // namespace
}  // namespace gang::harness
