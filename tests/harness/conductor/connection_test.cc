#include "harness/conductor/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/conductor/bytes.h"
#include "tests/harness/conductor/frame_fuzzer.h"

namespace gang::harness {
namespace {

using conducted::bytes_of;
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
    return writer.finish();
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

TEST_F(ConnectionTest, NeverBlocksAndKeepsWhatThePeerDoesNotTake) {
  const Frame large = frame_with(std::string(2'000'000, 'y'));
  const Frame last = frame_with("last");
  connection_->send(large);
  EXPECT_TRUE(connection_->has_unsent());
  connection_->send(last);
  Frame got;
  std::array<std::byte, 65536> buffer;
  while (got.size() < large.size() + last.size()) {
    const ssize_t count = ::read(peer_.get(), buffer.data(), buffer.size());
    ASSERT_GT(count, 0);
    got.insert(got.end(), buffer.begin(), buffer.begin() + count);
    connection_->flush();
  }
  EXPECT_FALSE(connection_->has_unsent());
  Frame expected = large;
  expected.insert(expected.end(), last.begin(), last.end());
  EXPECT_EQ(got, expected);
}

TEST_F(ConnectionTest, SendsNothingToAPeerThatIsGone) {
  const Frame large = frame_with(std::string(2'000'000, 'y'));
  connection_->send(large);
  peer_.close();
  connection_->flush();
  EXPECT_FALSE(connection_->has_unsent());
  connection_->send(large);
  EXPECT_FALSE(connection_->has_unsent());
  connection_->receive();
  EXPECT_FALSE(connection_->is_open());
  connection_->send(large);
}

TEST_F(ConnectionTest, CutsOffWhoLeavesTooMuchUnread) {
  const Frame huge(most_frame_bytes, std::byte{7});
  for (int i = 0; i < 3 && connection_->is_open(); ++i) {
    connection_->send(huge);
    connection_->receive();
  }
  EXPECT_FALSE(connection_->is_open());
  EXPECT_FALSE(connection_->has_unsent());
}

TEST_F(ConnectionTest, WhatThePeerHasTakenDoesNotCount) {
  const Frame huge(most_frame_bytes, std::byte{7});
  std::size_t got = 0;
  std::vector<std::byte> buffer(1U << 20U);
  for (int i = 0; i < 3; ++i) {
    connection_->send(huge);
    const std::size_t wanted = got + huge.size() - buffer.size();
    while (got < wanted) {
      const ssize_t count = ::read(peer_.get(), buffer.data(), buffer.size());
      ASSERT_GT(count, 0);
      got += static_cast<std::size_t>(count);
      connection_->flush();
    }
  }
  connection_->receive();
  EXPECT_TRUE(connection_->is_open());
  EXPECT_TRUE(connection_->has_unsent());
}

// Whatever comes is split into frames of possible sizes, or closes the connection.
TEST_F(ConnectionTest, TakesAnyStreamOfBytes) {
  std::size_t all_taken = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SetUp();
    conducted::FrameFuzzer fuzzer(seed);
    Frame stream;
    for (int i = 0; i < 20; ++i) {
      Frame frame = fuzzer.below(2) == 0 ? fuzzer.noise() : fuzzer.mutated();
      frame = conducted::framed(frame);
      if (fuzzer.below(8) == 0) frame[fuzzer.below(4)] ^= std::byte{0x40};  // in the size
      stream.insert(stream.end(), frame.begin(), frame.end());
    }
    std::size_t taken = 0;
    for (std::span<const std::byte> left = stream; !left.empty();) {
      const std::size_t size = std::min(left.size(), 1 + fuzzer.below(200));
      if (connection_->is_open()) write(left.first(size));
      left = left.subspan(size);
      connection_->receive();
      while (connection_->has_frame()) taken += connection_->take().size();
    }
    EXPECT_LE(taken, stream.size());
    all_taken += taken;
  }
  EXPECT_GT(all_taken, 10'000U);
}

TEST_F(ConnectionTest, WithoutADescriptorThereIsNone) {
  write(frame_with("block"));
  received();
  EXPECT_FALSE(connection_->take_descriptor());
}

TEST_F(ConnectionTest, DescriptorsComeInTheirOrder) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const Descriptor from(pipe[0]);
  const Descriptor to(pipe[1]);
  const Frame frame = frame_with("blocks");
  iovec part{.iov_base = const_cast<std::byte*>(frame.data()), .iov_len = frame.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  std::memcpy(CMSG_DATA(rights), pipe.data(), 2 * sizeof(int));
  ASSERT_EQ(::sendmsg(peer_.get(), &message, 0), static_cast<ssize_t>(frame.size()));
  EXPECT_THAT(received(), ElementsAre("blocks"));
  const std::optional<Descriptor> first = connection_->take_descriptor();
  const std::optional<Descriptor> second = connection_->take_descriptor();
  ASSERT_TRUE(first && second);
  ASSERT_EQ(::write(second->get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(first->get(), &byte, 1), 1);
}

TEST_F(ConnectionTest, TakesTheLargestFrameAndNoLargerOne) {
  Frame frame(sizeof(std::uint32_t) + most_frame_bytes);
  std::memcpy(frame.data(), &most_frame_bytes, sizeof most_frame_bytes);
  std::jthread writer([this, &frame] {
    std::span<const std::byte> left(frame);
    while (!left.empty()) {
      const ssize_t written = ::send(peer_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (written <= 0) return;
      left = left.subspan(static_cast<std::size_t>(written));
    }
  });
  while (connection_->is_open() && !connection_->has_frame()) connection_->receive();
  ASSERT_TRUE(connection_->has_frame());
  ASSERT_EQ(connection_->take().size(), most_frame_bytes);
  writer.join();
  constexpr std::uint32_t too_many = most_frame_bytes + 1;
  write(std::as_bytes(std::span(&too_many, 1)));
  connection_->receive();
  EXPECT_FALSE(connection_->is_open());
}

}  // namespace
}  // namespace gang::harness
