#include "harness/conductor/long_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Time = LongWaits::Clock::time_point;

constexpr LongWaits::Call barrier(int rank, Duration timeout = 10s) {
  return {.rank = rank,
          .name = "barrier",
          .call_site = {.file = "train.py", .function = "", .line = 3},
          .timeout = timeout};
}

TimeOutside outside(Time begin, Time end, std::uint32_t line = 5) {
  return {
      .begin = begin, .end = end, .call_site = {.file = "train.py", .function = "", .line = line}};
}

std::string after(const LongWaits::Call& call, Time begin, const TimeOutside& late) {
  LongWaits waits;
  waits.note(call, begin, 0, late);
  return waits.describe();
}

TEST(LongWaits, AreThoseOfMoreThanTheTimeout) {
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(1s), Time(12s))), IsEmpty());
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(1s), Time(12s) + Duration(1))),
              Not(IsEmpty()));
  EXPECT_THAT(
      after(barrier(1, no_timeout), Time(2s), outside(Time(1s), Time(std::chrono::hours(100)))),
      IsEmpty());
}

// The time before was that of somebody else: the late one waited in a call, too.
TEST(LongWaits, CountOnlyFromWhenTheLateOneWentAway) {
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(5s), Time(15s))), IsEmpty());
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(5s), Time(16s))),
              HasSubstr("waited 11 s in"));
}

TEST(LongWaits, SayWhoWaitedWhereForWhomAndHowLong) {
  EXPECT_EQ(
      after(barrier(1), Time(2s), outside(Time(1s), Time(22s) + std::chrono::microseconds(77))),
      "Rank 1 waited 20 s in barrier at train.py:3 for rank 0, which was outside of calls "
      "until it came to train.py:5; the timeout is 10 s. The clock of a simulated run stands "
      "meanwhile; a real one would have timed out.");
}

TEST(LongWaits, OfOneCallAreOne) {
  LongWaits waits;
  const TimeOutside late = outside(Time(1s), Time(22s));
  for (const int rank : {3, 1, 2}) waits.note(barrier(rank), Time(Duration(rank * 1s)), 0, late);
  EXPECT_THAT(waits.describe(), AllOf(HasSubstr("Ranks 1-3 waited 21 s in barrier at train.py:3"),
                                      Not(HasSubstr("more such"))));
}

TEST(LongWaits, OfOtherCallsAreCounted) {
  LongWaits waits;
  waits.note(barrier(1), Time(1s), 0, outside(Time(1s), Time(22s)));
  waits.note(barrier(1), Time(30s), 0, outside(Time(30s), Time(60s)));  // the next round
  waits.note(barrier(0), Time(70s), 1, outside(Time(70s), Time(90s)));
  EXPECT_THAT(waits.describe(),
              AllOf(HasSubstr("Rank 1 waited 21 s"), HasSubstr("And 2 more such.")));
  waits.clear();
  EXPECT_THAT(waits.describe(), IsEmpty());
}

}  // namespace
}  // namespace gang::harness
