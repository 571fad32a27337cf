#include "harness/conductor/no_preemption.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

int policy() { return ::sched_getscheduler(0); }

int policy_of_child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(policy());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// On a thread of its own: what it leaves behind is no other test's.
class NoPreemptionTest : public testing::Test {
 protected:
  template <class Body>
  static void run(int before, Body body) {
    std::thread([&] {
      const sched_param parameters{};
      ASSERT_EQ(::sched_setscheduler(0, before, &parameters), 0);
      body();
    }).join();
  }
};

TEST_F(NoPreemptionTest, LastsAsLongAsItLives) {
  run(SCHED_OTHER, [] {
    {
      const NoPreemption no_preemption;
      EXPECT_EQ(policy(), SCHED_BATCH);
    }
    EXPECT_EQ(policy(), SCHED_OTHER);
  });
}

TEST_F(NoPreemptionTest, HoldsForProcessesThatAreStartedMeanwhile) {
  run(SCHED_OTHER, [] {
    {
      const NoPreemption no_preemption;
      EXPECT_EQ(policy_of_child(), SCHED_BATCH);
    }
    EXPECT_EQ(policy_of_child(), SCHED_OTHER);
  });
}

TEST_F(NoPreemptionTest, OfAnotherOneLasts) {
  run(SCHED_OTHER, [] {
    const NoPreemption outer;
    {
      const NoPreemption inner;
    }
    EXPECT_EQ(policy(), SCHED_BATCH);
  });
}

TEST_F(NoPreemptionTest, LeavesAnotherPolicyAlone) {
  run(SCHED_IDLE, [] {
    {
      const NoPreemption no_preemption;
      EXPECT_EQ(policy(), SCHED_IDLE);
    }
    EXPECT_EQ(policy(), SCHED_IDLE);
  });
}

}  // namespace
}  // namespace gang::harness
