#include "harness/conductor/conductor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "gang/error.h"
#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/int_operations.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;

using Values = std::vector<std::int32_t>;

// Why the conductor refuses it; empty if it is welcome.
std::string refusal_of(const std::string& path, const HelloMessage& hello) {
  try {
    Client client(path, hello);
    return "";
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
}

TEST(Conductor, WelcomesWithTheWorldAndTheSeed) {
  const RunResult result = conduct({.world_size = 3, .seed = 9}, [](Client& client) {
    EXPECT_EQ(client.welcome().version, protocol_version);
    EXPECT_EQ(client.world_size(), 3);
    EXPECT_EQ(client.seed(), 9U);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, RefusesWhoCannotBeARankOfThisWorld) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() != 0) return void(client.call(int_sum(1)));
    const std::string& path = client.path();
    HelloMessage hello = Client::caller(0, 2);
    hello.version = protocol_version + 1;
    EXPECT_THAT(refusal_of(path, hello),
                HasSubstr("version " + std::to_string(protocol_version + 1)));
    EXPECT_NE(refusal_of(path, Client::caller(2, 2)), "");
    EXPECT_NE(refusal_of(path, Client::caller(-1, 2)), "");
    EXPECT_NE(refusal_of(path, Client::caller(0, 0)), "");
    EXPECT_NE(refusal_of(path, Client::caller(0, 3)), "");
    EXPECT_EQ(client.call(int_sum(1)).values<std::int32_t>(), Values{2});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, RefusesASecondProcessForARank) {
  ConductedWorld world({.world_size = 1});
  std::array<int, 2> first_has_joined{};
  ASSERT_EQ(::pipe(first_has_joined.data()), 0);
  const pid_t second = ::fork();
  if (second == 0) {
    char byte = 0;
    if (::read(first_has_joined[0], &byte, 1) != 1) ::_exit(2);
    ::_exit(refusal_of(world.path(), world.caller(0)).empty() ? 1 : 0);
  }
  const RunResult result = world.run([second, &first_has_joined](Client&) {
    ASSERT_EQ(::write(first_has_joined[1], "", 1), 1);
    int status = -1;
    ::waitpid(second, &status, 0);
    EXPECT_EQ(status, 0);
  });
  for (const int end : first_has_joined) ::close(end);
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, TheFirstProcessMaySayHowLargeTheWorldIs) {
  const std::string path = gang::test::temporary_directory() + "world";
  std::ostringstream out;
  Conductor conductor({.socket = path}, RankSelection("none"), out, out);
  conductor.set_launcher(std::make_unique<NoLauncher>());
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&path, rank] {
      live_as(path, Client::caller(rank, 3), [](Client& client) { client.call(int_sum(1)); });
    });
  EXPECT_EQ(conductor.await_world(), 3);
  const Program program = conductor.program("test");
  EXPECT_EQ(program.default_world_size, 3);
  const RunResult result = run(program, {.program = "test"}, {.settles = false});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, TellsTheVerdictToWhoeverIsBlocked) {
  std::vector<std::string> told(3);
  const RunResult result = conduct(3, [&told](Client& client) {
    client.set_stack({{{0,
                        "MainThread",
                        {CallSite::in_function("a/net.py\0reduce", 2),
                         CallSite::in_function("train.py\0main", 7)}}}});
    if (client.rank() == 1) return;
    try {
      client.call(int_sum(1));
    } catch (const RunEnded& over) {
      told[static_cast<std::size_t>(client.rank())] = over.what();
      throw;
    }
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(ids_of(result), ElementsAre("participant_missing"));
  EXPECT_THAT(told,
              ElementsAre(HasSubstr("participant_missing"), "", HasSubstr("participant_missing")));
  ASSERT_EQ(result.report.blocked.size(), 2U);
  for (const sim::BlockedCall& blocked : result.report.blocked)
    EXPECT_THAT(blocked.call_stack, ElementsAre(SourceLocation{"a/net.py", 2, "reduce"},
                                                SourceLocation{"train.py", 7, "main"}));
}

TEST(Conductor, AProcessThatDiesIsNamed) {
  ConductedWorld world({.world_size = 2});
  world.fork(1, [](Client& client) {
    client.call(int_sum(1));
    ::raise(SIGKILL);
  });
  const RunResult result = world.run([](Client& client) {
    EXPECT_EQ(client.call(int_sum(2)).values<std::int32_t>(), Values{3});
    client.call(int_sum(2));
  });
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
}

TEST(Conductor, AProcessMayExitWithoutABye) {
  ConductedWorld world({.world_size = 2});
  world.fork(1, [](Client&) { ::_exit(0); });
  const RunResult result = world.run([](Client&) {});
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
}

// Its process has ended before the hello of its thread is read.
class LateHelloLauncher final : public RankLauncher {
 public:
  LateHelloLauncher(Conductor& conductor, std::string& refusal)
      : conductor_(conductor), refusal_(refusal) {}
  bool launches() const noexcept override { return true; }
  void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes) override {
    const Events events = conductor_.events();
    events.started(rank, ::getpid());
    events.ended(::getpid(), 0);
    std::atomic<bool> is_refused = false;
    const std::jthread late([&] {
      refusal_ = refusal_of(environment.at(socket_variable), Client::caller(rank, 1));
      is_refused = true;
    });
    while (!is_refused) conductor_.poller().poll(1ms);
  }

 private:
  Conductor& conductor_;
  std::string& refusal_;
};

TEST(Conductor, AThreadWhoseHelloComesLateIsNotARankThatTheProgramStarts) {
  std::ostringstream out;
  std::string refusal;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(std::make_unique<LateHelloLauncher>(conductor, refusal));
  RunResult result = run(conductor.program("test"), {.program = "test"}, {.settles = false});
  EXPECT_NE(refusal, "");
  EXPECT_NO_THROW(conductor.complete(result.report));
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, RanksMayBeProcesses) {
  ConductedWorld world({.world_size = 2});
  for (const int rank : {0, 1})
    world.fork(rank, [](Client& client) {
      const OperationResult sum = client.call(int_sum(client.rank() + 1));
      client.tell(
          OutputMessage{.name = "sum", .type = DataType::i32, .count = 1, .values = sum.data});
    });
  const RunResult result = world.run([](Client&) {});
  EXPECT_TRUE(result.holds()) << to_string(result);
  ASSERT_EQ(result.outputs.by_rank.size(), 2U);
  for (const auto& outputs : result.outputs.by_rank) {
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(values_in<std::int32_t>(outputs[0].data), Values{3});
  }
}

// What it is asked to wait for at the end of a run.
class PatientLauncher final : public RankLauncher {
 public:
  explicit PatientLauncher(std::vector<Duration>& limits) : limits_(limits) {}
  bool launches() const noexcept override { return false; }
  void launch(int, const ProcessEnvironment&, RankOutput::Pipes) override {}
  bool await_end(Duration limit) override {
    limits_.push_back(limit);
    return true;
  }

 private:
  std::vector<Duration>& limits_;
};

TEST(Conductor, WhatStartedTheRanksHasAllTheTimeItNeedsOnlyAfterARunThatHolds) {
  std::ostringstream out;
  std::vector<Duration> limits;
  Conductor conductor({.world_size = 1}, RankSelection("none"), out, out);
  conductor.set_launcher(std::make_unique<PatientLauncher>(limits));
  sim::Report report;
  EXPECT_TRUE(conductor.end_run(report, ""));
  report.outcome = sim::Outcome::deadlock;
  EXPECT_TRUE(conductor.end_run(report, ""));
  EXPECT_THAT(limits, ElementsAre(no_timeout, testing::Lt(Duration(60s))));
}

TEST(Conductor, EveryBlockedThreadHasItsOwnStack) {
  std::jthread loader;
  const RunResult result = conduct(2, [&loader](Client& client) {
    if (client.rank() == 1) return;
    client.set_stack({{{0, "MainThread", {CallSite::in_function("d/train.py\0step", 2)}}}});
    loader = start_thread(client, "loader", [](Client& own) {
      own.set_stack({{{0, "loader", {CallSite::in_function("d/load.py\0next", 4)}}}});
      own.store({.function = StoreFunction::get, .keys = {"never"}});
    });
    client.call(int_sum(1));
  });
  std::map<std::string, std::vector<SourceLocation>> stacks;
  for (const sim::BlockedCall& blocked : result.report.blocked)
    stacks[blocked.context] = blocked.call_stack;
  EXPECT_THAT(stacks[""], ElementsAre(SourceLocation{"d/train.py", 2, "step"}));
  EXPECT_THAT(stacks["loader"], ElementsAre(SourceLocation{"d/load.py", 4, "next"}));
}

}  // namespace
}  // namespace gang::harness
