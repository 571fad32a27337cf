// One run after another, of processes that the conductor starts.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/waiting_process.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)

// Forks ranks of this process; `program` has where they print.
class TestForks final : public RankLauncher {
 public:
  using Body = std::function<void(Client&, int out)>;

  TestForks(Poller& poller, Events events, Body program)
      : poller_(poller), events_(std::move(events)), program_(std::move(program)) {}
  ~TestForks() override {
    for (const auto& [process, ended_by] : processes_) poller_.remove(ended_by.get());
  }

  bool launches() const noexcept override { return true; }
  void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes pipes) override {
    const pid_t process = ::fork();
    if (process == 0) {
      // It would end with the thread that forks it, which is the rank's where contexts are threads.
      if (sim::SimulationOptions().context == sim::ContextKind::fiber)
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int world_size = std::stoi(environment.at("WORLD_SIZE"));
      live_as(environment.at(socket_variable), Client::caller(rank, world_size),
              [&](Client& client) { program_(client, pipes.out.get()); });
      ::_exit(0);
    }
    Descriptor& ended_by = processes_[process] =
        Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    poller_.add(ended_by.get(), [this, process] {
      int status = 0;
      ::waitpid(process, &status, 0);
      poller_.remove(processes_.at(process).get());
      processes_.erase(process);
      events_.ended(process, status);
    });
    events_.started(rank, process);
  }

 private:
  Poller& poller_;
  Events events_;
  Body program_;
  std::map<pid_t, Descriptor> processes_;
};

RunResult run_next(Conductor& conductor) {
  RunResult result =
      run(conductor.program("test"), {.program = "test", .world_size = 1}, {.settles = false});
  conductor.complete(result.report);
  conductor.end_run(result.report, to_string(result));
  return result;
}

TEST(ConductorRuns, EachBeginsWithAnEmptyStore) {
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(
      std::make_unique<TestForks>(conductor.poller(), conductor.events(), [](Client& client, int) {
        if (client.store({.function = StoreFunction::count}).number != 0) ::_exit(9);
        client.store({.function = StoreFunction::set, .keys = {"k"}, .values = {{}}});
      }));
  for (int i = 0; i < 2; ++i) {
    const RunResult result = run_next(conductor);
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

// The verdict is told once; what ranks print of it is not passed on.
TEST(ConductorRuns, AfterOneThatFailedTheNextIsHeardAgain) {
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("all"), out, out);
  conductor.set_launcher(std::make_unique<TestForks>(
      conductor.poller(), conductor.events(), [](Client& client, int to) {
        ::dprintf(to, "begun\n");
        try {
          client.store({.function = StoreFunction::get, .keys = {"never"}});
        } catch (const RunEnded&) {
          ::dprintf(to, "told\n");
        }
      }));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_next(conductor).report.outcome, sim::Outcome::deadlock);
  EXPECT_EQ(out.str(), "[0] begun\n[0] begun\n");
}

// One that notes what each process is told.
class NotedForks final : public RankLauncher {
 public:
  NotedForks(std::unique_ptr<RankLauncher> forks, std::function<void()> before,
             std::vector<ProcessEnvironment>& told)
      : forks_(std::move(forks)), before_(std::move(before)), told_(told) {}

  bool launches() const noexcept override { return true; }
  void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes pipes) override {
    before_();
    told_.push_back(environment);
    forks_->launch(rank, environment, std::move(pipes));
  }

 private:
  std::unique_ptr<RankLauncher> forks_;
  std::function<void()> before_;
  std::vector<ProcessEnvironment>& told_;
};

TEST(ConductorRuns, EachProcessIsToldItsRankAndTheWorld) {
  std::ostringstream out;
  Conductor conductor({.world_size = 3}, RankSelection("none"), out, out);
  std::vector<ProcessEnvironment> told;
  conductor.set_launcher(std::make_unique<NotedForks>(
      std::make_unique<TestForks>(conductor.poller(), conductor.events(), [](Client&, int) {}),
      [] {}, told));
  const RunResult result =
      run(conductor.program("test"), {.program = "test", .world_size = 3}, {.settles = false});
  EXPECT_TRUE(result.holds()) << to_string(result);
  ASSERT_EQ(told.size(), 3U);
  for (ProcessEnvironment& environment : told) {
    EXPECT_EQ(environment.at("RANK"), std::to_string(&environment - told.data()));
    EXPECT_EQ(environment.at("LOCAL_RANK"), environment.at("RANK"));
    EXPECT_EQ(environment.at("WORLD_SIZE"), "3");
    EXPECT_EQ(environment.at("LOCAL_WORLD_SIZE"), "3");
    EXPECT_FALSE(environment.contains("TORCHELASTIC_RESTART_COUNT"));
  }
  conductor.end_run(result.report, "");
}

// The first process of a rank that a fault restarts is killed before the second one begins.
TEST(ConductorRuns, ARestartedRankIsANewProcessThatIsToldSo) {
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  std::vector<ProcessEnvironment> told;
  std::vector<pid_t> processes;
  bool is_gone = false;
  RankLauncher::Events events = conductor.events();
  events.started = [&processes, started = events.started](int rank, pid_t process) {
    processes.push_back(process);
    started(rank, process);
  };
  const auto await_former = [&processes, &is_gone] {
    if (processes.empty()) return;
    siginfo_t info{};
    for (int i = 0; i < 200 && !is_gone; ++i) {
      ::waitid(P_PID, static_cast<id_t>(processes.front()), &info, WEXITED | WNOHANG | WNOWAIT);
      is_gone = info.si_pid != 0;
      std::this_thread::sleep_for(10ms);
    }
  };
  conductor.set_launcher(std::make_unique<NotedForks>(
      std::make_unique<TestForks>(
          conductor.poller(), events,
          [](Client& client, int) { client.call({.kind = OperationKind::barrier}); }),
      await_former, told));
  sim::Fault fault{.kind = sim::FaultKind::restart, .ranks = {0}, .delay = Duration(1)};
  fault.trigger.operation = 0;
  RunSpecification specification{.program = "test", .world_size = 1};
  specification.faults = sim::FaultPlan{.faults = {fault}};
  const RunResult result = run(conductor.program("test"), specification, {.settles = false});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_FALSE(told[0].contains("TORCHELASTIC_RESTART_COUNT"));
  EXPECT_EQ(told[1].at("TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_TRUE(is_gone);
  conductor.end_run(result.report, to_string(result));
}

TEST(ConductorRuns, AProcessThatExitsWithAStatusHasFailed) {
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(
      std::make_unique<TestForks>(conductor.poller(), conductor.events(), [](Client& client, int) {
        client.bye();
        ::_exit(9);
      }));
  const RunResult result = run_next(conductor);
  EXPECT_THAT(ids_of(result), testing::ElementsAre("rank_failed"));
  EXPECT_THAT(to_string(result), testing::HasSubstr("exited with status 9"));
}

TEST(ConductorRuns, OnlyCrashedRanksAreKilledBeforeTheyAreToldTheVerdict) {
  const std::string path = gang::test::temporary_directory() + "told";
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(std::make_unique<TestForks>(
      conductor.poller(), conductor.events(), [&path](Client& client, int) {
        client.call({.kind = OperationKind::barrier});
        try {
          client.store({.function = StoreFunction::get, .keys = {"never"}});
        } catch (const RunEnded&) {
          std::ofstream(path) << "told";
        }
      }));
  sim::Fault fault{.kind = sim::FaultKind::slow, .ranks = {0}, .delay = Duration(1)};
  RunSpecification specification{.program = "test", .world_size = 1};
  specification.faults = sim::FaultPlan{.faults = {fault}};
  RunResult result = run(conductor.program("test"), specification, {.settles = false});
  EXPECT_EQ(result.report.faults.size(), 1U) << to_string(result);
  conductor.complete(result.report);
  conductor.end_run(result.report, to_string(result));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ConductorRuns, ARankThatHasSaidByeIsOverThoughItsProcessGoesOn) {
  ConductedWorld world({.world_size = 1});
  const pid_t process = world.fork(0, [](Client& client) {
    client.bye();
    std::this_thread::sleep_for(20s);
  });
  const auto begin = std::chrono::steady_clock::now();
  const RunResult result = world.run([](Client&) {});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_TRUE(result.holds()) << to_string(result);
  ::kill(process, SIGKILL);
}

TEST(ConductorRuns, KeysThatNoRankSetsComeBeforeOtherFindings) {
  const RunResult result = conduct(1, [](Client& client) {
    client.tell(FindingMessage{.id = "own_finding", .message = "It is odd.", .ranks = {0}});
    client.store({.function = StoreFunction::get, .keys = {"never"}});
  });
  EXPECT_THAT(ids_of(result), testing::ElementsAre("store_key_missing", "own_finding"));
}

TEST(ConductorRuns, ARefusedRankIsToldWhichThereAre) {
  const auto refusal = [](const std::string& path, int rank, int world_size) {
    try {
      const Client client(path, Client::caller(rank, world_size));
      return std::string();
    } catch (const Refusal& refused) {
      return std::string(refused.what());
    }
  };
  conduct(2, [&refusal](Client& client) {
    if (client.rank() != 0) return void(client.call({.kind = OperationKind::barrier}));
    EXPECT_EQ(refusal(client.path(), 2, 2), "rank 2 of a world of 2; must be 0 to 1");
    EXPECT_EQ(refusal(client.path(), 0, 0), "rank 0 of a world of 0; must be 0 to 0");
    client.call({.kind = OperationKind::barrier});
  });
}

TEST(ConductorRuns, AFindingThatAProcessTellsWhileItIsBlockedIsAsCertainAsTheVerdict) {
  const RunResult result = conduct(1, [](Client& client) {
    client.tell(StoreMessage{.function = StoreFunction::get, .keys = {"never"}});
    client.tell(FindingMessage{.id = "own_finding", .message = "It is odd.", .ranks = {0}});
    client.receive();
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const sim::Finding told = finding_of(result, "own_finding");
  EXPECT_EQ(told.message, "It is odd.");
  ASSERT_TRUE(result.report.certainty);
  EXPECT_EQ(told.certainty, result.report.certainty);
}

// Interrupts a run while its ranks are outside of calls, and ends them a while later.
std::jthread interrupt_soon(std::atomic<bool>& interrupt, std::atomic<bool>& is_over) {
  return std::jthread([&] {
    std::this_thread::sleep_for(100ms);
    interrupt = true;
    std::this_thread::sleep_for(300ms);
    is_over = true;
  });
}

// Two ranks outside of any call, each with a thread that tells where it is.
TEST(ConductorRuns, OfSeveralRanksOutsideOfCallsThePlaceOfTheFirstIsNamed) {
  std::atomic<bool> interrupt = false;
  std::atomic<bool> is_over = false;
  std::jthread impatient;
  std::array<std::jthread, 2> watchers;  // outlive the world, whose end they wait for
  ConductedWorld world({.world_size = 2, .turns = {.interrupt = &interrupt}});
  const RunResult result = world.run([&](Client& client) {
    client.call({.kind = OperationKind::barrier});
    HelloMessage hello = Client::caller(client.rank(), 2);
    hello.is_watcher = true;
    const auto line = static_cast<std::uint32_t>(90 + client.rank());
    watchers.at(static_cast<std::size_t>(client.rank())) = std::jthread([hello, line,
                                                                         path = client.path()] {
      try {
        Client own(path, hello);
        own.set_stack(
            {{{.name = "MainThread", .frames = {CallSite::in_function("data.py\0load", line)}}}});
        own.receive();
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the run is over
      }
    });
    if (client.rank() == 0) impatient = interrupt_soon(interrupt, is_over);
    while (!is_over) {
    }
  });
  EXPECT_THAT(ids_of(result), testing::ElementsAre("deadlock"));
  EXPECT_EQ(finding_of(result, "deadlock").message,
            "Ranks 0-1 are outside of any call, rank 0 in load at data.py:90.");
  EXPECT_TRUE(world.conductor().turns().real_time(result.report.outcome).was_interrupted);
}

TEST(ConductorRuns, MissingKeysExplainWhyARankOutsideOfCallsIsNotNamed) {
  std::atomic<bool> interrupt = false;
  std::atomic<bool> is_over = false;
  std::jthread impatient;
  ConductedWorld world({.world_size = 2, .turns = {.interrupt = &interrupt}});
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 0) {
      client.store({.function = StoreFunction::get, .keys = {"never"}});
      return;
    }
    impatient = interrupt_soon(interrupt, is_over);
    while (!is_over) {
    }
  });
  EXPECT_THAT(ids_of(result), testing::ElementsAre("store_key_missing"));
  EXPECT_EQ(result.report.blocked.size(), 2U);
}

TEST(ConductorRuns, AFrameWithoutAFileHasItsFunction) {
  const RunResult result = conduct(1, [](Client& client) {
    client.set_stack({{{0, "MainThread", {CallSite::in_function("\0built_in", 0)}}}});
    client.store({.function = StoreFunction::get, .keys = {"never"}});
  });
  ASSERT_EQ(result.report.blocked.size(), 1U);
  ASSERT_EQ(result.report.blocked[0].call_stack.size(), 1U);
  EXPECT_EQ(result.report.blocked[0].call_stack[0].function, "built_in");
}

// One process that waits for a key which nobody sets, and then does `afterwards`; `go_on` is called
// between the verdict and the end of the run. How long that end took.
std::chrono::nanoseconds end_of_deadlock(
    const std::function<void()>& afterwards,
    const std::function<void(pid_t)>& go_on = [](pid_t) {}) {
  const SharedMemory memory(sizeof(pid_t));
  auto* const process = memory.at<pid_t>(0);
  std::ostringstream out;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(
      std::make_unique<TestForks>(conductor.poller(), conductor.events(), [&](Client& client, int) {
        *process = ::getpid();
        try {
          client.store({.function = StoreFunction::get, .keys = {"never"}});
        } catch (const RunEnded&) {
          afterwards();
        }
      }));
  const RunResult result =
      run(conductor.program("test"), {.program = "test", .world_size = 1}, {.settles = false});
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  go_on(*process);
  const auto begin = std::chrono::steady_clock::now();
  conductor.end_run(result.report, to_string(result));
  return std::chrono::steady_clock::now() - begin;
}

// A process that has been told waits for nothing of ours, though it has not read that yet.
TEST(ConductorRuns, AProcessHasTimeToEndOnceItIsTold) {
  const SharedMemory memory(sizeof(std::atomic<bool>));
  auto* const has_ended = memory.at<std::atomic<bool>>(0);
  std::jthread releases;
  end_of_deadlock([has_ended] { *has_ended = true; },
                  [&releases](pid_t process) {
                    ::kill(process, SIGSTOP);
                    releases = std::jthread([process] {
                      std::this_thread::sleep_for(300ms);
                      ::kill(process, SIGCONT);
                    });
                  });
  EXPECT_TRUE(*has_ended);
}

TEST(ConductorRuns, AProcessThatCannotEndIsNotWaitedFor) {
  EXPECT_LT(end_of_deadlock(waiting::wait_for_lock), 2s);
}

}  // namespace
}  // namespace gang::harness
