// Under a real torchrun: its store, its restarts, and its report of a failure.
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error_file.h"
#include "gang/store/rendezvous.h"
#include "tests/free_port.h"
#include "tests/gang/store/temporary_folder.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

// The worker of the tests below. Without torchrun, it is a job of one process.
TEST(TorchrunWorker, MeetsTheOthersOfItsJob) {
  const Environment environment = parse_environment(process_environment()).value_or(Environment{});
  const std::shared_ptr<Store> store = make_rendezvous_store(environment, 60s);
  EXPECT_LE(store->add("met", 1), environment.world_size) << "a past attempt is met";
  const std::string met = store->add("left", 1) == environment.world_size ? "all" : "";
  if (!met.empty()) store->set_text("all have left", met);
  EXPECT_EQ(store->get_text("all have left", 60s), "all");

  const char* mode = std::getenv("GANGSIM_TEST_WORKER");
  const bool is_first = environment.restart_count == 0 && environment.rank == 1;
  if (mode != nullptr && is_first) {
    const InvalidOperation error("the second rank fails on purpose");
    EXPECT_EQ(write_error_file(environment.error_file, describe_failure(error)), "");
    FAIL() << error.what();
  }
}

class Torchrun : public testing::Test {
 protected:
  // GANGSIM_TORCHRUN, a command, or the system's torchrun.
  static std::string command() {
    const char* chosen = std::getenv("GANGSIM_TORCHRUN");
    return chosen != nullptr ? chosen : "/usr/bin/torchrun";
  }

  void SetUp() override {
    if (std::system((command() + " --help >/dev/null 2>&1").c_str()) != 0)
      GTEST_SKIP() << "runs where torchrun is: apt-get install python3-torch, or set "
                      "GANGSIM_TORCHRUN to a command that runs it";
  }

  // Runs it with two workers; returns whether it succeeds, and keeps its output.
  bool run(const std::string& options) {
    const std::string worker = std::filesystem::read_symlink("/proc/self/exe").string() +
                               " --gtest_filter=TorchrunWorker.*";
    const std::string log = folder_.file("log").string();
    const std::string line = "GANGSIM_TEST_WORKER=fails_first " + command() +
                             " --nproc_per_node 2 --monitor_interval 0.2 -r 1 -t 1 " + options +
                             " --no_python " + worker + " >" + log + " 2>&1";
    const int status = std::system(line.c_str());
    std::ifstream file(log);
    std::stringstream text;
    text << file.rdbuf();
    output_ = text.str();
    return status == 0;
  }

  TemporaryFolder folder_;
  std::string output_;
};

TEST_F(Torchrun, RestartedWorkersMeetAgain) {
  EXPECT_TRUE(run("--max_restarts 1 --rdzv_backend c10d --rdzv_endpoint localhost:0")) << output_;
}

TEST_F(Torchrun, WhyAWorkerFailedIsPrinted) {
  EXPECT_FALSE(run("--max_restarts 0 --master_port " + std::to_string(test::free_port())));
  EXPECT_THAT(output_, HasSubstr("gang::InvalidOperation: the second rank fails on purpose"));
}

}  // namespace
}  // namespace gang
