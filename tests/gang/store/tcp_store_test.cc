#include "gang/store/tcp_store.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/tcp_store_server.h"
#include "tests/gang/store/recorded_sessions.h"
#include "tests/gang/store/scripted_server.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class TcpStores : public testing::TestWithParam<TcpStoreDialect> {
 protected:
  std::shared_ptr<Store> connect() const {
    return make_tcp_store({.port = server_.port(), .dialect = GetParam(), .timeout = 10s});
  }
  static std::thread later(std::function<void()> body) {
    return std::thread([body = std::move(body)] {
      std::this_thread::sleep_for(3ms);
      body();
    });
  }
  std::string place() const { return "127.0.0.1:" + std::to_string(server_.port()); }

  TcpStoreServer server_;
  std::shared_ptr<Store> store_ = connect();
};

INSTANTIATE_TEST_SUITE_P(Both, TcpStores,
                         testing::Values(TcpStoreDialect::pytorch_1_13, TcpStoreDialect::pytorch_2),
                         [](const auto& dialect) {
                           return dialect.param == TcpStoreDialect::pytorch_2 ? "PyTorch2"
                                                                              : "PyTorch1_13";
                         });

TEST_P(TcpStores, ClientsShareTheMap) {
  const std::shared_ptr<Store> other = connect();
  store_->set_text("a", "1");
  EXPECT_EQ(other->get_text("a", 1s), "1");
  EXPECT_EQ(other->try_get_text("a"), "1");
  EXPECT_EQ(other->try_get("b"), std::nullopt);
  EXPECT_EQ(store_->add("n", 3), 3);
  EXPECT_EQ(other->add("n", -5), -2);
  EXPECT_EQ(store_->compare_set_text("c", "", "first"), "first");
  EXPECT_EQ(other->compare_set_text("c", "", "second"), "first");
  EXPECT_EQ(store_->compare_set_text("missing", "x", "y"), "x");
  const std::vector<std::string> keys = {"a", "n"};
  EXPECT_TRUE(store_->check(keys));
  store_->wait(keys, 1s);
  EXPECT_EQ(store_->num_keys(), 3);
  EXPECT_TRUE(other->delete_key("a"));
  EXPECT_FALSE(store_->check(keys));
}

TEST_P(TcpStores, AppendIsTheDialectsOwn) {
  if (GetParam() == TcpStoreDialect::pytorch_2) {
    store_->append_text("a", "x");
    store_->append_text("a", "yz");
    EXPECT_EQ(store_->get_text("a", 1s), "xyz");
  } else {
    EXPECT_THROW(store_->append_text("a", "x"), NotSupported);
  }
  EXPECT_EQ(store_->add("n", 1), 1) << "the client is usable";
}

TEST_P(TcpStores, LargeValuesAndAllBytesArrive) {
  std::vector<std::byte> value(max_store_value_bytes);
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::byte>(i * 7);
  store_->set("a", value);
  EXPECT_TRUE(connect()->get("a", 10s) == value);
}

TEST_P(TcpStores, AnEmptyValueIsAValue) {
  store_->set_text("a", "");
  EXPECT_EQ(connect()->get_text("a", 1s), "");
  EXPECT_EQ(store_->try_get_text("a"), "");
}

TEST_P(TcpStores, GetWaitsForTheKey) {
  std::thread setter = later([other = connect()] { other->set_text("a", "1"); });
  EXPECT_EQ(store_->get_text("a", 10s), "1");
  setter.join();
}

TEST_P(TcpStores, AWaitingCallDoesNotHoldUpOthersOfItsClient) {
  std::thread setter = later([this] { store_->set_text("a", "1"); });
  EXPECT_EQ(store_->get_text("a", 10s), "1");
  setter.join();
}

TEST_P(TcpStores, ATimeoutNamesTheKeyAndTheServer) {
  EXPECT_THAT([&] { store_->get("a", 5ms); },
              fails_with(StoreErrorKind::timeout, "get of 'a' at " + place() + " timed out after"));
  store_->set_text("a", "1");
  EXPECT_EQ(store_->get_text("a", 1s), "1") << "the client is usable";
}

TEST_P(TcpStores, CancellingEndsAPendingGet) {
  std::thread canceller = later([this] { store_->cancel(); });
  EXPECT_THAT([&] { store_->get("a", no_timeout); },
              fails_with(StoreErrorKind::cancelled, "get of 'a' at " + place()));
  canceller.join();
}

TEST_P(TcpStores, CancellingIsFinalForItsClientOnly) {
  const std::shared_ptr<Store> other = store_->new_client();
  store_->cancel();
  EXPECT_THAT([&] { store_->set_text("a", ""); }, fails_with(StoreErrorKind::cancelled, "set"));
  other->set_text("a", "1");
  EXPECT_EQ(store_->new_client()->get_text("a", 1s), "1");
}

TEST_P(TcpStores, AddToAWordCostsTheConnection) {
  const std::shared_ptr<Store> other = connect();
  store_->set_text("a", "word");
  EXPECT_THAT([&] { store_->add("a", 1); },
              fails_with(StoreErrorKind::connection, "add of 'a' at " + place() + " failed after"));
  EXPECT_THAT([&] { store_->num_keys(); }, fails_with(StoreErrorKind::connection, "add of 'a'"))
      << "the first cause";
  EXPECT_EQ(other->get_text("a", 1s), "word");
}

TEST_P(TcpStores, ConcurrentAddsAllCount) {
  constexpr int threads = 4;
  constexpr int adds = 100;
  std::vector<std::thread> adders;
  for (int i = 0; i < threads; ++i)
    adders.emplace_back([client = i % 2 == 0 ? store_ : store_->new_client()] {
      for (int n = 0; n < adds; ++n) client->add("n", 1);
    });
  for (std::thread& adder : adders) adder.join();
  EXPECT_EQ(store_->get_text("n", 1s), std::to_string(threads * adds));
}

TEST_P(TcpStores, ManyClientsMeet) {
  constexpr int clients = 64;
  std::vector<std::thread> ranks;
  std::atomic<int> met = 0;
  for (int rank = 0; rank < clients; ++rank)
    ranks.emplace_back([this, &met, rank] {
      const std::shared_ptr<Store> mine = connect();
      if (mine->add("arrived", 1) == clients) mine->set_text("all are here", "");
      const std::vector<std::string> keys = {"all are here"};
      mine->wait(keys, 20s);
      met += rank >= 0;
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(met, clients);
  EXPECT_EQ(server_.statistics().refused, 0U);
}

TEST(TcpStore, AServerThatGoesAwayIsALostConnection) {
  auto server = std::make_unique<TcpStoreServer>();
  const auto store = make_tcp_store({.port = server->port(), .timeout = 10s});
  std::thread stopper([&server] {
    std::this_thread::sleep_for(5ms);
    server.reset();
  });
  EXPECT_THAT([&] { store->get("a", no_timeout); },
              fails_with(StoreErrorKind::connection, "the other side closed the connection"));
  stopper.join();
  EXPECT_THAT([&] { store->set_text("b", ""); },
              fails_with(StoreErrorKind::connection, "get of 'a'"));
}

TEST(TcpStore, AServerThatFallsSilentIsATimeout) {
  const ScriptedServer silent({[](RawConnection& peer) {
    ScriptedServer::greet(peer);
    peer.is_closed();
  }});
  auto store = make_tcp_store({.port = silent.port(), .timeout = 20ms});
  EXPECT_THAT([&] { store->set_text("a", "1"); },
              fails_with(StoreErrorKind::timeout, "set of 'a' at 127.0.0.1:"));
}

TEST(TcpStore, AConnectionWithoutAnAnswerIsNotUsedAgain) {
  const ScriptedServer server({[](RawConnection& peer) {
                                 ScriptedServer::greet(peer);
                                 peer.is_closed();
                               },
                               [](RawConnection& peer) {
                                 ScriptedServer::greet(peer);
                                 peer.receive(1);
                                 peer.send(bytes_of_hexadecimal("0500000000000000"));
                               }});
  const auto store = make_tcp_store({.port = server.port(), .timeout = 50ms});
  EXPECT_THAT([&] { store->num_keys(); }, fails_with(StoreErrorKind::timeout, "num_keys"));
  EXPECT_EQ(store->num_keys(), 5);
}

TEST(TcpStore, AGetThatIsTooShortToConnectIsATimeout) {
  auto server = std::make_unique<TcpStoreServer>();
  const auto client = make_tcp_store({.port = server->port(), .timeout = 10s})->new_client();
  server.reset();
  EXPECT_THAT([&] { client->get("a", 5ms); }, fails_with(StoreErrorKind::timeout, "get of 'a'"));
}

TEST(TcpStore, NamesTheServerItCouldNotReach) {
  std::uint16_t port = 0;
  {
    const TcpStoreServer earlier;
    port = earlier.port();
  }
  EXPECT_THAT([&] { make_tcp_store({.port = port, .timeout = 10ms}); },
              fails_with(StoreErrorKind::connection, "connecting to the store at 127.0.0.1:" +
                                                         std::to_string(port) + " failed after"));
}

TEST(TcpStore, OptionsAreChecked) {
  EXPECT_THROW(make_tcp_store({.host = "", .port = 1}), InvalidArgument);
  EXPECT_THROW(make_tcp_store({.port = 0}), InvalidArgument);
  EXPECT_THROW(make_tcp_store({.port = 1, .timeout = 0s}), InvalidArgument);
}

TEST(TcpStore, Ipv6HostsAreShownInBrackets) {
  try {
    const TcpStoreServer server({.address = "::1"});
    EXPECT_EQ(make_tcp_store({.host = "::1", .port = server.port()})->description(),
              "[::1]:" + std::to_string(server.port()));
  } catch (const StoreError& error) {
    GTEST_SKIP() << "runs where IPv6 is available: " << error.what();
  }
}

}  // namespace
}  // namespace gang
