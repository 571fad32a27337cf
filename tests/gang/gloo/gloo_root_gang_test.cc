// The root gang of real processes: this test's own executable, started again for each rank.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/agreement.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/store/tcp_store_server.h"
#include "tests/free_port.h"
#include "tests/gang/gloo/gloo_ranks.h"
#include "tests/worker_process.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

// What the processes below run. On its own it is a job of one process.
TEST(GlooRootGangWorker, DoesItsPart) {
  const auto environment = parse_environment(process_environment());
  const char* mode = std::getenv("GANGSIM_TEST_WORKER");
  const bool is_monitored = mode != nullptr && std::string(mode) == "monitored";
  auto root = setup_root_gang(
      environment,
      {.timeout = 20s,
       .monitored = is_monitored ? Monitoring::before_every_operation : Monitoring::off});
  const int size = root->size();
  EXPECT_EQ(all_sum(*root, root->rank()), std::int64_t{size} * (size - 1) / 2);
  const auto half = root->split({.color = root->rank() % 2});
  EXPECT_EQ(all_sum(*half, 1), half->size());
  if (mode == nullptr || is_monitored || size == 1) return root->close();

  // One dies; the others learn of it at once.
  root->barrier();
  if (root->rank() == 1) ::raise(SIGKILL);
  const auto began = std::chrono::steady_clock::now();
  const auto error = test::error_of([&root] { root->barrier(); });
  EXPECT_EQ(error.kind, "peer_failed") << error.text;
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

using test::environment_of;
using test::free_port;
using test::Variables;
using test::wait_for;

pid_t start_worker(const Variables& variables) {
  return test::start_worker("GlooRootGangWorker.*", variables);
}

std::vector<int> run_workers(int size, const Variables& further) {
  const std::uint16_t port = free_port();
  std::vector<pid_t> workers;
  for (int rank = 0; rank < size; ++rank) {
    Variables variables = environment_of(rank, size, port);
    variables.insert(variables.end(), further.begin(), further.end());
    workers.push_back(start_worker(variables));
  }
  return wait_for(workers);
}

TEST(GlooRootGang, IsMadeUnderPlainEnvironmentVariables) {
  EXPECT_THAT(run_workers(3, {}), testing::Each(0));
}

TEST(GlooRootGang, IsMonitoredIfAsked) {
  EXPECT_THAT(run_workers(3, {{"GANGSIM_TEST_WORKER", "monitored"}}), testing::Each(0));
}

TEST(GlooRootGang, IsMadeAtTheStoreOfAnAgent) {
  const TcpStoreServer agent;
  std::vector<pid_t> workers;
  for (int rank = 0; rank < 3; ++rank) {
    Variables variables = environment_of(rank, 3, agent.port());
    variables.insert(variables.end(), {{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                       {"TORCHELASTIC_RESTART_COUNT", "2"},
                                       {"TORCHELASTIC_MAX_RESTARTS", "3"},
                                       {"TORCHELASTIC_RUN_ID", "job"}});
    workers.push_back(start_worker(variables));
  }
  EXPECT_THAT(wait_for(workers), testing::Each(0));
}

TEST(GlooRootGang, IsMadeUnderSlurm) {
  const std::uint16_t port = free_port();
  std::vector<pid_t> workers;
  for (int rank = 0; rank < 2; ++rank)
    workers.push_back(start_worker({{"SLURM_PROCID", std::to_string(rank)},
                                    {"SLURM_NTASKS", "2"},
                                    {"SLURM_LOCALID", std::to_string(rank)},
                                    {"SLURM_JOB_NODELIST", "localhost"},
                                    {"MASTER_PORT", std::to_string(port)}}));
  EXPECT_THAT(wait_for(workers), testing::Each(0));
}

TEST(GlooRootGang, AKilledProcessIsNoticedAtOnce) {
  const std::vector<int> statuses = run_workers(4, {{"GANGSIM_TEST_WORKER", "dies"}});
  EXPECT_EQ(statuses, (std::vector{0, 1000 + SIGKILL, 0, 0}));
}

TEST(GlooRootGang, IsMadeUnderTorchrun) {
  const char* chosen = std::getenv("GANGSIM_TORCHRUN");
  const std::string torchrun = chosen != nullptr ? chosen : "/usr/bin/torchrun";
  if (std::system((torchrun + " --help >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "runs where torchrun is: apt-get install python3-torch, or set "
                    "GANGSIM_TORCHRUN to a command that runs it";
  const std::string worker = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      torchrun + " --nproc_per_node 3 --master_port " + std::to_string(free_port()) +
      " -r 1 -t 1 --no_python " + worker +
      " --gtest_filter=GlooRootGangWorker.* --gtest_brief=1 >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(GlooRootGang, RanksThatDoNotComeAreATimeoutThatNamesThem) {
  const Environment environment{
      .rank = 0, .world_size = 3, .master_address = "127.0.0.1", .master_port = free_port()};
  const auto error = test::error_of([&] { make_gloo_root_gang(environment, {.timeout = 200ms}); });
  EXPECT_EQ(error.kind, "timeout") << error.text;
  EXPECT_THAT(error.text, HasSubstr("1 of 3 ranks came"));
  EXPECT_THAT(error.text, HasSubstr("missing: 1, 2"));
}

TEST(GlooRootGang, WithoutAnAddressItIsBadInput) {
  EXPECT_THROW(make_gloo_root_gang({.rank = 0, .world_size = 2}, {.timeout = 1s}), InvalidArgument);
}

TEST(GlooRootGang, OfOneProcessNeedsNoMeetingPoint) {
  EXPECT_TRUE(gloo_availability().is_available);
  const auto gang = make_gloo_root_gang({.rank = 0, .world_size = 1}, {.timeout = 3s});
  EXPECT_EQ(gang->size(), 1);
  EXPECT_EQ(gang->info().backend, "gloo");
  EXPECT_EQ(gang->timeout(), Duration(3s));
}

}  // namespace
}  // namespace gang
