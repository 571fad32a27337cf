#include "sim/schedule/schedule.h"

#include <limits>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::string message_of(std::string_view text) {
  try {
    parse_schedule(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Schedule, PrintsItsChoicesAndDraws) {
  const Schedule schedule{SwitchPoints::blocking_calls, {{3, 8}, {0, 7}}, {17, 42}};
  EXPECT_EQ(to_string(schedule), "gangsim-schedule 1 blocking_calls 3/8 0/7 ; 17 42");
}

TEST(Schedule, AnEmptyOneRoundTrips) {
  EXPECT_EQ(parse_schedule(to_string(Schedule{})), Schedule{});
}

TEST(Schedule, RoundTripsThroughText) {
  const Schedule schedule{SwitchPoints::all_calls,
                          {{0, 2}, {std::numeric_limits<TaskId>::max(), 4'000'000'000}},
                          {0, std::numeric_limits<std::uint64_t>::max()}};
  EXPECT_EQ(parse_schedule(to_string(schedule)), schedule);
}

TEST(Schedule, AnErrorNamesThePositionAndWhatIsAccepted) {
  EXPECT_EQ(message_of("gangsim-schedule 2 "),
            "schedule is malformed at character 1: expected 'gangsim-schedule 1 '");
  EXPECT_EQ(message_of("gangsim-schedule 1 everywhere ;"),
            "schedule is malformed at character 20: "
            "expected one of blocking_calls, all_calls, calls_and_looks, calls_and_tries");
  EXPECT_EQ(message_of("gangsim-schedule 1 all_calls 3-8 ;"),
            "schedule is malformed at character 31: expected '/'");
  EXPECT_EQ(message_of("gangsim-schedule 1 all_calls 3/x ;"),
            "schedule is malformed at character 32: expected a number");
  EXPECT_EQ(message_of("gangsim-schedule 1 all_calls 3/8"),
            "schedule is malformed at character 33: expected ' '");
  EXPECT_EQ(message_of("gangsim-schedule 1 all_calls ; 7 -1"),
            "schedule is malformed at character 34: expected a number");
  EXPECT_EQ(message_of("gangsim-schedule 1 all_calls 5000000000/8 ;"),
            "schedule is malformed at character 30: expected a number");
}

TEST(SchedulerKind, RoundTripsThroughText) {
  for (const auto kind : {SchedulerKind::round_robin, SchedulerKind::random, SchedulerKind::replay})
    EXPECT_EQ(parse_scheduler_kind(to_string(kind)), kind);
  EXPECT_EQ(parse_scheduler_kind("fair"), std::nullopt);
}

}  // namespace
}  // namespace gang::sim
