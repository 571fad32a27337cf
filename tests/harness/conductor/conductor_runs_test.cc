// One run after another, of processes that the conductor starts.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/harness/conductor/conducted_world.h"

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

}  // namespace
}  // namespace gang::harness
