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
    EXPECT_EQ(client.version(), protocol_version);
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

TEST(Client, AConductorThatIsGoneIsAnError) {
  const std::string path = gang::test::temporary_directory() + "client-socket";
  std::unique_ptr<Client> client;
  {
    Poller poller;
    std::unique_ptr<Caller> caller;
    Lobby lobby(poller, path, [&](std::unique_ptr<Caller>& known, pid_t) {
      caller = std::move(known);
      return std::string();
    });
    const std::jthread rank([&] { client = std::make_unique<Client>(path, Client::caller(0, 1)); });
    while (caller == nullptr) poller.poll(10ms);
  }
  EXPECT_THROW(
      {
        client->test(1);
        client->test(1);
      },
      Disconnected);
}

}  // namespace
}  // namespace gang::harness
