// A world whose ranks are threads of the test's process, or forks of it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conductor/client.h"
#include "harness/conductor/conductor.h"
#include "harness/run/runner.h"
#include "tests/harness/conductor/bytes.h"
#include "tests/harness/conductor/shared_memory.h"
#include "tests/temporary_directory.h"

namespace gang::harness::conducted {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct WorldOptions {
  int world_size = 2;
  ScheduleChoice schedule = ScheduleChoice::round_robin;
  std::uint64_t seed = 1;
  TurnOptions turns = {};
  sim::PendingTimeouts pending_timeouts = sim::PendingTimeouts::are_deadlocks;
};

using RankProgram = std::function<void(Client&)>;

// What a rank's process does between its hello and its bye.
inline void live_as(const std::string& path, const HelloMessage& hello,
                    const RankProgram& program) {
  try {
    Client client(path, hello);
    program(client);
    client.bye();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the run tells what it was
  }
}

// Runs `program` on another thread of the rank, which outlives `client`; returns once the thread
// has said hello.
inline std::jthread start_thread(Client& client, const std::string& name, RankProgram program) {
  std::promise<void> connected;
  std::future<void> is_connected = connected.get_future();
  std::jthread thread([path = client.path(), rank = client.rank(), world = client.world_size(),
                       name, program = std::move(program),
                       connected = std::move(connected)]() mutable {
    live_as(path, Client::caller(rank, world, name), [&](Client& own) {
      connected.set_value();
      program(own);
    });
  });
  is_connected.wait();
  return thread;
}

class ConductedWorld {
 public:
  explicit ConductedWorld(const WorldOptions& options) : options_(options) {
    static int worlds = 0;
    path_ = gang::test::temporary_directory() + "socket-" + std::to_string(worlds++);
  }
  ~ConductedWorld() {
    for (const auto& [rank, process] : forks_) ::waitpid(process, nullptr, 0);
  }
  ConductedWorld(const ConductedWorld&) = delete;
  ConductedWorld& operator=(const ConductedWorld&) = delete;

  const std::string& path() const noexcept { return path_; }
  HelloMessage caller(int rank, std::string thread_name = "MainThread") const {
    return Client::caller(rank, options_.world_size, std::move(thread_name));
  }

  // Before run(): the rank is a process of its own, which ends after `program`.
  pid_t fork(int rank, const RankProgram& program) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      live_as(path_, caller(rank), program);
      ::_exit(0);
    }
    forks_[rank] = process;
    return process;
  }

  // Once. The other ranks run `program` on threads.
  RunResult run(const RankProgram& program) {
    conductor_ = std::make_unique<Conductor>(
        ConductorOptions{
            .socket = path_, .world_size = options_.world_size, .turns = options_.turns},
        RankSelection("none"), out_, out_);
    conductor_->set_launcher(std::make_unique<NoLauncher>());
    conductor_->prepare_run(options_.seed);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < options_.world_size; ++rank)
      if (!forks_.contains(rank))
        ranks.emplace_back([this, rank, &program] { live_as(path_, caller(rank), program); });
    RunSpecification specification{
        .program = "test", .world_size = options_.world_size, .schedule = options_.schedule};
    specification.options.seed = options_.seed;
    specification.options.pending_timeouts = options_.pending_timeouts;
    RunResult result =
        harness::run(conductor_->program("test"), specification,
                     {.trace = sim::Recording::on, .outputs = KeepOutputs::data, .settles = false});
    conductor_->complete(result.report);
    conductor_->end_run(result.report, to_string(result));
    return result;
  }

  const Conductor& conductor() const noexcept { return *conductor_; }

 private:
  const WorldOptions options_;
  std::string path_;
  std::map<int, pid_t> forks_;
  std::ostringstream out_;
  std::unique_ptr<Conductor> conductor_;
};

inline RunResult conduct(const WorldOptions& options, const RankProgram& program) {
  return ConductedWorld(options).run(program);
}

inline RunResult conduct(int world_size, const RankProgram& program) {
  return conduct(WorldOptions{.world_size = world_size}, program);
}

inline std::vector<std::string> ids_of(const RunResult& result) {
  std::vector<std::string> ids;
  for (const sim::Finding& finding : result.report.findings) ids.push_back(finding.id);
  return ids;
}

// The finding of this id; an empty one if there is none.
inline sim::Finding finding_of(const RunResult& result, std::string_view id) {
  for (const sim::Finding& finding : result.report.findings)
    if (finding.id == id) return finding;
  return {};
}

// What a run tells that two runs of one schedule must share.
inline std::vector<std::uint64_t> identity_of(const RunResult& result) {
  return {result.report.trace.digest, result.outputs.digest, result.report.counts.switches,
          result.report.counts.choices};
}

}  // namespace gang::harness::conducted
