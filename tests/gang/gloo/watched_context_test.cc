#include "gang/gloo/watched_context.h"

#include <array>
#include <atomic>
#include <future>

#include <gloo/common/error.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

// Two connected transports, the first of which is watched.
class WatchedContextTest : public testing::Test {
 protected:
  WatchedContextTest() {
    const std::shared_ptr<Store> store = make_memory_store(*runtime);
    const auto connector = make_store_connector(test::loopback_device(), store, runtime);
    std::jthread other([&] { peer = connector->connect({"pair", 1, 2}, 10s); });
    auto plain = connector->connect({"pair", 0, 2}, 10s);
    other.join();
    watched = make_watched_context(std::move(plain), std::make_shared<WaitWatch>(),
                                   [this] { return noted.load(); });
  }

  // How long a wait of 20 s for a message from any rank takes to fail.
  Duration time_to_fail() {
    char byte = 0;
    const auto buffer = watched->createUnboundBuffer(&byte, 1);
    buffer->recv(std::vector<int>{1}, 7, 0, 1);
    const TimePoint began = runtime->now();
    EXPECT_THROW(buffer->waitRecv(20s), gloo::IoException);
    return runtime->now() - began;
  }

  // The rank for which, as a meeting of both learns, it waits in vain.
  int lost_to_a_meeting() {
    std::promise<int> lost;
    std::atomic<bool> is_told = false;
    const std::array both = {0, 1};
    const auto meeting = watch_meeting(*watched, both, [&](int rank) {
      if (!is_told.exchange(true)) lost.set_value(rank);
    });
    return lost.get_future().get();
  }

  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::atomic<bool> noted = false;
  std::shared_ptr<gloo::transport::Context> peer;
  std::shared_ptr<gloo::transport::Context> watched;
};

TEST_F(WatchedContextTest, AWaitForAnyRankEndsWhenAllAreGone) {
  std::jthread other([this] {
    std::this_thread::sleep_for(50ms);
    peer.reset();
  });
  EXPECT_LT(time_to_fail(), 10s);
}

TEST_F(WatchedContextTest, AWaitEndsWhenThereIsANote) {
  std::jthread other([this] {
    std::this_thread::sleep_for(50ms);
    noted = true;
  });
  EXPECT_LT(time_to_fail(), 10s);
}

TEST_F(WatchedContextTest, AWaitThatIsNotInVainContinues) {
  char sent = 'x';
  char got = 0;
  const auto out = peer->createUnboundBuffer(&sent, 1);
  std::jthread other([&out] {
    std::this_thread::sleep_for(200ms);
    out->send(0, 7);
    out->waitSend(10s);
  });
  const auto in = watched->createUnboundBuffer(&got, 1);
  in->recv(std::vector<int>{1}, 7, 0, 1);
  int source = -1;
  EXPECT_TRUE(in->waitRecv(&source, 20s));
  EXPECT_EQ(source, 1);
  EXPECT_EQ(got, 'x');
}

TEST_F(WatchedContextTest, AnAbortedWaitReturnsAsInGloo) {
  char byte = 0;
  const auto buffer = watched->createUnboundBuffer(&byte, 1);
  buffer->recv(1, 7, 0, 1);
  buffer->abortWaitRecv();
  EXPECT_FALSE(buffer->waitRecv(20s));
}

TEST_F(WatchedContextTest, AMeetingLearnsWhichMemberIsLost) {
  peer.reset();
  EXPECT_EQ(lost_to_a_meeting(), 1);
}

TEST_F(WatchedContextTest, AMeetingLearnsThatTheGangIsBroken) {
  noted = true;
  EXPECT_EQ(lost_to_a_meeting(), no_rank);
}

TEST_F(WatchedContextTest, AMeetingOfMembersThatAreThereIsNotDisturbed) {
  const std::array both = {0, 1};
  bool is_told = false;
  {
    const auto meeting = watch_meeting(*watched, both, [&](int) { is_told = true; });
    std::this_thread::sleep_for(120ms);
  }
  EXPECT_FALSE(is_told);
}

// Its waits begin with one that is complete just as it is aborted.
class AbortedLate final : public gloo::transport::UnboundBuffer {
 public:
  AbortedLate() : UnboundBuffer(nullptr, 0) {}

  bool waitRecv(int*, std::chrono::milliseconds) override {
    if (waits_++ == 0) {
      is_aborted_.wait(false);
      return true;
    }
    return !is_aborted_.exchange(false);
  }
  bool waitSend(int*, std::chrono::milliseconds) override { return true; }
  void abortWaitRecv() override {
    is_aborted_ = true;
    is_aborted_.notify_all();
  }
  void abortWaitSend() override {}
  void send(int, std::uint64_t, std::size_t, std::size_t) override {}
  void recv(int, std::uint64_t, std::size_t, std::size_t) override {}
  void recv(std::vector<int>, std::uint64_t, std::size_t, std::size_t) override {}

 private:
  int waits_ = 0;
  std::atomic<bool> is_aborted_ = false;
};

class AbortingLate final : public gloo::transport::Context {
 public:
  AbortingLate() : Context(0, 1) {}
  std::unique_ptr<gloo::transport::Pair>& getPair(int) override { return none_; }
  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { return none_; }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void*, std::size_t) override {
    return std::make_unique<AbortedLate>();
  }

 private:
  std::unique_ptr<gloo::transport::Pair> none_;
};

TEST(WatchedContext, AnEndThatComesTooLateDoesNotEndTheNextWait) {
  const auto context = make_watched_context(std::make_shared<AbortingLate>(),
                                            std::make_shared<WaitWatch>(), [] { return true; });
  const auto buffer = context->createUnboundBuffer(nullptr, 0);
  EXPECT_TRUE(buffer->waitRecv(20s));
  EXPECT_TRUE(buffer->waitRecv(20s));
}

TEST(WatchedGang, AReceiveFromAnyRankLearnsThatTheGangIsBroken) {
  const auto errors = test::run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t value = 0;
    if (gang->rank() == 1) std::this_thread::sleep_for(50ms);
    if (gang->rank() == 1) gang->abort();
    gang->recv(view_of(value), any_rank);
  });
  for (const test::RankError& error : errors) {
    EXPECT_EQ(error.kind, "aborted") << error.text;
    EXPECT_LT(error.elapsed, 10s);
  }
}

TEST(WatchedGang, AReceiveFromAnyRankLearnsThatAllOthersHaveGone) {
  const auto errors = test::run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t value = 0;
    if (gang->rank() != 1) gang->recv(view_of(value), 1);
    if (gang->rank() == 0) gang->recv(view_of(value), any_rank);
    if (gang->rank() != 1) return;
    gang->send(view_of(value), 0);
    gang->send(view_of(value), 2);
  });
  EXPECT_EQ(errors[0].kind, "peer_failed") << errors[0].text;
  EXPECT_LT(errors[0].elapsed, 10s);
  EXPECT_EQ(errors[1].kind, "");
}

}  // namespace
}  // namespace gang
