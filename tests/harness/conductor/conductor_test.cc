#include "harness/conductor/conductor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "gang/error.h"
#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/frame_fuzzer.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;

using Values = std::vector<std::int32_t>;

OperationMessage sum_of(std::int32_t value) {
  return {.kind = OperationKind::all_reduce,
          .type = DataType::i32,
          .count = 1,
          .call_site = {.file = "train.py", .function = "step", .line = 7},
          .data = bytes_of(Values{value})};
}

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
    EXPECT_EQ(client.version(), protocol_version);
    EXPECT_EQ(client.world_size(), 3);
    EXPECT_EQ(client.seed(), 9U);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, RefusesWhoCannotBeARankOfThisWorld) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() != 0) return void(client.call(sum_of(1)));
    const std::string& path = client.path();
    HelloMessage hello = Client::caller(0, 2);
    hello.version = protocol_version + 1;
    EXPECT_THAT(refusal_of(path, hello),
                HasSubstr("version " + std::to_string(protocol_version + 1)));
    EXPECT_NE(refusal_of(path, Client::caller(2, 2)), "");
    EXPECT_NE(refusal_of(path, Client::caller(-1, 2)), "");
    EXPECT_NE(refusal_of(path, Client::caller(0, 0)), "");
    EXPECT_NE(refusal_of(path, Client::caller(0, 3)), "");
    EXPECT_EQ(client.call(sum_of(1)).values<std::int32_t>(), Values{2});
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
      live_as(path, Client::caller(rank, 3), [](Client& client) { client.call(sum_of(1)); });
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
                        {{.file = "a/net.py", .function = "reduce", .line = 2},
                         {.file = "train.py", .function = "main", .line = 7}}}}});
    if (client.rank() == 1) return;
    try {
      client.call(sum_of(1));
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

// -- Clients that are broken --

// A frame of `size` bytes, as its head says, of which `bytes` come.
std::vector<std::byte> head_of(std::uint32_t size, std::string_view bytes) {
  std::vector<std::byte> frame(sizeof size);
  std::memcpy(frame.data(), &size, sizeof size);
  const std::vector<std::byte> rest = bytes_of(bytes);
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

struct Break {
  const char* name;
  RankProgram program;
};

class BrokenClient : public testing::TestWithParam<Break> {};

// The others go on: they wait for nothing of it.
TEST_P(BrokenClient, FailsItsOwnRankOnly) {
  std::vector<std::int32_t> sums;
  const RunResult result = conduct(3, [&sums](Client& client) {
    client.group(1, "others", {0, 2});
    if (client.rank() == 1) {
      GetParam().program(client);
      throw Disconnected("without a bye");
    }
    OperationMessage message = sum_of(1);
    message.group = 1;
    for (int i = 0; i < 3; ++i) {
      const OperationResult sum = client.call(message);
      if (client.rank() == 0) sums.push_back(sum.values<std::int32_t>().at(0));
    }
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::failed) << to_string(result);
  EXPECT_THAT(ids_of(result), ElementsAre("rank_failed"));
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
  EXPECT_THAT(sums, ElementsAre(2, 2, 2));
}

// Sends `message`, which no client may, and waits until the connection is closed.
template <typename Message>
RankProgram telling(const Message& message) {
  return [message](Client& client) {
    client.tell(message);
    client.receive();
  };
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenClient,
    testing::Values(
        Break{"garbage",
              [](Client& client) {
                client.send(bytes_of("GET / HTTP/1.1\r\n\r\n and so on and on and on"));
                client.receive();
              }},
        Break{"unknown_kind", [](Client& client) { client.send(head_of(2, "\x63!")); }},
        Break{"truncated_fields", [](Client& client) { client.send(head_of(3, "\5\1\1")); }},
        Break{"huge_size", [](Client& client) { client.send(head_of(0xffffffffU, "x")); }},
        Break{"no_size", [](Client& client) { client.send(head_of(0, "x")); }},
        Break{"truncated_frame", [](Client& client) { client.send(head_of(100, "\4abc")); }},
        Break{"disappears", [](Client&) {}},
        Break{"disappears_in_a_call",
              [](Client& client) { client.send(frame_of(BlockMessage{1, 64})); }},
        Break{"second_hello", telling(Client::caller(1, 3))},
        Break{"group_zero", telling(GroupMessage{.name = "root", .ranks = {1}})},
        Break{"no_such_group", telling(CloseMessage{9})},
        Break{"no_such_work", telling(WaitMessage{.ids = {99}})},
        Break{"no_such_alternative", telling(WaitMessage{.ids = {99}, .is_for_any = true})},
        Break{"same_alternative", telling(WaitMessage{.ids = {1, 1}, .is_for_any = true})},
        Break{"no_such_test", telling(TestMessage{99})},
        Break{"no_such_drop", telling(DropMessage{99, {}})},
        Break{"block_without_memory", telling(BlockMessage{1, 64})},
        Break{"no_such_block", telling(OperationMessage{.block = 4, .first = {}})},
        Break{"small_block",
              [](Client& client) {
                const SharedMemory memory(64);
                client.send(frame_of(BlockMessage{1, 65}), memory.descriptor());
                client.receive();
              }},
        Break{"used_id",
              [](Client& client) {
                OperationMessage message = sum_of(1);
                message.id = 1ULL << 40U;
                client.send(frame_of(message));
                client.send(frame_of(message));
                client.receive();
              }},
        Break{"gang_of_number_zero", telling(OperationMessage{.id = 1ULL << 41U,
                                                              .is_blocking = true,
                                                              .kind = OperationKind::split,
                                                              .first = {0, 0}})},
        Break{"split_of_three", telling(OperationMessage{.id = 1ULL << 41U,
                                                         .is_blocking = true,
                                                         .kind = OperationKind::split,
                                                         .result = 5,
                                                         .first = {0, 0, 0}})},
        Break{"too_little_data",
              telling(OperationMessage{.kind = OperationKind::all_reduce, .count = 9})}),
    [](const auto& tested) { return tested.param.name; });

// Its rank may fail, and what it does to the gangs that it is in may, but nothing else happens.
TEST(Conductor, LivesWhateverAClientSends) {
  const TurnOptions impatient{.patience = 20ms, .stall_limit = 50ms, .silent_threads_limit = 50ms};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::array<std::int32_t, 3> values{};  // by rank
    const RunResult result = conduct({.world_size = 3, .turns = impatient}, [&](Client& client) {
      std::int32_t& value = values.at(static_cast<std::size_t>(client.rank()));
      client.group(1, "others", {0, 2});
      if (client.rank() == 1) {
        FrameFuzzer fuzzer(seed);
        const SharedMemory memory(64);
        for (int i = 0; i < 12; ++i)
          client.send(framed(fuzzer.mutated()), fuzzer.below(4) == 0 ? memory.descriptor() : -1);
        client.end_sending();
        // Until it is closed, or told that the run is over.
        while (!std::holds_alternative<OverMessage>(client.receive())) continue;
      }
      OperationMessage message = sum_of(1);
      message.group = 1;
      for (int i = 0; i < 3; ++i) value = client.call(message).values<std::int32_t>().at(0);
    });
    EXPECT_EQ(values, (std::array<std::int32_t, 3>{2, 0, 2})) << seed;
    EXPECT_NE(result.report.outcome, sim::Outcome::step_limit);
  }
}

// Stopped, a process takes no answers; the others do not wait for that.
TEST(Conductor, AProcessThatReadsNothingHoldsUpNobody) {
  const RunResult result = conduct(2, [](Client& client) {
    client.group(1, "alone", {client.rank()});
    OperationMessage own = sum_of(0);
    own.group = 1;
    if (client.rank() == 1) {
      for (int i = 0; i < 100; ++i) client.call(own);
      client.store({.function = StoreFunction::set, .keys = {"done"}, .values = {{}}});
      return;
    }
    constexpr int calls = 40;
    const Values large(20'000, 7);
    own.is_blocking = true;
    own.count = static_cast<std::int64_t>(large.size());
    own.data = bytes_of(large);
    for (int i = 0; i < calls; ++i) {
      own.id = (1ULL << 43U) + static_cast<std::uint64_t>(i);
      client.tell(own);
    }
    client.tell(StoreMessage{.function = StoreFunction::get, .keys = {"done"}});
    std::this_thread::sleep_for(50ms);
    for (int i = 0; i < calls; ++i) {
      const auto done = std::get<DoneMessage>(client.receive());
      EXPECT_EQ(done.results.at(0).values<std::int32_t>(), large);
    }
    EXPECT_EQ(std::get<StoredMessage>(client.receive()).status, Status::done);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Conductor, AProcessThatDiesIsNamed) {
  ConductedWorld world({.world_size = 2});
  world.fork(1, [](Client& client) {
    client.call(sum_of(1));
    ::raise(SIGKILL);
  });
  const RunResult result = world.run([](Client& client) {
    EXPECT_EQ(client.call(sum_of(2)).values<std::int32_t>(), Values{3});
    client.call(sum_of(2));
  });
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
}

TEST(Conductor, AProcessMayExitWithoutABye) {
  ConductedWorld world({.world_size = 2});
  world.fork(1, [](Client&) { ::_exit(0); });
  const RunResult result = world.run([](Client&) {});
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
}

TEST(Conductor, RanksMayBeProcesses) {
  ConductedWorld world({.world_size = 2});
  for (const int rank : {0, 1})
    world.fork(rank, [](Client& client) {
      const OperationResult sum = client.call(sum_of(client.rank() + 1));
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

// One thread of the rank waits in a call, another one breaks the protocol.
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

TEST(Conductor, AThreadThatBreaksTheProtocolEndsTheOthersCalls) {
  std::optional<Status> told;
  const RunResult result = conduct(2, [&told](Client& client) {
    if (client.rank() == 1)
      return void(client.store({.function = StoreFunction::get, .keys = {"never"}}));
    const std::jthread other = start_thread(client, "other", [](Client& own) {
      std::this_thread::sleep_for(20ms);
      own.send(head_of(1, "\x63"));
    });
    told = client.call(sum_of(1)).status;
  });
  EXPECT_EQ(told, Status::aborted);
}

TEST(Conductor, EveryBlockedThreadHasItsOwnStack) {
  std::jthread loader;
  const RunResult result = conduct(2, [&loader](Client& client) {
    if (client.rank() == 1) return;
    client.set_stack(
        {{{0, "MainThread", {{.file = "d/train.py", .function = "step", .line = 2}}}}});
    loader = start_thread(client, "loader", [](Client& own) {
      own.set_stack({{{0, "loader", {{.file = "d/load.py", .function = "next", .line = 4}}}}});
      own.store({.function = StoreFunction::get, .keys = {"never"}});
    });
    client.call(sum_of(1));
  });
  std::map<std::string, std::vector<SourceLocation>> stacks;
  for (const sim::BlockedCall& blocked : result.report.blocked)
    stacks[blocked.context] = blocked.call_stack;
  EXPECT_THAT(stacks[""], ElementsAre(SourceLocation{"d/train.py", 2, "step"}));
  EXPECT_THAT(stacks["loader"], ElementsAre(SourceLocation{"d/load.py", 4, "next"}));
}

}  // namespace
}  // namespace gang::harness
