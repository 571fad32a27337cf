#include "gang/operation_queue.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;

// A queue that records what it performs, and on which thread.
class OperationQueueTest : public testing::Test {
 protected:
  Operation numbered(std::uint64_t number) {
    Operation operation;
    operation.collective.sequence_number = number;
    return operation;
  }

  void perform(Operation& operation) {
    is_performing = true;
    while (is_held) std::this_thread::sleep_for(1ms);
    performed.push_back(operation.collective.sequence_number);
    threads.push_back(std::this_thread::get_id());
    if (operation.collective.sequence_number == failing) throw GangError({.reason = "planted"});
  }

  std::atomic<bool> is_held = false;
  std::atomic<bool> is_performing = false;
  std::uint64_t failing = 1000;
  std::vector<std::uint64_t> performed;
  std::vector<std::thread::id> threads;
  int abandoned = 0;
  std::shared_ptr<CompletionBoard> board =
      std::make_shared<CompletionBoard>(std::shared_ptr<Runtime>(make_real_runtime()));
  OperationQueue queue{board, "test",
                       [this](Operation& operation, TimePoint) { perform(operation); },
                       [this] {
                         ++abandoned;
                         is_held = false;
                       }};
};

TEST_F(OperationQueueTest, ABlockingOperationRunsOnTheCallingThread) {
  Operation operation = numbered(1);
  queue.run(operation);
  EXPECT_EQ(threads, std::vector{std::this_thread::get_id()});
  EXPECT_FALSE(queue.is_busy());
}

TEST_F(OperationQueueTest, OperationsArePerformedInTheOrderOfTheCalls) {
  is_held = true;
  std::vector<Work> works;
  for (std::uint64_t i = 0; i < 3; ++i) works.push_back(queue.start(numbered(i)));
  EXPECT_TRUE(queue.is_busy());
  EXPECT_FALSE(works[0].test());
  is_held = false;
  Operation last = numbered(3);
  queue.run(last);
  EXPECT_EQ(performed, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_NE(threads[0], std::this_thread::get_id());
  Work::wait_all(works);
  EXPECT_FALSE(queue.is_busy());
}

TEST_F(OperationQueueTest, IsBusyUntilTheLastOperationHasEnded) {
  is_held = true;
  Work work = queue.start(numbered(1));
  while (!is_performing) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(queue.is_busy());
  is_held = false;
  work.wait();
  EXPECT_FALSE(queue.is_busy());
}

TEST_F(OperationQueueTest, ErrorsReachTheWaitingThread) {
  failing = 1;
  Work fails = queue.start(numbered(1));
  Work succeeds = queue.start(numbered(2));
  EXPECT_THROW(fails.wait(), GangError);
  succeeds.wait();
  Operation blocking = numbered(1);
  EXPECT_THROW(queue.run(blocking), GangError);
}

TEST_F(OperationQueueTest, StoppingPerformsWhatIsLeft) {
  Work first = queue.start(numbered(1));
  Work second = queue.start(numbered(2));
  queue.stop();
  queue.stop();
  EXPECT_TRUE(first.test() && second.test());
  for (const std::uint64_t number : {3U, 4U}) queue.start(numbered(number)).wait();
  EXPECT_EQ(performed, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(OperationQueueTest, AnOperationDroppedByAnExceptionIsAbandoned) {
  is_held = true;
  try {
    const Work work = queue.start(numbered(1));
    throw std::runtime_error("leaves the program");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(abandoned, 1);
  EXPECT_EQ(performed.size(), 1U);
}

}  // namespace
}  // namespace gang
