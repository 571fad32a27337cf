#include "gang/recording/dump_signal.h"

#include <poll.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang {
namespace {

bool is_readable(const DumpSignal& signal) {
  ::pollfd asked{.fd = signal.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

int calls = 0;

TEST(DumpSignal, ReachesEveryoneAndLeavesWhatWasBefore) {
  const auto before = std::signal(SIGUSR1, [](int) { ++calls; });
  {
    const DumpSignal one;
    const DumpSignal other;
    EXPECT_FALSE(is_readable(one));
    std::raise(SIGUSR1);
    EXPECT_TRUE(is_readable(one));
    EXPECT_TRUE(is_readable(other));
    EXPECT_EQ(calls, 0);
  }
  std::raise(SIGUSR1);
  EXPECT_EQ(calls, 1);
  std::signal(SIGUSR1, before);
}

TEST(DumpSignal, CanBeRaisedForOne) {
  const DumpSignal one;
  const DumpSignal other;
  one.raise();
  EXPECT_TRUE(is_readable(one));
  EXPECT_FALSE(is_readable(other));
}

TEST(DumpSignal, TooManyAreRefused) {
  std::vector<std::unique_ptr<DumpSignal>> signals;
  for (std::size_t i = 0; i < DumpSignal::most; ++i)
    signals.push_back(std::make_unique<DumpSignal>());
  EXPECT_THROW(DumpSignal(), InvalidOperation);
  signals.pop_back();
  EXPECT_NO_THROW(DumpSignal());
}

TEST(DumpSignal, DoesNotDisturbTheCodeThatItInterrupts) {
  const DumpSignal signal;
  errno = ENOENT;
  std::raise(SIGUSR1);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace gang
