#include "harness/conductor/poller.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class PollerTest : public testing::Test {
 protected:
  struct Pipe {
    Descriptor from;
    Descriptor to;
    void write() const { ASSERT_EQ(::write(to.get(), "x", 1), 1); }
    void read() const {
      char byte = 0;
      ASSERT_EQ(::read(from.get(), &byte, 1), 1);
    }
  };
  static Pipe make_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }

  Poller poller_;
};

TEST_F(PollerTest, CallsWhoHasSomethingToReadAndNobodyElse) {
  const Pipe ready = make_pipe();
  const Pipe idle = make_pipe();
  int calls = 0;
  int idle_calls = 0;
  poller_.add(ready.from.get(), [&] { ++calls, ready.read(); });
  poller_.add(idle.from.get(), [&] { ++idle_calls; });
  EXPECT_FALSE(poller_.poll(0ms));
  ready.write();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_FALSE(poller_.poll(0ms));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(idle_calls, 0);
}

TEST_F(PollerTest, CallsAgainUntilEverythingIsRead) {
  const Pipe pipe = make_pipe();
  int calls = 0;
  poller_.add(pipe.from.get(), [&] { ++calls; });
  pipe.write();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 2);
}

TEST_F(PollerTest, TellsOfAPeerThatIsGone) {
  Pipe pipe = make_pipe();
  int calls = 0;
  poller_.add(pipe.from.get(), [&] { ++calls; });
  pipe.to.close();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 1);
}

TEST_F(PollerTest, DoesNotCallWhatWasRemovedByAnEarlierCall) {
  const Pipe first = make_pipe();
  const Pipe second = make_pipe();
  int calls = 0;
  const auto remove_both = [&] {
    ++calls;
    poller_.remove(first.from.get());
    poller_.remove(second.from.get());
  };
  poller_.add(first.from.get(), remove_both);
  poller_.add(second.from.get(), remove_both);
  first.write();
  second.write();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(poller_.poll(0ms));
}

TEST_F(PollerTest, ADescriptorMayComeBackAsAnother) {
  Pipe pipe = make_pipe();
  int calls = 0;
  const int number = pipe.from.get();
  poller_.add(number, [] { FAIL(); });
  pipe.from.close();  // without remove
  const Pipe other = make_pipe();
  ASSERT_EQ(other.from.get(), number);
  poller_.add(number, [&] { ++calls; });
  other.write();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 1);
}

TEST_F(PollerTest, WaitsNoLongerThanItMay) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(poller_.poll(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 19ms);
}

TEST_F(PollerTest, CallsAllThatAreReadyAtOnce) {
  const Pipe first = make_pipe();
  const Pipe second = make_pipe();
  int calls = 0;
  for (const Pipe* pipe : {&first, &second}) {
    poller_.add(pipe->from.get(), [&calls, pipe] { ++calls, pipe->read(); });
    pipe->write();
  }
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 2);
}

TEST_F(PollerTest, WhatIsRemovedByAnEarlierCallHoldsUpNobody) {
  const Pipe first = make_pipe();
  const Pipe second = make_pipe();
  const Pipe third = make_pipe();
  int calls = 0;
  poller_.add(first.from.get(), [&] { poller_.remove(second.from.get()); });
  poller_.add(second.from.get(), [] { FAIL(); });
  poller_.add(third.from.get(), [&calls] { ++calls; });
  for (const Pipe* pipe : {&first, &second, &third}) pipe->write();
  EXPECT_TRUE(poller_.poll(1s));
  EXPECT_EQ(calls, 1);
}

TEST_F(PollerTest, WatchesWritesAsLongAsItIsToldTo) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Descriptor one(sockets[0]);
  const Descriptor other(sockets[1]);
  poller_.add(one.get(), [] {});
  EXPECT_FALSE(poller_.poll(0ms));
  poller_.watch_writes(one.get(), true);
  EXPECT_TRUE(poller_.poll(0ms));
  poller_.watch_writes(one.get(), false);
  EXPECT_FALSE(poller_.poll(0ms));
}

TEST_F(PollerTest, HearsOfReadsWhileItWatchesWrites) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Descriptor one(sockets[0]);
  const Descriptor other(sockets[1]);
  const std::array<char, 4096> bytes{};
  while (::send(one.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) continue;
  int calls = 0;
  poller_.add(one.get(), [&calls] { ++calls; });
  poller_.watch_writes(one.get(), true);
  EXPECT_FALSE(poller_.poll(0ms));
  ASSERT_EQ(::write(other.get(), "x", 1), 1);
  EXPECT_TRUE(poller_.poll(0ms));
  EXPECT_EQ(calls, 1);
}

TEST_F(PollerTest, WaitsAtLeastAsLongAsItMay) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(poller_.poll(std::chrono::microseconds(300)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
}

}  // namespace
}  // namespace gang::harness
