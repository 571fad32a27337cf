#include "gang/store/tcp_store_link.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/tcp_store_server.h"
#include "tests/gang/store/scripted_server.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using Clock = TcpStoreConnection::Clock;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr TcpStoreLink::Token token = {std::byte{1}, std::byte{2}};

Clock::time_point soon() { return Clock::now() + 10s; }

void connect(TcpStoreLink& link, std::uint16_t port,
             TcpStoreDialect dialect = TcpStoreDialect::automatic,
             Clock::duration timeout = std::chrono::seconds(10)) {
  link.connect({"127.0.0.1", port}, dialect, Clock::now() + timeout);
}

class LinkInDialect : public testing::TestWithParam<TcpStoreDialect> {
 protected:
  void SetUp() override { connect(link_, server_.port(), GetParam()); }

  TcpStoreServer server_;
  TcpStoreLink link_{token};
};

INSTANTIATE_TEST_SUITE_P(Both, LinkInDialect,
                         testing::Values(TcpStoreDialect::pytorch_1_13, TcpStoreDialect::pytorch_2),
                         [](const auto& dialect) {
                           return dialect.param == TcpStoreDialect::pytorch_2 ? "PyTorch2"
                                                                              : "PyTorch1_13";
                         });

TEST_P(LinkInDialect, EveryCommandDoesWhatItSays) {
  EXPECT_EQ(link_.dialect(), GetParam());
  const std::vector<std::string> keys = {"/a"};
  EXPECT_EQ(link_.find("/a", soon()), std::nullopt);
  EXPECT_FALSE(link_.check(keys, soon()));
  link_.set("/a", as_store_bytes("value"), soon());
  EXPECT_TRUE(link_.check(keys, soon()));
  EXPECT_EQ(as_store_text(*link_.find("/a", soon())), "value");
  EXPECT_EQ(as_store_text(*link_.read("/a", soon())), "value");
  EXPECT_EQ(link_.read("/missing", soon()), std::nullopt);
  EXPECT_TRUE(link_.wait(keys, soon()));
  EXPECT_EQ(link_.add("/n", -3, soon()), -3);
  EXPECT_EQ(as_store_text(
                link_.compare_set("/a", as_store_bytes("value"), as_store_bytes("other"), soon())),
            "other");
  EXPECT_EQ(link_.num_keys(soon()), 2);
  EXPECT_TRUE(link_.delete_key("/a", soon()));
  EXPECT_FALSE(link_.delete_key("/a", soon()));
}

TEST_P(LinkInDialect, AnEmptyValueIsAValue) {
  link_.set("/a", {}, soon());
  EXPECT_EQ(link_.find("/a", soon()), TcpStoreLink::Bytes{});
}

TEST_P(LinkInDialect, AWaitEndsAtItsDeadlineAndTheLinkIsUsable) {
  const std::vector<std::string> keys = {"/a"};
  EXPECT_FALSE(link_.wait(keys, Clock::now() + 5ms));
  link_.set("/a", as_store_bytes("1"), soon());
  EXPECT_TRUE(link_.wait(keys, soon()));
  EXPECT_EQ(link_.num_keys(soon()), 1);
}

// As PyTorch's servers do at a compare_set.
TEST(Link, AKeyThatTheServerDoesNotAnnounceIsNoticed) {
  const ScriptedServer server({[](RawConnection& peer) {
    ScriptedServer::greet(peer);
    peer.receive(19);  // the wait for "/a"
    peer.receive(1);   // its cancellation
    peer.send(bytes_of_hexadecimal("01"));
    peer.receive(19);  // the question
    peer.send(bytes_of_hexadecimal("00"));
  }});
  TcpStoreLink link(token);
  connect(link, server.port());
  const std::vector<std::string> keys = {"/a"};
  EXPECT_TRUE(link.wait(keys, soon()));
}

TEST(Link, KeysThatComeWithTheCancellationHaveCome) {
  const ScriptedServer server({[](RawConnection& peer) {
    ScriptedServer::greet(peer);
    peer.receive(19);                         // the wait for "/a"
    peer.receive(1);                          // its cancellation
    peer.send(bytes_of_hexadecimal("0001"));  // crossed with the key
    peer.receive(1);                          // num_keys
    peer.send(bytes_of_hexadecimal("0100000000000000"));
  }});
  TcpStoreLink link(token);
  connect(link, server.port());
  const std::vector<std::string> keys = {"/a"};
  EXPECT_TRUE(link.wait(keys, Clock::now() + 2ms));
  EXPECT_EQ(link.num_keys(soon()), 1);
}

TEST(Link, FindsOutTheDialect) {
  for (const auto dialect : {TcpStoreDialect::pytorch_1_13, TcpStoreDialect::pytorch_2}) {
    const TcpStoreServer server({.dialect = dialect});
    TcpStoreLink link(token);
    connect(link, server.port());
    EXPECT_EQ(link.dialect(), dialect);
    link.set("/a", as_store_bytes("1"), soon());
    EXPECT_EQ(link.num_keys(soon()), 1);
  }
}

TEST(Link, AServerOfAnotherDialectIsNamed) {
  const TcpStoreServer old({.dialect = TcpStoreDialect::pytorch_1_13});
  TcpStoreLink link(token);
  EXPECT_THAT([&] { connect(link, old.port(), TcpStoreDialect::pytorch_2); },
              fails_with(StoreErrorKind::dialect,
                         "the server does not speak the dialect of PyTorch 2: it closed"));
  const TcpStoreServer current({.dialect = TcpStoreDialect::pytorch_2});
  EXPECT_THAT([&] { connect(link, current.port(), TcpStoreDialect::pytorch_1_13); },
              fails_with(StoreErrorKind::dialect,
                         "the server does not speak the dialect of PyTorch 1.13: it closed"));
}

// PyTorch 1.13's server takes the greeting for a set, and must find the key's length impossible;
// otherwise it waits for the key and serves no other client.
TEST(Link, TheGreetingDoesNotHoldUpAServerOf1_13) {
  const ScriptedServer server({[](RawConnection& peer) {
    const auto greeting = peer.receive(10);
    ASSERT_EQ(greeting.size(), 10U);
    const auto length =
        decode_u64(std::span<const std::byte, 8>(std::span(greeting).subspan(1, 8)));
    EXPECT_GT(length, std::uint64_t{1} << 63U);
    peer.send(std::span(greeting).last(4));
  }});
  TcpStoreLink link(token);
  connect(link, server.port());
}

TEST(Link, APeerThatIsNotAStoreIsNamed) {
  const ScriptedServer web({[](RawConnection& peer) {
    peer.receive(10);
    peer.send(std::as_bytes(std::span("HTTP/1.1 400 Bad Request\r\n")));
  }});
  TcpStoreLink link(token);
  EXPECT_THAT([&] { connect(link, web.port()); },
              fails_with(StoreErrorKind::dialect,
                         "the peer at that address is not a store: it answered the greeting of "
                         "PyTorch 2 with 48545450"));
}

TEST(Link, AServerThatClosesAtBothGreetingsSpeaksNeither) {
  const ScriptedServer closing({[](RawConnection& peer) { peer.receive(10); },
                                [](RawConnection& peer) { peer.receive(9); }});
  TcpStoreLink link(token);
  EXPECT_THAT([&] { connect(link, closing.port()); },
              fails_with(StoreErrorKind::dialect, "speaks neither dialect"));
}

TEST(Link, APeerThatDoesNotAnswerIsATimeout) {
  const ScriptedServer silent({[](RawConnection& peer) { peer.receive(11); }});
  TcpStoreLink link(token);
  EXPECT_THAT([&] { connect(link, silent.port(), TcpStoreDialect::automatic, 20ms); },
              fails_with(StoreErrorKind::timeout, "does not answer the greeting of PyTorch 2"));
  link.interrupt();  // and close, so that the server ends
  EXPECT_THAT([&] { connect(link, silent.port()); }, fails_with(StoreErrorKind::cancelled, ""));
}

TEST(Link, WaitsForAServerThatStartsLater) {
  std::uint16_t port = 0;
  {
    const TcpStoreServer earlier;
    port = earlier.port();
  }
  std::unique_ptr<TcpStoreServer> server;
  std::thread starter([&server, port] {
    std::this_thread::sleep_for(20ms);
    server = std::make_unique<TcpStoreServer>(TcpStoreServerOptions{.port = port});
  });
  TcpStoreLink link(token);
  connect(link, port);
  EXPECT_EQ(link.num_keys(soon()), 0);
  starter.join();
}

TEST(Link, SaysWhyNoServerWasReached) {
  std::uint16_t port = 0;
  {
    const TcpStoreServer earlier;
    port = earlier.port();
  }
  TcpStoreLink link(token);
  EXPECT_THAT([&] { connect(link, port, TcpStoreDialect::automatic, 20ms); },
              fails_with(StoreErrorKind::connection, "Connection refused"));
}

TEST(Link, RepliesThatNoServerWouldSendAreCorrupt) {
  struct Case {
    std::string reply;
    std::function<void(TcpStoreLink&)> call;
  };
  const std::vector<Case> cases = {
      {"02", [](TcpStoreLink& link) { link.check({}, soon()); }},
      {"ffffffffffffffff", [](TcpStoreLink& link) { link.compare_set("/a", {}, {}, soon()); }},
      {"01020304", [](TcpStoreLink& link) { link.set("/a", {}, soon()); }},
      {"05",
       [](TcpStoreLink& link) {
         const std::vector<std::string> keys = {"/a"};
         link.wait(keys, soon());
       }},
  };
  for (const Case& one : cases) {
    const ScriptedServer server({[&one](RawConnection& peer) {
      ScriptedServer::greet(peer);
      peer.send(bytes_of_hexadecimal(one.reply));
      peer.is_closed();
    }});
    auto link = std::make_unique<TcpStoreLink>(token);
    connect(*link, server.port());
    EXPECT_THAT([&] { one.call(*link); }, fails_with(StoreErrorKind::corrupt, "the server"));
    link.reset();
  }
}

TEST(Link, AValueIsReadAsItComes) {
  const ScriptedServer server({[](RawConnection& peer) {
    ScriptedServer::greet(peer);
    peer.send(bytes_of_hexadecimal("0000002000000000"));  // half a gigabyte, of which nothing comes
    peer.is_closed();
  }});
  auto link = std::make_unique<TcpStoreLink>(token);
  connect(*link, server.port());
  EXPECT_THAT([&] { link->compare_set("/a", {}, {}, Clock::now() + 20ms); },
              fails_with(StoreErrorKind::timeout, "does not answer"));
  link.reset();
}

}  // namespace
}  // namespace gang
