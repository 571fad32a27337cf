#include "gang/gloo/store_connector.h"

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include <gloo/transport/address.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>
#include <netinet/in.h>

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

TEST_F(StoreConnectorTest, AddressesOfAGangOfADifferentSizeAreCorrupt) {
  store->set_text("gang/1", "abcde");
  try {
    make_connector()->connect({"gang", 0, 3}, 5s);
    FAIL() << "took five bytes for two addresses";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreErrorKind::corrupt);
  }
}

// Two members of a gang: the other leaves while this one connects a gang of both.
class ConnectingTest : public StoreConnectorTest {
 protected:
  ConnectingTest() {
    std::jthread other([this] { other_ = other_connector_->connect({"parent", 1, 2}, 10s); });
    own_ = connector_->watched(connector_->connect({"parent", 0, 2}, 10s), "parent");
  }

  // How that ends.
  void expect_lost(int rank) {
    const std::array both = {0, 1};
    const TimePoint began = runtime->now();
    try {
      connector_->connect(
          {.prefix = "child", .rank = 0, .size = 2, .parent = own_.get(), .parent_ranks = both},
          20s);
      ADD_FAILURE() << "connected to nobody";
    } catch (const MembersLost& error) {
      EXPECT_EQ(error.rank(), rank) << error.what();
    }
    EXPECT_LT(runtime->now() - began, 10s);
  }

  // The address of the other at `host`, where nothing listens any more. The greater of two
  // addresses connects.
  void publish_address(in_addr_t host) {
    const auto transport = test::loopback_device()->createContext(1, 2);
    std::vector<char> address = transport->createPair(0)->address().bytes();
    auto* const socket_address = reinterpret_cast<sockaddr_in*>(address.data());
    socket_address->sin_addr.s_addr = host;
    store->set("child/1", std::as_bytes(std::span<const char>(address)));
  }

  std::shared_ptr<GlooConnector> connector_ = make_connector();
  std::shared_ptr<GlooConnector> other_connector_ = make_connector();
  std::shared_ptr<gloo::transport::Context> own_;
  std::shared_ptr<gloo::transport::Context> other_;
};

TEST_F(ConnectingTest, AWaitForAnAddressEndsWhenItsMemberIsLost) {
  std::jthread other([this] {
    std::this_thread::sleep_for(50ms);
    other_.reset();
  });
  expect_lost(1);
}

TEST_F(ConnectingTest, AWaitForAnAddressEndsWhenTheParentIsBroken) {
  std::jthread other([this] {
    std::this_thread::sleep_for(50ms);
    other_connector_->leave_note("parent", "broken");
  });
  expect_lost(no_rank);
}

TEST_F(ConnectingTest, ARefusedConnectionShowsThatItsMemberIsLost) {
  publish_address(0);
  other_.reset();
  expect_lost(1);
}

TEST_F(ConnectingTest, AWaitForAConnectionEndsWhenItsMemberIsLost) {
  publish_address(0xffffffff);
  std::jthread other([this] {
    std::this_thread::sleep_for(50ms);
    other_.reset();
  });
  expect_lost(1);
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
  const auto own = [](int) {};
  std::signal(SIGPIPE, own);
  make_tcp_device("127.0.0.1");
  EXPECT_NE(std::signal(SIGPIPE, SIG_IGN), SIG_IGN) << "the handler of a program stays";
}

TEST(MakeTcpDevice, OfAHostThatDoesNotExistIsBadInput) {
  EXPECT_THROW(make_tcp_device("no such host"), InvalidArgument);
}

}  // namespace
}  // namespace gang
