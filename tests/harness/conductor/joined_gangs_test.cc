#include "harness/conductor/joined_gangs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/conductor/messages.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

using Time = TimeOutside::Clock::time_point;

std::shared_ptr<Gang> named(const std::string& name) { return make_fake_gang({.name = name}); }

// Of a process that uses the gangs 1, "dp", and 2, "tp".
JoinedGangs two_gangs() {
  JoinedGangs gangs;
  gangs.join(1, named("dp"));
  gangs.join(2, named("tp"));
  return gangs;
}

// The number of a collective that begins now.
std::uint64_t call(JoinedGangs& gangs, std::uint32_t group) {
  return gangs.begin_call(group, OperationKind::all_reduce).number;
}

const TimeOutside* absence(const JoinedGangs& gangs, const std::string& name,
                           std::uint64_t number) {
  return gangs.absence_before(named(name)->info(), number);
}

void go_away(JoinedGangs& gangs, Duration time, std::uint32_t line = 7) {
  gangs.note_outside(
      {.begin = Time(10s), .end = Time(10s + time), .call_site = CallSite::at("train.py", line)});
}

TEST(JoinedGangs, AreKnownByTheNumbersOfTheClient) {
  JoinedGangs gangs = two_gangs();
  EXPECT_EQ(gangs.gang(1)->info().name, "dp");
  EXPECT_EQ(gangs.gang(2)->info().name, "tp");
  gangs.leave(1);
  EXPECT_THROW(gangs.gang(1), ProtocolError);
  EXPECT_THROW(call(gangs, 1), ProtocolError);
  EXPECT_EQ(gangs.gang(2)->info().name, "tp");
  gangs.leave_all();
  EXPECT_THROW(gangs.gang(2), ProtocolError);
}

TEST(JoinedGangs, AreClosedTogether) {
  JoinedGangs gangs = two_gangs();
  gangs.close_all();
  for (const std::uint32_t group : {1U, 2U})
    EXPECT_THROW(gangs.gang(group)->barrier(), InvalidOperation);
}

TEST(JoinedGangs, AreAbortedTogether) {
  JoinedGangs gangs = two_gangs();
  gangs.abort_all();
  for (const std::uint32_t group : {1U, 2U}) EXPECT_THROW(gangs.gang(group)->barrier(), GangError);
}

TEST(JoinedGangs, NumberTheCollectivesOfEach) {
  JoinedGangs gangs = two_gangs();
  EXPECT_EQ(call(gangs, 1), 0U);
  EXPECT_EQ(call(gangs, 1), 1U);
  EXPECT_EQ(call(gangs, 2), 0U);
  EXPECT_EQ(call(gangs, 1), 2U);
}

TEST(JoinedGangs, DoNotCountMessages) {
  JoinedGangs gangs = two_gangs();
  for (const OperationKind kind : {OperationKind::send, OperationKind::recv, OperationKind::batch})
    EXPECT_EQ(gangs.begin_call(1, kind).gang, gangs.gang(1));
  EXPECT_EQ(call(gangs, 1), 0U);
}

TEST(JoinedGangs, MayHaveATimeoutOfTheProcess) {
  JoinedGangs gangs = two_gangs();
  gangs.set_timeout(2, 3s);
  EXPECT_EQ(gangs.begin_call(1, OperationKind::barrier).timeout, std::nullopt);
  EXPECT_EQ(gangs.begin_call(2, OperationKind::barrier).timeout, 3s);
  EXPECT_EQ(gangs.begin_call(2, OperationKind::send).timeout, 3s);
}

TEST(JoinedGangs, KnowTheAbsenceBeforeACollectiveAndThoseAfterIt) {
  JoinedGangs gangs = two_gangs();
  call(gangs, 1);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);
  go_away(gangs, 20s);
  call(gangs, 1);
  call(gangs, 1);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);  // had been called when it went away
  for (const std::uint64_t number : {1U, 2U}) {
    const TimeOutside* const found = absence(gangs, "dp", number);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->begin, Time(10s));
    EXPECT_EQ(found->end, Time(30s));
    EXPECT_EQ(found->call_site.line(), 7U);
  }
  EXPECT_EQ(absence(gangs, "dp", 3), nullptr);  // has not been called
  EXPECT_EQ(absence(gangs, "pp", 1), nullptr);
}

TEST(JoinedGangs, KnowTheLastAbsenceOnlyWhereACallCameAfterIt) {
  JoinedGangs gangs = two_gangs();
  go_away(gangs, 20s, 1);
  call(gangs, 1);
  call(gangs, 2);
  go_away(gangs, 30s, 2);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);
  call(gangs, 2);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);
  EXPECT_EQ(absence(gangs, "tp", 0), nullptr);
  ASSERT_NE(absence(gangs, "tp", 1), nullptr);
  EXPECT_EQ(absence(gangs, "tp", 1)->call_site.line(), 2U);
}

// That of every step is shorter.
TEST(JoinedGangs, TakeASecondForAnAbsence) {
  JoinedGangs gangs = two_gangs();
  go_away(gangs, 999ms);
  call(gangs, 1);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);
  go_away(gangs, 1000ms);
  call(gangs, 1);
  EXPECT_NE(absence(gangs, "dp", 1), nullptr);
}

TEST(JoinedGangs, CannotTellTwoOfOneNameApart) {
  JoinedGangs gangs = two_gangs();
  go_away(gangs, 20s);
  call(gangs, 1);
  EXPECT_NE(absence(gangs, "dp", 0), nullptr);
  gangs.join(3, named("dp"));
  call(gangs, 3);
  EXPECT_EQ(absence(gangs, "dp", 0), nullptr);
  gangs.leave(3);
  GangInfo of_others = named("dp")->info();
  of_others.root_ranks = {0, 7};
  EXPECT_EQ(gangs.absence_before(of_others, 0), nullptr);
}

}  // namespace
}  // namespace gang::harness
