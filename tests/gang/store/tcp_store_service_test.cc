#include "gang/store/tcp_store_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/tcp_store_request_reader.h"
#include "tests/gang/store/recorded_sessions.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using Bytes = std::vector<std::byte>;
using Reply = TcpStoreService::Reply;
using testing::ElementsAre;
using testing::IsEmpty;
using enum TcpStoreCommand;

Bytes stored(std::string_view text) {
  const std::span bytes = as_store_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Bytes from_hexadecimal(std::string_view text) { return bytes_of_hexadecimal(text); }

class Service : public testing::Test {
 protected:
  template <typename Session>
  void expect_recorded_replies(const Session& session) {
    TcpStoreRequestReader reader(TcpStoreDialect::automatic);
    for (const RecordedExchange& exchange : session) {
      const Bytes sent = from_hexadecimal(exchange.sent);
      std::span<const std::byte> input = sent;
      Bytes replied;
      while (const std::optional<TcpStoreRequest> request = reader.read(input))
        for (const Reply& reply : service_.execute(1, *request))
          replied.insert(replied.end(), reply.bytes.begin(), reply.bytes.end());
      EXPECT_EQ(replied, from_hexadecimal(exchange.received)) << exchange.sent;
    }
  }

  std::vector<Reply> set(std::string_view key) {
    return service_.execute(9, {TcpStoreCommand::set, {std::string(key)}, {stored("1")}});
  }

  TcpStoreService service_;
};

TEST_F(Service, AnswersASessionOf1_13AsItsServerDid) { expect_recorded_replies(session_of_1_13); }

TEST_F(Service, AnswersASessionOf2AsItsServerDid) { expect_recorded_replies(session_of_2); }

TEST_F(Service, AWaitIsAnsweredByTheLastKeyItWaitsFor) {
  EXPECT_THAT(service_.execute(1, {wait, {"a", "b"}}), IsEmpty());
  EXPECT_THAT(service_.execute(2, {wait, {"b"}}), IsEmpty());
  EXPECT_EQ(service_.waiting_connections(), 2U);
  EXPECT_THAT(set("a"), IsEmpty());
  EXPECT_THAT(set("b"), ElementsAre(Reply{1, {tcp_store_reply::stop_waiting}},
                                    Reply{2, {tcp_store_reply::stop_waiting}}));
  EXPECT_EQ(service_.waiting_connections(), 0U);
}

TEST_F(Service, EveryWayToMakeAKeyAnswersWaits) {
  const std::vector<TcpStoreRequest> makers = {
      {TcpStoreCommand::set, {"a"}, {stored("1")}},        {add, {"a"}, {}, 1},
      {compare_set, {"a"}, {stored(""), stored("1")}},     {append, {"a"}, {stored("1")}},
      {multi_set, {"b", "a"}, {stored("1"), stored("2")}},
  };
  for (const TcpStoreRequest& maker : makers) {
    TcpStoreService service;
    service.execute(1, {wait, {"a"}});
    const std::vector<Reply> replies = service.execute(2, maker);
    ASSERT_FALSE(replies.empty()) << to_string(maker.command);
    EXPECT_EQ(replies.back(), (Reply{1, {tcp_store_reply::stop_waiting}}))
        << to_string(maker.command);
  }
}

TEST_F(Service, AComparisonThatStoresNothingDoesNotAnswerWaits) {
  service_.execute(1, {wait, {"a"}});
  EXPECT_EQ(service_.execute(2, {compare_set, {"a"}, {stored("x"), stored("y")}}).size(), 1U);
  EXPECT_EQ(service_.waiting_connections(), 1U);
}

TEST_F(Service, AWaitCanBeCancelled) {
  service_.execute(1, {wait, {"a"}});
  EXPECT_THAT(service_.execute(1, {cancel_wait}),
              ElementsAre(Reply{1, {tcp_store_reply::wait_cancelled}}));
  EXPECT_THAT(set("a"), IsEmpty());
  EXPECT_THAT(service_.execute(1, {wait, {"a"}}),
              ElementsAre(Reply{1, {tcp_store_reply::stop_waiting}}));
}

TEST_F(Service, AConnectionThatIsGoneIsNotAnswered) {
  service_.execute(1, {wait, {"a"}});
  service_.disconnect(1);
  EXPECT_THAT(set("a"), IsEmpty());
}

TEST_F(Service, WhatCostsAConnectionChangesNothing) {
  set("word");
  service_.execute(1, {TcpStoreCommand::set, {"word"}, {stored("word")}});
  service_.execute(1, {wait, {"never"}});
  const StoreContents before = service_.contents();
  EXPECT_THAT([&] { service_.execute(1, {get, {"missing"}}); },
              fails_with(StoreErrorKind::corrupt, "get of a key without a value"));
  EXPECT_THAT([&] { service_.execute(1, {multi_get, {"word", "missing"}}); },
              fails_with(StoreErrorKind::corrupt, "multi_get of a key without a value"));
  EXPECT_THAT([&] { service_.execute(1, {add, {"word"}, {}, 1}); },
              fails_with(StoreErrorKind::not_a_number, "not a decimal number"));
  EXPECT_THAT([&] { service_.execute(1, {wait, {"other"}}); },
              fails_with(StoreErrorKind::corrupt, "a wait before the last one has ended"));
  EXPECT_EQ(service_.contents(), before);
}

TEST(ServiceLimits, MemoryIsBounded) {
  TcpStoreService service({.max_memory_bytes = 2000});
  int stored = 0;
  EXPECT_THAT(
      [&] {
        for (;; ++stored)
          service.execute(1,
                          {TcpStoreCommand::set, {"key " + std::to_string(stored)}, {Bytes(100)}});
      },
      fails_with(StoreErrorKind::corrupt, "not enough memory for set; the limit is 2000"));
  EXPECT_EQ(stored, 7);
  EXPECT_LE(service.memory_bytes(), 2000U);
  service.execute(1, {delete_key, {"key 0"}});
  service.execute(1, {TcpStoreCommand::set, {"key 0"}, {Bytes(100)}});
}

TEST(ServiceLimits, MemoryOfWaitsIsBounded) {
  TcpStoreService service({.max_memory_bytes = 2000});
  service.execute(1, {wait, {std::string(500, 'a')}});
  EXPECT_THAT([&] { service.execute(2, {wait, {std::string(500, 'b')}}); },
              fails_with(StoreErrorKind::corrupt, "not enough memory for a wait"));
  service.disconnect(1);
  EXPECT_EQ(service.memory_bytes(), 0U);
  service.execute(2, {wait, {std::string(500, 'b')}});
}

TEST(ServiceLimits, AValueDoesNotGrowBeyondItsLimit) {
  TcpStoreService service({.max_value_bytes = 10});
  service.execute(1, {append, {"a"}, {Bytes(6)}});
  EXPECT_THAT([&] { service.execute(1, {append, {"a"}, {Bytes(5)}}); },
              fails_with(StoreErrorKind::corrupt, "append to more than 10 bytes"));
  service.execute(1, {append, {"a"}, {Bytes(4)}});
}

TEST(ServiceLimits, AReplyIsBounded) {
  TcpStoreService service({.max_reply_bytes = 25});
  service.execute(1, {TcpStoreCommand::set, {"a"}, {Bytes(10)}});
  EXPECT_EQ(service.execute(1, {multi_get, {"a", "a"}}).at(0).bytes.size(), 36U);
  EXPECT_THAT([&] { service.execute(1, {multi_get, {"a", "a", "a"}}); },
              fails_with(StoreErrorKind::corrupt, "multi_get of more than 25 bytes"));
}

}  // namespace
}  // namespace gang
