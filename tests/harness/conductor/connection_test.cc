#include "harness/conductor/connection.h"

#include <sys/socket.h>

#include <array>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/conductor/client_frames.h"

namespace gang::harness {
namespace {

using test::bytes_of;
using testing::ElementsAre;

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> sockets{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    connection_.emplace(Descriptor(sockets[0]));
    peer_ = Descriptor(sockets[1]);
  }

  void write(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::write(peer_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  static Frame frame_with(std::string_view text) {
    FrameWriter writer(5);
    writer.text(text);
    return test::finished(writer);
  }
  static std::string text_in(const Frame& frame) {
    FrameReader reader(frame);
    reader.number<std::uint8_t>();
    return std::string(reader.text());
  }
  std::vector<std::string> received() {
    connection_->receive();
    std::vector<std::string> texts;
    while (connection_->has_frame()) texts.push_back(text_in(connection_->take()));
    return texts;
  }

  std::optional<Connection> connection_;
  Descriptor peer_;
};

TEST_F(ConnectionTest, GivesFramesInTheirOrder) {
  EXPECT_THAT(received(), ElementsAre());
  Frame two = frame_with("one");
  for (const std::byte byte : frame_with("two")) two.push_back(byte);
  write(two);
  write(frame_with("three"));
  EXPECT_THAT(received(), ElementsAre("one", "two", "three"));
  EXPECT_TRUE(connection_->is_open());
}

TEST_F(ConnectionTest, PutsTogetherWhatComesInPieces) {
  for (const std::byte byte : frame_with("abc")) {
    EXPECT_THAT(received(), ElementsAre());
    write(std::span(&byte, 1));
  }
  EXPECT_THAT(received(), ElementsAre("abc"));
}

TEST_F(ConnectionTest, AFrameMayBeLarge) {
  const std::string large(3'000'000, 'x');
  const std::jthread writer([&] { write(frame_with(large)); });
  std::vector<std::string> texts;
  while (texts.empty()) texts = received();
  EXPECT_EQ(texts.at(0), large);
}

TEST_F(ConnectionTest, WhatAPeerHasSentBeforeItsEndIsThere) {
  write(frame_with("last"));
  const Frame half = frame_with("half");
  write(std::span(half).first(6));
  peer_.close();
  std::vector<std::string> texts = received();
  for (const std::string& text : received()) texts.push_back(text);
  EXPECT_THAT(texts, ElementsAre("last"));
  EXPECT_FALSE(connection_->is_open());
}

TEST_F(ConnectionTest, AnImpossibleSizeClosesItWithAFrameThatIsNoMessage) {
  for (const std::uint32_t size : {0U, most_frame_bytes + 1, 0xffffffffU}) {
    SetUp();
    write(frame_with("good"));
    write(std::as_bytes(std::span(&size, 1)));
    connection_->receive();
    EXPECT_FALSE(connection_->is_open());
    EXPECT_EQ(text_in(connection_->take()), "good");
    EXPECT_TRUE(connection_->take().empty());
    EXPECT_FALSE(connection_->has_frame());
  }
}

TEST_F(ConnectionTest, SendsToTheEndOrUntilThePeerIsGone) {
  const Frame large = frame_with(std::string(2'000'000, 'y'));
  std::size_t got = 0;
  {
    const std::jthread reader([&] {
      std::array<char, 65536> buffer;
      while (got < large.size()) {
        const ssize_t count = ::read(peer_.get(), buffer.data(), buffer.size());
        ASSERT_GT(count, 0);
        got += static_cast<std::size_t>(count);
      }
    });
    connection_->send(large);
  }
  EXPECT_EQ(got, large.size());
  peer_.close();
  connection_->send(large);  // returns
  connection_->receive();
  EXPECT_FALSE(connection_->is_open());
  connection_->send(large);
}

TEST_F(ConnectionTest, WithoutADescriptorThereIsNone) {
  write(frame_with("block"));
  received();
  EXPECT_FALSE(connection_->take_descriptor());
}

}  // namespace
}  // namespace gang::harness
