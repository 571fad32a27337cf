#include "sim/engine/event_queue.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"

namespace gang::sim {
namespace {

// A context that waits.
struct Waiting {
  Waiting() { task.wait = &wait; }

  Wait wait;
  Task task;
};

TEST(EventQueue, AnEmptyOneHasNoNextTime) { EXPECT_EQ(EventQueue().next_time(), std::nullopt); }

TEST(EventQueue, OrdersByTimeThenByEntry) {
  EventQueue queue;
  Waiting first;
  Waiting second;
  Waiting third;
  queue.push(TimePoint(20), third.task);
  queue.push(TimePoint(10), first.task);
  queue.push(TimePoint(10), second.task);
  EXPECT_EQ(queue.next_time(), TimePoint(10));
  EXPECT_EQ(&queue.pop(), &first.task);
  EXPECT_EQ(queue.next_time(), TimePoint(10));
  EXPECT_EQ(&queue.pop(), &second.task);
  EXPECT_EQ(queue.next_time(), TimePoint(20));
  EXPECT_EQ(&queue.pop(), &third.task);
  EXPECT_EQ(queue.next_time(), std::nullopt);
}

TEST(EventQueue, DropsAWakeUpWhoseWaitHasEnded) {
  EventQueue queue;
  Waiting waiting;
  queue.push(TimePoint(10), waiting.task);
  waiting.task.wait = nullptr;
  EXPECT_EQ(queue.next_time(), std::nullopt);
}

TEST(EventQueue, DropsAWakeUpForAnEarlierWait) {
  EventQueue queue;
  Waiting waiting;
  queue.push(TimePoint(10), waiting.task);
  ++waiting.task.wait_serial;
  queue.push(TimePoint(30), waiting.task);
  EXPECT_EQ(queue.next_time(), TimePoint(30));
  EXPECT_EQ(&queue.pop(), &waiting.task);
}

}  // namespace
}  // namespace gang::sim
