#include "harness/conductor/long_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

using Time = LongWaits::Clock::time_point;

constexpr LongWaits::Call barrier(int rank, Duration timeout = 10s) {
  return {.rank = rank,
          .name = "barrier",
          .call_site = CallSite::at("train.py", 3),
          .timeout = timeout};
}

TimeOutside outside(Time begin, Time end, std::uint32_t line = 5) {
  return {.begin = begin, .end = end, .call_site = CallSite::at("train.py", line)};
}

std::vector<LongWait> after(const LongWaits::Call& call, Time begin, const TimeOutside& late) {
  LongWaits waits;
  waits.note(call, begin, 0, late);
  return waits.all();
}

TEST(LongWaits, AreThoseOfMoreThanTheTimeout) {
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(1s), Time(12s))), IsEmpty());
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(1s), Time(12s) + Duration(1))), SizeIs(1));
  EXPECT_THAT(
      after(barrier(1, no_timeout), Time(2s), outside(Time(1s), Time(std::chrono::hours(100)))),
      IsEmpty());
}

// The time before was that of somebody else: the late one waited in a call, too.
TEST(LongWaits, CountOnlyFromWhenTheLateOneWentAway) {
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(5s), Time(15s))), IsEmpty());
  EXPECT_THAT(after(barrier(1), Time(2s), outside(Time(5s), Time(16s))),
              ElementsAre(Field(&LongWait::waited, 11s)));
}

TEST(LongWaits, SayWhoWaitedWhereForWhomAndHowLong) {
  EXPECT_THAT(
      after(barrier(1), Time(2s), outside(Time(1s), Time(22s))),
      ElementsAre(LongWait{.ranks = {1},
                           .call = "barrier",
                           .location = {.file = "train.py", .line = 3, .function = ""},
                           .waited = 20s,
                           .timeout = 10s,
                           .late_rank = 0,
                           .late_location = {.file = "train.py", .line = 5, .function = ""}}));
}

TEST(LongWaits, OfOneCallAreOne) {
  LongWaits waits;
  const TimeOutside late = outside(Time(1s), Time(22s));
  for (const int rank : {3, 1, 1, 2}) waits.note(barrier(rank), Time(Duration(rank * 1s)), 0, late);
  EXPECT_THAT(waits.all(), ElementsAre(AllOf(Field(&LongWait::ranks, ElementsAre(1, 2, 3)),
                                             Field(&LongWait::waited, 21s))));
}

TEST(LongWaits, OfOtherCallsAreOthers) {
  LongWaits waits;
  LongWaits::Call elsewhere = barrier(2);
  elsewhere.call_site = CallSite::at(elsewhere.call_site.file(), 4);
  LongWaits::Call of_another_kind = barrier(3);
  of_another_kind.name = "all_reduce";
  for (const LongWaits::Call& call : {barrier(1), elsewhere, of_another_kind})
    waits.note(call, Time(1s), 0, outside(Time(1s), Time(22s)));
  waits.note(barrier(1), Time(30s), 0, outside(Time(30s), Time(60s)));  // the next round
  waits.note(barrier(0), Time(30s), 1, outside(Time(30s), Time(60s)));
  EXPECT_THAT(waits.all(),
              ElementsAre(Field(&LongWait::waited, 21s),
                          Field(&LongWait::location, Field(&SourceLocation::line, 4U)),
                          Field(&LongWait::call, "all_reduce"), Field(&LongWait::waited, 30s),
                          Field(&LongWait::late_rank, 1)));
  waits.clear();
  EXPECT_THAT(waits.all(), IsEmpty());
}

}  // namespace
}  // namespace gang::harness
