#include "gang/store/tcp_store_connection.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/store/raw_connection.h"
#include "tests/gang/store/recorded_sessions.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using Clock = TcpStoreConnection::Clock;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class Connection : public testing::Test {
 protected:
  void connect() {
    connection_.connect(localhost_, listener_.port(), soon());
    peer_ = listener_.accept();
  }
  static Clock::time_point soon() { return Clock::now() + 10s; }

  const std::vector<std::string> localhost_ = {"127.0.0.1"};
  RawListener listener_;
  RawConnection peer_{RawConnection::Accepted{-1}};
  TcpStoreConnection connection_;
};

TEST_F(Connection, BytesGoBothWays) {
  connect();
  const auto sent = bytes_of_hexadecimal("0001feff");
  connection_.send(sent, soon());
  EXPECT_EQ(peer_.receive(4), sent);
  peer_.send(sent);
  std::vector<std::byte> received(4);
  connection_.receive(received, soon());
  EXPECT_EQ(received, sent);
}

TEST_F(Connection, ADeadlineBeforeTheFirstByteCostsNothing) {
  connect();
  std::vector<std::byte> received(1);
  EXPECT_FALSE(connection_.try_receive(received, Clock::now() + 5ms));
  EXPECT_FALSE(connection_.try_receive(received, Clock::now() - 1s));
  peer_.send(bytes_of_hexadecimal("07"));
  EXPECT_TRUE(connection_.try_receive(received, soon()));
  EXPECT_EQ(received[0], std::byte{7});
}

TEST_F(Connection, WhatHasComeCountsHoweverLateItIsTaken) {
  connect();
  peer_.send(bytes_of_hexadecimal("0708"));
  std::vector<std::byte> received(1);
  connection_.receive(received, soon());
  EXPECT_TRUE(connection_.try_receive(received, Clock::now() - 1s));
  EXPECT_EQ(received[0], std::byte{8});
}

TEST_F(Connection, ADeadlineWithinAnAnswerIsAnError) {
  connect();
  peer_.send(bytes_of_hexadecimal("0102"));
  std::vector<std::byte> received(4);
  EXPECT_THAT([&] { connection_.receive(received, Clock::now() + 20ms); },
              fails_with(StoreErrorKind::timeout, "2 of 4 bytes came in time"));
}

TEST_F(Connection, SilenceIsATimeout) {
  connect();
  std::vector<std::byte> received(4);
  EXPECT_THAT([&] { connection_.receive(received, Clock::now() + 5ms); },
              fails_with(StoreErrorKind::timeout, "the other side does not answer"));
}

TEST_F(Connection, APeerThatReadsNothingIsATimeout) {
  connect();
  const std::vector<std::byte> much(std::size_t{64} << 20U);
  EXPECT_THAT([&] { connection_.send(much, Clock::now() + 100ms); },
              fails_with(StoreErrorKind::timeout, "the other side accepts no more data"));
}

TEST_F(Connection, APeerThatClosesIsALostConnection) {
  connect();
  peer_.close();
  std::vector<std::byte> received(1);
  EXPECT_THAT([&] { connection_.receive(received, soon()); },
              fails_with(StoreErrorKind::connection, "the other side closed the connection"));
}

TEST_F(Connection, NothingListensThere) {
  const std::uint16_t port = listener_.port();
  listener_.close();
  EXPECT_THAT([&] { connection_.connect(localhost_, port, soon()); },
              fails_with(StoreErrorKind::connection, "Connection refused"));
}

TEST_F(Connection, EveryAddressIsTried) {
  const std::vector<std::string> addresses = {"127.0.0.2", "127.0.0.1"};
  connection_.connect(addresses, listener_.port(), soon());
  peer_ = listener_.accept();
  connection_.send(bytes_of_hexadecimal("01"), soon());
  EXPECT_EQ(peer_.receive(1).size(), 1U);
}

TEST_F(Connection, InterruptingEndsThePendingCallAndLaterOnes) {
  connect();
  std::vector<std::byte> received(1);
  std::thread interrupter([this] {
    std::this_thread::sleep_for(5ms);
    connection_.interrupt();
  });
  EXPECT_THAT([&] { connection_.receive(received, Clock::time_point::max()); },
              fails_with(StoreErrorKind::cancelled, "interrupted"));
  interrupter.join();
  EXPECT_TRUE(connection_.is_interrupted());
  EXPECT_THAT([&] { connection_.send(received, soon()); },
              fails_with(StoreErrorKind::cancelled, "interrupted"));
  EXPECT_THAT([&] { connection_.connect(localhost_, listener_.port(), soon()); },
              fails_with(StoreErrorKind::cancelled, "interrupted"));
}

}  // namespace
}  // namespace gang
