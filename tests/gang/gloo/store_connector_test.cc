#include "gang/gloo/store_connector.h"

#include <csignal>

#include <gloo/transport/unbound_buffer.h>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class StoreConnectorTest : public testing::Test {
 protected:
  std::shared_ptr<GlooConnector> make_connector() {
    return make_store_connector(test::loopback_device(), store->new_client(), runtime);
  }

  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::shared_ptr<Store> store = make_memory_store(*runtime);
};

TEST_F(StoreConnectorTest, ConnectsEveryPair) {
  std::vector<std::jthread> ranks;
  std::vector<int> sums(3);
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto transport = make_connector()->connect({"gang", rank, 3}, 10s);
      int own = 1 << rank;
      std::vector<int> received(3);
      const auto out = transport->createUnboundBuffer(&own, sizeof(own));
      const auto in = transport->createUnboundBuffer(received.data(), 3 * sizeof(int));
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == rank) continue;
        in->recv(peer, 99, static_cast<std::size_t>(peer) * sizeof(int), sizeof(int));
        out->send(peer, 99, 0, sizeof(int));
      }
      for (int i = 0; i < 2; ++i) {
        in->waitRecv(10s);
        out->waitSend(10s);
      }
      for (const int value : received) sums[static_cast<std::size_t>(rank)] += value;
    });
  }
  ranks.clear();
  EXPECT_EQ(sums, (std::vector{6, 5, 3}));
}

TEST_F(StoreConnectorTest, AMemberThatDoesNotComeIsATimeoutOfTheStore) {
  try {
    make_connector()->connect({"gang", 0, 2}, 50ms);
    FAIL() << "connected to nobody";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreErrorKind::timeout);
    EXPECT_NE(std::string(error.what()).find("gang/1"), std::string::npos) << error.what();
  }
}

TEST_F(StoreConnectorTest, AddressesOfAnotherSizeOfGangAreCorrupt) {
  store->set_text("gang/1", "abcde");
  try {
    make_connector()->connect({"gang", 0, 3}, 5s);
    FAIL() << "took five bytes for two addresses";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreErrorKind::corrupt);
  }
}

TEST_F(StoreConnectorTest, TheFirstNoteStays) {
  const auto connector = make_connector();
  EXPECT_EQ(connector->find_note("gang"), std::nullopt);
  connector->leave_note("gang", "first");
  connector->leave_note("gang", "second");
  EXPECT_EQ(make_connector()->find_note("gang"), "first");
  EXPECT_EQ(connector->find_note("other"), std::nullopt);
}

TEST_F(StoreConnectorTest, WithoutAStoreNotesAreLost) {
  const auto client = store->new_client();
  const auto connector = make_store_connector(test::loopback_device(), client, runtime);
  client->cancel();
  connector->leave_note("gang", "first");
  EXPECT_EQ(connector->find_note("gang"), std::nullopt);
}

// Gloo writes to connections whose other end may be gone.
TEST(MakeTcpDevice, BrokenPipesDoNotEndTheProcess) {
  std::signal(SIGPIPE, SIG_DFL);
  const auto device = make_tcp_device("127.0.0.1");
  EXPECT_EQ(std::signal(SIGPIPE, SIG_IGN), SIG_IGN);
}

TEST(MakeTcpDevice, OfAHostThatDoesNotExistIsBadInput) {
  EXPECT_THROW(make_tcp_device("no such host"), InvalidArgument);
}

}  // namespace
}  // namespace gang
