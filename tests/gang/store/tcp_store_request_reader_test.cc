#include "gang/store/tcp_store_request_reader.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/store/recorded_sessions.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using Bytes = std::vector<std::byte>;

// All requests in `bytes`, which arrive in pieces of `piece` bytes.
std::vector<TcpStoreRequest> read_all(TcpStoreRequestReader& reader, const Bytes& bytes,
                                      std::size_t piece) {
  std::vector<TcpStoreRequest> requests;
  for (std::size_t start = 0; start < bytes.size(); start += piece) {
    std::span<const std::byte> input =
        std::span(bytes).subspan(start, std::min(piece, bytes.size() - start));
    while (std::optional<TcpStoreRequest> request = reader.read(input))
      requests.push_back(*std::move(request));
  }
  return requests;
}

Bytes encoded_again(const std::vector<TcpStoreRequest>& requests, TcpStoreDialect dialect) {
  Bytes bytes;
  for (const TcpStoreRequest& request : requests) encode(request, dialect, bytes);
  return bytes;
}

Bytes hexadecimal(std::string_view text) { return bytes_of_hexadecimal(text); }

void read(TcpStoreRequestReader& reader, const Bytes& bytes) { read_all(reader, bytes, 1 << 20); }

TEST(RequestReader, ReadsARecordedSessionOf1_13HoweverItIsCut) {
  const Bytes sent = all_sent(session_of_1_13);
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    TcpStoreRequestReader reader(TcpStoreDialect::automatic);
    const std::vector<TcpStoreRequest> requests = read_all(reader, sent, piece);
    EXPECT_EQ(requests.size(), session_of_1_13.size());
    EXPECT_EQ(reader.dialect(), TcpStoreDialect::pytorch_1_13);
    EXPECT_EQ(encoded_again(requests, reader.dialect()), sent);
    EXPECT_FALSE(reader.is_inside_request());
  }
}

TEST(RequestReader, ReadsARecordedSessionOf2HoweverItIsCut) {
  const Bytes sent = all_sent(session_of_2);
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    TcpStoreRequestReader reader(TcpStoreDialect::automatic);
    const std::vector<TcpStoreRequest> requests = read_all(reader, sent, piece);
    EXPECT_EQ(requests.size(), session_of_2.size() + 1) << "greeting and ping are two";
    EXPECT_EQ(reader.dialect(), TcpStoreDialect::pytorch_2);
    EXPECT_EQ(encoded_again(requests, reader.dialect()), sent);
    EXPECT_EQ(reader.held_bytes(), 0U);
  }
}

TEST(RequestReader, TakesNoMoreThanOneRequest) {
  Bytes bytes = hexadecimal("0606");
  std::span<const std::byte> input = bytes;
  TcpStoreRequestReader reader(TcpStoreDialect::pytorch_1_13);
  EXPECT_TRUE(reader.read(input));
  EXPECT_EQ(input.size(), 1U);
}

TEST(RequestReader, AnEmptyListIsARequest) {
  TcpStoreRequestReader reader(TcpStoreDialect::pytorch_1_13);
  const auto requests = read_all(reader, hexadecimal("04000000000000000006"), 3);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0], TcpStoreRequest{.command = TcpStoreCommand::check});
  EXPECT_EQ(requests[1].command, TcpStoreCommand::num_keys);
}

TEST(RequestReader, ASetAsTheFirstRequestOf1_13IsNotMistakenForAGreeting) {
  TcpStoreRequestReader reader(TcpStoreDialect::automatic);
  const auto requests = read_all(reader, hexadecimal(session_of_1_13[0].sent), 5);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].keys, std::vector<std::string>{"/a"});
}

TEST(RequestReader, AnUnknownCommandIsRefused) {
  for (const auto* bytes : {"07", "ff", "47455420"}) {
    TcpStoreRequestReader reader(TcpStoreDialect::automatic);
    EXPECT_THAT([&] { read(reader, hexadecimal(bytes)); },
                fails_with(StoreErrorKind::dialect, "is not a command of PyTorch 1.13"));
  }
}

TEST(RequestReader, AClientOf2GreetsFirstAndOnce) {
  TcpStoreRequestReader impolite(TcpStoreDialect::pytorch_2);
  EXPECT_THAT([&] { read(impolite, hexadecimal("07")); },
              fails_with(StoreErrorKind::dialect, "num_keys before the greeting of PyTorch 2"));
  TcpStoreRequestReader effusive(TcpStoreDialect::automatic);
  EXPECT_THAT([&] { read(effusive, hexadecimal("00cef7853c00cef7853c")); },
              fails_with(StoreErrorKind::dialect, "a second greeting"));
  TcpStoreRequestReader foreign(TcpStoreDialect::pytorch_2);
  EXPECT_THAT([&] { read(foreign, hexadecimal("0001020304")); },
              fails_with(StoreErrorKind::dialect, "the greeting 0x04030201 is not 0x3c85f7ce"));
}

TEST(RequestReader, ALengthBombIsRefusedBeforeAnythingIsHeld) {
  TcpStoreRequestReader key(TcpStoreDialect::pytorch_1_13);
  EXPECT_THAT([&] { read(key, hexadecimal("02ffffffffffffffff")); },
              fails_with(StoreErrorKind::corrupt,
                         "size of a key is 18446744073709551615; must be "
                         "at most 8192"));
  TcpStoreRequestReader value(TcpStoreDialect::pytorch_1_13);
  EXPECT_THAT(
      [&] { read(value, hexadecimal("000100000000000000610100800000000000")); },
      fails_with(StoreErrorKind::corrupt, "size of a value is 8388609; must be at most 8388608"));
  TcpStoreRequestReader list(TcpStoreDialect::pytorch_1_13);
  EXPECT_THAT(
      [&] { read(list, hexadecimal("040100020000000000")); },
      fails_with(StoreErrorKind::corrupt, "size of a list is 131073; must be at most 131072"));
}

TEST(RequestReader, HoldsOnlyWhatHasArrived) {
  TcpStoreRequestReader reader(TcpStoreDialect::pytorch_1_13);
  read(reader, hexadecimal("0001000000000000006100008000000000006162"));
  EXPECT_TRUE(reader.is_inside_request());
  EXPECT_LT(reader.held_bytes(), 200U);
}

TEST(RequestReader, ARequestOfManyValuesIsBoundedAsAWhole) {
  TcpStoreRequestReader reader(TcpStoreDialect::pytorch_2,
                               {.max_value_bytes = 100, .max_request_bytes = 250});
  Bytes bytes = hexadecimal("00cef7853c");
  const Bytes value(100);
  encode({TcpStoreCommand::multi_set, {"a", "b", "c"}, {value, value, value}},
         TcpStoreDialect::pytorch_2, bytes);
  EXPECT_THAT([&] { read(reader, bytes); },
              fails_with(StoreErrorKind::corrupt, "size of a request is"));
}

TEST(RequestReader, BytesAndItemsBothCountForTheLimitOfARequest) {
  const auto refuses = [](std::size_t count, std::size_t size) {
    Bytes bytes;
    encode({.command = TcpStoreCommand::check,
            .keys = std::vector<std::string>(count, std::string(size, 'k'))},
           TcpStoreDialect::pytorch_1_13, bytes);
    TcpStoreRequestReader reader(TcpStoreDialect::pytorch_1_13, {.max_request_bytes = 1000});
    try {
      read(reader, bytes);
      return false;
    } catch (const StoreError&) {
      return true;
    }
  };
  EXPECT_FALSE(refuses(1, 900));
  EXPECT_TRUE(refuses(2, 500)) << "of bytes";
  EXPECT_FALSE(refuses(10, 0));
  EXPECT_TRUE(refuses(100, 0)) << "of items without bytes";
}

TEST(RequestReader, IsInsideARequestFromItsFirstByte) {
  TcpStoreRequestReader reader(TcpStoreDialect::automatic);
  EXPECT_FALSE(reader.is_inside_request());
  read(reader, hexadecimal("00"));
  EXPECT_TRUE(reader.is_inside_request());
}

// Any bytes are either refused or read as requests, which are then those that were sent.
TEST(RequestReader, SurvivesGarbage) {
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const bool is_2 = random() % 2 == 0;
    Bytes bytes = is_2 ? all_sent(session_of_2) : all_sent(session_of_1_13);
    for (std::uint32_t changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    TcpStoreRequestReader reader(TcpStoreDialect::automatic);
    try {
      const auto requests = read_all(reader, bytes, 1 + random() % 40);
      const Bytes again = encoded_again(requests, reader.dialect());
      ASSERT_LE(again.size(), bytes.size());
      EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
    } catch (const StoreError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1900);
}

}  // namespace
}  // namespace gang
