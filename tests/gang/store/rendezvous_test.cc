#include "gang/store/rendezvous.h"

#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/tcp_store.h"
#include "gang/store/tcp_store_server.h"
#include "tests/free_port.h"
#include "tests/gang/store/scripted_server.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Rendezvous : public testing::Test {
 protected:
  Environment environment(int rank, int world_size) const {
    return {.rank = rank,
            .world_size = world_size,
            .master_address = "127.0.0.1",
            .master_port = port_,
            .run_id = "job"};
  }

  // Runs `ranks` on a thread each; returns what each has thrown, as text, or "met".
  static std::vector<std::string> run(const std::vector<Environment>& ranks, Duration timeout) {
    std::vector<std::future<std::string>> outcomes;
    outcomes.reserve(ranks.size());
    for (const Environment& rank : ranks)
      outcomes.push_back(std::async(std::launch::async, [rank, timeout]() -> std::string {
        try {
          const std::shared_ptr<Store> store = make_rendezvous_store(rank, timeout);
          store->add("met", 1);
          return "met";
        } catch (const Error& error) {
          return error.what();
        }
      }));
    std::vector<std::string> texts;
    for (std::future<std::string>& outcome : outcomes) texts.push_back(outcome.get());
    return texts;
  }

  std::uint16_t port_ = test::free_port();
};

TEST_F(Rendezvous, AllRanksMeetWhereRankZeroHosts) {
  EXPECT_THAT(run({environment(2, 3), environment(0, 3), environment(1, 3)}, 20s),
              testing::Each("met"));
}

TEST_F(Rendezvous, AllRanksMeetAtTheAgentsStore) {
  const TcpStoreServer agent;
  std::vector<Environment> ranks = {environment(0, 2), environment(1, 2)};
  for (Environment& rank : ranks) {
    rank.master_port = agent.port();
    rank.use_agent_store = true;
  }
  EXPECT_THAT(run(ranks, 20s), testing::Each("met"));
  EXPECT_EQ(make_tcp_store({.port = agent.port()})->get_text("gangsim/job/0/met", 1s), "2");
}

TEST_F(Rendezvous, AllRanksMeetAtAnAgentsStoreOf1_13) {
  const TcpStoreServer agent({.dialect = TcpStoreDialect::pytorch_1_13});
  std::vector<Environment> ranks = {environment(0, 2), environment(1, 2)};
  for (Environment& rank : ranks) {
    rank.master_port = agent.port();
    rank.use_agent_store = true;
  }
  EXPECT_THAT(run(ranks, 20s), testing::Each("met"));
}

TEST_F(Rendezvous, ARestartMeetsAgainAtTheSameStore) {
  const TcpStoreServer agent;
  for (int restart = 0; restart < 2; ++restart) {
    std::vector<Environment> ranks = {environment(0, 2), environment(1, 2)};
    for (Environment& rank : ranks) {
      rank.master_port = agent.port();
      rank.use_agent_store = true;
      rank.restart_count = restart;
    }
    EXPECT_THAT(run(ranks, 20s), testing::Each("met"));
    EXPECT_EQ(make_tcp_store({.port = agent.port()})
                  ->get_text("gangsim/job/" + std::to_string(restart) + "/met", 1s),
              "2");
  }
}

TEST_F(Rendezvous, AnOldIncarnationIsNotTakenForANewOne) {
  const TcpStoreServer agent;
  std::vector<Environment> ranks = {environment(0, 2), environment(1, 2)};
  for (Environment& rank : ranks) {
    rank.master_port = agent.port();
    rank.use_agent_store = true;
  }
  ranks[0].restart_count = 1;
  const std::vector<std::string> texts = run(ranks, 200ms);
  EXPECT_THAT(texts[0], AllOf(HasSubstr("1 of 2 ranks came"), HasSubstr("missing: 1")));
  EXPECT_THAT(texts[1], AllOf(HasSubstr("1 of 2 ranks came"), HasSubstr("missing: 0")));
}

TEST_F(Rendezvous, AProcessAloneMeetsAtItsAgentsStoreToo) {
  const TcpStoreServer agent({.address = "127.0.0.2"});
  Environment alone = environment(0, 1);
  alone.master_address = "127.0.0.2";
  alone.master_port = agent.port();
  alone.use_agent_store = true;
  EXPECT_THAT(run({alone}, 20s), testing::Each("met"));
  const auto store = make_tcp_store({.host = "127.0.0.2", .port = agent.port()});
  EXPECT_EQ(store->get_text("gangsim/job/0/met", 1s), "1");
}

TEST_F(Rendezvous, AStoreOnThisHostIsNotOfferedToOthers) {
  std::shared_ptr<Store> first;
  std::thread host([this, &first] { first = make_rendezvous_store(environment(0, 2), 20s); });
  const std::shared_ptr<Store> second = make_rendezvous_store(environment(1, 2), 20s);
  host.join();
  EXPECT_THAT([&] { make_tcp_store({.host = "127.0.0.2", .port = port_, .timeout = 10ms}); },
              fails_with(StoreErrorKind::connection, "Connection refused"));
  second->cancel();
}

TEST_F(Rendezvous, AJobOfOneNeedsNoAddress) {
  const std::shared_ptr<Store> store = make_rendezvous_store({}, 20s);
  store->set_text("a", "1");
  EXPECT_EQ(store->new_client()->get_text("a", 1s), "1");
}

TEST_F(Rendezvous, RanksThatDoNotComeAreNamedToThoseThatDid) {
  const std::vector<std::string> texts = run({environment(0, 4), environment(2, 4)}, 200ms);
  EXPECT_THAT(texts, testing::Each(AllOf(HasSubstr("2 of 4 ranks came to the store at 127.0.0.1:" +
                                                   std::to_string(port_) + " within 200 ms"),
                                         HasSubstr("missing: 1, 3"))));
}

TEST_F(Rendezvous, TwoProcessesOfOneRankAreNamed) {
  const std::vector<std::string> texts =
      run({environment(0, 3), environment(1, 3), environment(1, 3)}, 300ms);
  EXPECT_THAT(texts, testing::Contains(
                         AllOf(HasSubstr("RANK is 1 for process"), HasSubstr("has it: process"))));
}

TEST_F(Rendezvous, ADifferentWorldSizeIsNamed) {
  const std::vector<std::string> texts = run({environment(0, 2), environment(1, 3)}, 300ms);
  EXPECT_THAT(texts, testing::Contains(AllOf(HasSubstr("WORLD_SIZE is"), HasSubstr("was told"))));
}

TEST_F(Rendezvous, AMissingVariableIsNamed) {
  Environment no_address = environment(0, 2);
  no_address.master_address.clear();
  EXPECT_THAT([&] { make_rendezvous_store(no_address, 1s); },
              ThrowsMessage<InvalidArgument>(HasSubstr("MASTER_ADDR is not set, but the 2")));
  Environment no_port = environment(0, 2);
  no_port.master_port = 0;
  EXPECT_THAT([&] { make_rendezvous_store(no_port, 1s); },
              ThrowsMessage<InvalidArgument>(HasSubstr("MASTER_PORT is not set, but the 2")));
  EXPECT_THROW(make_rendezvous_store(environment(0, 2), 0s), InvalidArgument);
}

TEST_F(Rendezvous, ASlurmJobMeetsAtItsFirstHostAndTheGivenPort) {
  std::vector<Environment> ranks;
  for (const char* rank : {"0", "1"}) {
    const EnvironmentVariables variables = {{"SLURM_PROCID", rank},
                                            {"SLURM_NTASKS", "2"},
                                            {"SLURM_LOCALID", rank},
                                            {"SLURM_JOB_NODELIST", "localhost"},
                                            {"MASTER_PORT", std::to_string(port_)}};
    ranks.push_back(parse_environment(variables).value());
  }
  EXPECT_THAT(run(ranks, 20s), testing::Each("met"));
  ranks[0].master_port = 0;
  EXPECT_THAT([&] { make_rendezvous_store(ranks[0], 1s); },
              ThrowsMessage<InvalidArgument>(HasSubstr("MASTER_PORT is not set")));
}

TEST_F(Rendezvous, APortInUseIsNamed) {
  const RawListener other;
  port_ = other.port();
  EXPECT_THAT([&] { make_rendezvous_store(environment(0, 2), 1s); },
              fails_with(StoreErrorKind::address_in_use,
                         "port " + std::to_string(port_) + ": the port is in use"));
}

TEST_F(Rendezvous, AMasterThatIsNotThereIsNamed) {
  EXPECT_THAT([&] { make_rendezvous_store(environment(1, 2), 50ms); },
              fails_with(StoreErrorKind::connection,
                         "connecting to the store at 127.0.0.1:" + std::to_string(port_)));
}

TEST_F(Rendezvous, AMasterThatIsNotAStoreIsNamed) {
  const ScriptedServer web({[](RawConnection& peer) {
    peer.receive(10);
    peer.send(std::as_bytes(std::span("HTTP/1.1 400 Bad Request\r\n")));
  }});
  port_ = web.port();
  EXPECT_THAT([&] { make_rendezvous_store(environment(1, 2), 5s); },
              fails_with(StoreErrorKind::dialect, "is not a store"));
}

TEST_F(Rendezvous, RankZeroStaysUntilTheOthersHaveLeft) {
  std::shared_ptr<Store> first;
  std::thread host([this, &first] { first = make_rendezvous_store(environment(0, 2), 20s); });
  const std::shared_ptr<Store> second = make_rendezvous_store(environment(1, 2), 20s);
  host.join();
  std::atomic<bool> has_left = false;
  std::thread leaving([&first, &has_left] {
    first.reset();
    has_left = true;
  });
  std::this_thread::sleep_for(10ms);
  second->set_text("last words", "");
  EXPECT_FALSE(has_left);
  second->cancel();
  leaving.join();
  EXPECT_TRUE(has_left);
}

}  // namespace
}  // namespace gang
