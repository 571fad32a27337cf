#include "harness/conductor/client.h"

#include <sys/socket.h>

#include <thread>

#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

TEST(Client, IsToldOfTheRun) {
  const WorldOptions options{.world_size = 3, .seed = 7};
  const RunResult result = conduct(options, [](Client& client) {
    EXPECT_EQ(client.welcome().version, protocol_version);
    EXPECT_EQ(client.world_size(), 3);
    EXPECT_EQ(client.seed(), 7U);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Client, ThrowsWhyItIsRefused) {
  ConductedWorld world({.world_size = 1});
  std::string reason;
  world.run([&](Client& client) {
    try {
      const Client other(client.path(), Client::caller(5, 9));
    } catch (const Refusal& refusal) {
      reason = refusal.what();
    }
  });
  EXPECT_THAT(reason, testing::HasSubstr("world"));
}

TEST(Client, ThrowsTheVerdictOnceTheRunIsOver) {
  std::string verdict;
  conduct(2, [&](Client& client) {
    if (client.rank() == 1) return;
    try {
      client.store({.function = StoreFunction::get, .keys = {"never"}});
    } catch (const RunEnded& ended) {
      verdict = ended.what();
    }
  });
  EXPECT_THAT(verdict, testing::HasSubstr("never"));
}

// A client, and what a conductor has of it.
struct Connected {
  std::unique_ptr<Client> client;
  std::unique_ptr<Caller> caller;
};

Connected connect() {
  const std::string path = gang::test::temporary_directory() + "client-socket";
  Poller poller;
  Connected both;
  Lobby lobby(poller, path, [&both](std::unique_ptr<Caller>& known, pid_t) {
    both.caller = std::move(known);
    return std::string();
  });
  const std::jthread rank(
      [&] { both.client = std::make_unique<Client>(path, Client::caller(0, 1)); });
  while (both.caller == nullptr) poller.poll(10ms);
  return both;
}

TEST(Client, AConductorThatIsGoneIsAnError) {
  Connected both = connect();
  both.caller.reset();
  EXPECT_THROW(
      {
        both.client->test(1);
        both.client->test(1);
      },
      Disconnected);
}

TEST(Client, EveryRequestThatMayBlockTellsOfTheSilentThreads) {
  const Connected both = connect();
  Connection& conductor = both.caller->connection;
  for (int i = 0; i < 2; ++i) conductor.send(frame_of(DoneMessage{{OperationResult{}}}));
  conductor.send(frame_of(FirstMessage{}));
  conductor.send(frame_of(StoredMessage{}));
  conductor.send(frame_of(TestedMessage{}));
  both.client->set_silent_threads({3});
  both.client->call({.kind = OperationKind::barrier});
  both.client->wait(1);
  both.client->wait_any({1});
  both.client->store({.function = StoreFunction::count});
  both.client->test(1);
  conductor.receive();
  KeptTexts texts;
  const auto next = [&] { return parse_message(conductor.take(), texts); };
  EXPECT_THAT(std::get<OperationMessage>(next()).threads, ElementsAre(3));
  EXPECT_THAT(std::get<WaitMessage>(next()).threads, ElementsAre(3));
  EXPECT_THAT(std::get<WaitMessage>(next()).threads, ElementsAre(3));
  EXPECT_THAT(std::get<StoreMessage>(next()).threads, ElementsAre(3));
  EXPECT_THAT(std::get<TestMessage>(next()).threads, ElementsAre(3));
}

// It comes once, in the place of an answer.
TEST(Client, TheVerdictIsThatOfEveryLaterRequest) {
  const Connected both = connect();
  both.caller->connection.send(frame_of(OverMessage{.error = "a deadlock"}));
  ::shutdown(both.caller->connection.descriptor(), SHUT_WR);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT([&] { both.client->test(1); }, testing::ThrowsMessage<RunEnded>("a deadlock"));
}

}  // namespace
}  // namespace gang::harness
