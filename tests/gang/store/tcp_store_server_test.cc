#include "gang/store/tcp_store_server.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/tcp_store.h"
#include "tests/gang/store/raw_connection.h"
#include "tests/gang/store/recorded_sessions.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

// A server, and a client that must not notice what other clients do.
class Server : public testing::Test {
 protected:
  void start(TcpStoreServerOptions options = {}) {
    server_ = std::make_unique<TcpStoreServer>(std::move(options));
    bystander_ = make_tcp_store({.port = server_->port(), .timeout = 10s});
    bystander_->set_text("a", "value");
    bystander_->set_text("its own", "value");
  }
  RawConnection connect() const { return RawConnection(server_->port()); }

  void expect_refused(RawConnection& connection, const std::string& why) {
    EXPECT_TRUE(connection.is_closed());
    EXPECT_EQ(server_->statistics().refused, 1U);
    EXPECT_THAT(server_->statistics().last_refusal, testing::HasSubstr(why));
  }

  void TearDown() override {
    if (bystander_ == nullptr) return;
    EXPECT_EQ(bystander_->get_text("its own", 10s), "value");
  }

  std::unique_ptr<TcpStoreServer> server_;
  std::shared_ptr<Store> bystander_;
};

TEST_F(Server, AnswersRecordedClientsOfBothDialectsAtOnce) {
  server_ = std::make_unique<TcpStoreServer>();
  TcpStoreServer other;
  RawConnection old_client(server_->port());
  RawConnection current_client(other.port());
  old_client.send(all_sent(session_of_1_13));
  current_client.send(all_sent(session_of_2));
  const Bytes old_replies = all_received(session_of_1_13);
  const Bytes current_replies = all_received(session_of_2);
  EXPECT_EQ(old_client.receive(old_replies.size()), old_replies);
  EXPECT_EQ(current_client.receive(current_replies.size()), current_replies);
}

TEST_F(Server, ClientsOfBothDialectsShareTheMap) {
  start();
  const auto old_client = make_tcp_store(
      {.port = server_->port(), .dialect = TcpStoreDialect::pytorch_1_13, .timeout = 10s});
  const auto current_client = make_tcp_store(
      {.port = server_->port(), .dialect = TcpStoreDialect::pytorch_2, .timeout = 10s});
  old_client->set_text("b", "1");
  EXPECT_EQ(current_client->add("b", 1), 2);
  EXPECT_EQ(old_client->get_text("b", 1s), "2");
}

TEST_F(Server, AClientThatSendsByteByByteIsServed) {
  start();
  RawConnection slow = connect();
  for (const std::byte byte : bytes_of_hexadecimal("00cef7853c0dea7100000302000000000000002f61")) {
    slow.send(std::span(&byte, 1));
    std::this_thread::sleep_for(200us);
  }
  EXPECT_EQ(slow.receive(17), bytes_of_hexadecimal("ea710000050000000000000076616c7565"));
}

TEST_F(Server, GarbageCostsItsConnectionOnly) {
  start();
  RawConnection web = connect();
  web.send(std::as_bytes(std::span("GET / HTTP/1.1\r\n\r\n")));
  expect_refused(web, "71 is not a command of PyTorch 1.13");
}

TEST_F(Server, ALengthBombCostsItsConnectionOnly) {
  start();
  RawConnection bomber = connect();
  bomber.send(bytes_of_hexadecimal("02ffffffffffffff7f"));
  expect_refused(bomber, "size of a key is 9223372036854775807; must be at most 8192");
}

TEST_F(Server, AGetOfAMissingKeyCostsItsConnectionOnly) {
  start();
  RawConnection client = connect();
  client.send(bytes_of_hexadecimal("0202000000000000002f7a"));
  expect_refused(client, "get of a key without a value");
}

TEST_F(Server, AnotherDialectIsRefused) {
  start({.dialect = TcpStoreDialect::pytorch_2});
  RawConnection client = connect();
  client.send(all_sent(session_of_1_13));
  expect_refused(client, "the greeting");
}

TEST_F(Server, ClientsMayVanishAtAnyByte) {
  start();
  const Bytes session = all_sent(session_of_2);
  std::uint64_t connections = 1;
  for (std::size_t size = 0; size < session.size(); size += 7, ++connections) {
    RawConnection vanishing = connect();
    vanishing.send(std::span(session).first(size));
  }
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  const auto all_are_gone = [this, connections] {
    const TcpStoreServer::Statistics now = server_->statistics();
    return now.accepted == connections && now.connections == 1;
  };
  while (!all_are_gone() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server_->statistics().connections, 1U);
  EXPECT_EQ(server_->statistics().refused, 0U);
}

TEST_F(Server, AVanishedWaiterIsForgotten) {
  start();
  {
    RawConnection waiting = connect();
    waiting.send(bytes_of_hexadecimal("05010000000000000002000000000000002f62"));
    EXPECT_TRUE(waiting.is_silent());
  }
  bystander_->set_text("b", "1");
}

TEST_F(Server, ClientsThatStallWithinARequestAreClosed) {
  start({.stall_timeout = 40ms});
  RawConnection idle = connect();
  RawConnection stalling = connect();
  stalling.send(bytes_of_hexadecimal("0202000000"));
  expect_refused(stalling, "no progress within a request for 40 ms");
  EXPECT_TRUE(idle.is_silent()) << "who asks nothing may take its time";
}

TEST_F(Server, AWaitingClientDoesNotStall) {
  start({.stall_timeout = 20ms});
  RawConnection waiting = connect();
  waiting.send(bytes_of_hexadecimal("05010000000000000002000000000000002f62"));
  std::this_thread::sleep_for(60ms);
  bystander_->set_text("b", "1");
  EXPECT_EQ(waiting.receive(1), bytes_of_hexadecimal("00"));
}

// The client asks for a gigabyte in all and takes nothing.
TEST_F(Server, RepliesThatAreNotTakenDoNotPileUp) {
  start({.limits = {.max_memory_bytes = std::size_t{40} << 20U}, .stall_timeout = 100ms});
  bystander_->set("big", Bytes(std::size_t{4} << 20U));
  RawConnection greedy = connect();
  Bytes questions;
  for (int i = 0; i < 256; ++i) {
    const Bytes one = bytes_of_hexadecimal("0204000000000000002f626967");
    questions.insert(questions.end(), one.begin(), one.end());
  }
  greedy.send(questions);
  bystander_->set("other", Bytes(std::size_t{1} << 20U));
  std::this_thread::sleep_for(150ms);
  expect_refused(greedy, "no progress");
}

TEST_F(Server, WhatVanishedClientsHeldIsFree) {
  start({.limits = {.max_memory_bytes = 100'000}});
  Bytes half = bytes_of_hexadecimal("0001000000000000006200008000000000000000");
  half.resize(half.size() + 30'000);
  // A wait for a key of 4096 bytes.
  Bytes wait = bytes_of_hexadecimal("0501000000000000000010000000000000");
  wait.resize(wait.size() + 4096, std::byte{'k'});
  for (int i = 0; i < 30; ++i) {
    RawConnection client = connect();
    client.send(i % 2 == 0 ? half : wait);
    while (server_->statistics().accepted != static_cast<std::uint64_t>(i + 2))
      std::this_thread::sleep_for(1ms);
    client.close();
    while (server_->statistics().connections != 1) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(server_->statistics().refused, 0U) << server_->statistics().last_refusal;
  bystander_->set("b", Bytes(60'000));
}

// Several are made while one that came before them is still being taken.
TEST_F(Server, SmallerRepliesToASlowReaderAllArriveToo) {
  start();
  bystander_->set("big", Bytes(200'000, std::byte{7}));
  RawConnection reader = connect();
  for (int i = 0; i < 100; ++i) reader.send(bytes_of_hexadecimal("0204000000000000002f626967"));
  std::this_thread::sleep_for(20ms);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(reader.receive(8), bytes_of_hexadecimal("400d030000000000")) << i;
    ASSERT_EQ(reader.receive(200'000), Bytes(200'000, std::byte{7})) << i;
  }
}

TEST_F(Server, RepliesToASlowReaderAllArrive) {
  start();
  bystander_->set("big", Bytes(std::size_t{1} << 20U, std::byte{7}));
  RawConnection reader = connect();
  for (int i = 0; i < 20; ++i) reader.send(bytes_of_hexadecimal("0204000000000000002f626967"));
  std::this_thread::sleep_for(20ms);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(reader.receive(8), bytes_of_hexadecimal("0000100000000000"));
    EXPECT_EQ(reader.receive(std::size_t{1} << 20U), Bytes(std::size_t{1} << 20U, std::byte{7}));
  }
}

TEST_F(Server, MemoryIsBounded) {
  start({.limits = {.max_memory_bytes = 100'000}});
  const auto hoarder = make_tcp_store({.port = server_->port(), .timeout = 10s});
  EXPECT_THAT(
      [&] {
        for (int i = 0;; ++i) hoarder->set("key " + std::to_string(i), Bytes(1000));
      },
      fails_with(StoreErrorKind::connection, "set of 'key "));
  EXPECT_THAT(server_->statistics().last_refusal, testing::HasSubstr("not enough memory"));
  EXPECT_GT(bystander_->num_keys(), 50);
}

TEST_F(Server, RequestsUnderWayCountAsMemory) {
  start({.limits = {.max_memory_bytes = 1'000'000}});
  RawConnection first = connect();
  Bytes half = bytes_of_hexadecimal("0001000000000000006200008000000000000000");
  half.resize(half.size() + 700'000);
  EXPECT_EQ(first.send(half), half.size());
  EXPECT_TRUE(first.is_silent());
  RawConnection second = connect();
  second.send(half);
  expect_refused(second, "not enough memory for a request");
}

TEST_F(Server, ConnectionsAreBounded) {
  start({.limits = {.max_connections = 2}});
  RawConnection second = connect();
  EXPECT_TRUE(second.is_silent());
  RawConnection third = connect();
  expect_refused(third, "there are already 2 connections");
}

TEST_F(Server, APortInUseIsNamed) {
  start();
  EXPECT_THAT([&] { TcpStoreServer({.port = server_->port()}); },
              fails_with(StoreErrorKind::address_in_use,
                         "a store cannot listen on 127.0.0.1, port " +
                             std::to_string(server_->port()) + ": the port is in use"));
}

TEST_F(Server, APortIsFreeAgainAtOnce) {
  start();
  const std::uint16_t port = server_->port();
  bystander_.reset();
  server_.reset();
  start({.port = port});
}

TEST_F(Server, ListensOnlyOnThisHostUnlessToldOtherwise) {
  start();
  EXPECT_THAT(
      [&] { make_tcp_store({.host = "127.0.0.2", .port = server_->port(), .timeout = 10ms}); },
      fails_with(StoreErrorKind::connection, "Connection refused"));
  const TcpStoreServer open({.address = ""});
  make_tcp_store({.host = "127.0.0.2", .port = open.port(), .timeout = 10s});
}

TEST_F(Server, ListensOnAllAddressesOfAName) {
  start({.address = "localhost"});
  make_tcp_store({.host = "localhost", .port = server_->port(), .timeout = 10s});
}

TEST_F(Server, AnAddressOfAnotherHostIsAnError) {
  EXPECT_THAT([] { TcpStoreServer({.address = "192.0.2.1"}); },
              fails_with(StoreErrorKind::connection, "a store cannot listen on 192.0.2.1"));
  EXPECT_THAT([] { TcpStoreServer({.address = "no such host"}); },
              fails_with(StoreErrorKind::connection, "cannot be resolved"));
}

TEST_F(Server, OptionsAreChecked) {
  EXPECT_THROW(TcpStoreServer({.stall_timeout = 0s}), InvalidArgument);
  EXPECT_THROW(TcpStoreServer({.limits = {.max_connections = 0}}), InvalidArgument);
}

TEST_F(Server, CountsItsConnections) {
  start();
  EXPECT_EQ(server_->statistics().accepted, 1U);
  EXPECT_EQ(server_->statistics().connections, 1U);
}

}  // namespace
}  // namespace gang
