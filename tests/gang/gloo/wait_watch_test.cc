#include "gang/gloo/wait_watch.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class FakeWait final : public WatchedWait {
 public:
  FakeWait(WaitWatch& watch, const std::shared_ptr<const WatchedGang>& gang, bool is_vain)
      : WatchedWait(gang), watch_(watch), is_vain_(is_vain) {
    watch_.add(*this);
  }
  ~FakeWait() override { watch_.remove(*this); }

  bool has_ended_within(std::chrono::milliseconds time) { return ends_.try_acquire_for(time); }

 private:
  bool is_in_vain() const override { return is_vain_; }
  void end() override { ends_.release(); }

  WaitWatch& watch_;
  bool is_vain_;
  std::counting_semaphore<> ends_{0};
};

std::shared_ptr<const WatchedGang> make_gang(std::atomic<bool>& has_note) {
  return std::make_shared<WatchedGang>([&has_note] { return has_note.load(); });
}

class WaitWatchTest : public testing::Test {
 protected:
  std::atomic<bool> has_note = false;
  std::shared_ptr<const WatchedGang> gang = make_gang(has_note);
  WaitWatch watch;
};

TEST_F(WaitWatchTest, EndsWaitsInVainRepeatedly) {
  FakeWait wait(watch, gang, true);
  EXPECT_TRUE(wait.has_ended_within(10s));
  EXPECT_TRUE(wait.has_ended_within(10s));
}

TEST_F(WaitWatchTest, EndsWaitsOfBrokenGangs) {
  std::atomic<bool> other_has_note = false;
  const auto other_gang = make_gang(other_has_note);
  FakeWait wait(watch, gang, false);
  FakeWait other(watch, other_gang, false);
  EXPECT_FALSE(wait.has_ended_within(60ms));
  has_note = true;
  EXPECT_TRUE(wait.has_ended_within(10s));
  EXPECT_FALSE(other.has_ended_within(60ms));
  other_has_note = true;
  EXPECT_TRUE(other.has_ended_within(10s));
}

// On a thread that no other waits for, and not while it is added or removed.
TEST_F(WaitWatchTest, LooksForNotesWhileWaitsComeAndGo) {
  std::binary_semaphore asked(0);
  std::binary_semaphore go_on(0);
  std::atomic<int> times = 0;
  const auto slow = std::make_shared<const WatchedGang>([&] {
    if (times++ > 0) return false;
    asked.release();
    go_on.acquire();
    return true;
  });
  {
    FakeWait gone(watch, slow, false);
    asked.acquire();
  }
  FakeWait come(watch, gang, false);
  go_on.release();
  EXPECT_FALSE(come.has_ended_within(60ms));
}

TEST_F(WaitWatchTest, OnlyTheWaitThatIsRemovedIsForgotten) {
  FakeWait stays(watch, gang, true);
  auto goes = std::make_unique<FakeWait>(watch, gang, false);
  FakeWait added_later(watch, gang, true);
  goes.reset();
  for (FakeWait* wait : {&stays, &added_later}) {
    EXPECT_TRUE(wait->has_ended_within(10s));
    EXPECT_TRUE(wait->has_ended_within(10s));
  }
}

TEST_F(WaitWatchTest, LooksAgainWhenAWaitHasLastedAQuarterLonger) {
  FakeWait wait(watch, gang, true);
  const auto began = std::chrono::steady_clock::now();
  for (int looks = 0; looks < 5; ++looks) ASSERT_TRUE(wait.has_ended_within(10s));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
}

}  // namespace
}  // namespace gang
