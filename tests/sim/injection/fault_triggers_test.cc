#include "sim/injection/fault_record.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(FaultTriggers, CallsBeforeTheNextFaultAreQuiet) {
  const Fault fifth{.kind = FaultKind::crash, .trigger = {.operation = 5}};
  const Fault third{.kind = FaultKind::exception, .trigger = {.operation = 3}};
  const std::vector<ArmedFault> armed = {{.fault = &fifth, .seen = 1},
                                         {.fault = &third, .seen = 1}};
  EXPECT_EQ(quiet_calls_of(armed), 2U);
}

TEST(FaultTriggers, NoCallIsQuietWhereAFaultDependsOnMoreThanTheCount) {
  const Fault on_gang{.kind = FaultKind::crash, .trigger = {.operation = 5, .gang = "dp"}};
  const std::vector<ArmedFault> armed = {{.fault = &on_gang}};
  EXPECT_EQ(quiet_calls_of(armed), 0U);
}

TEST(FaultTriggers, ACrashHappensByItselfAtATimeAnExceptionNeedsACall) {
  EXPECT_TRUE(happens_by_itself({.kind = FaultKind::crash, .trigger = {.time = Duration(1s)}}));
  EXPECT_FALSE(happens_by_itself({.kind = FaultKind::crash, .trigger = {.operation = 1}}));
  EXPECT_FALSE(
      happens_by_itself({.kind = FaultKind::exception, .trigger = {.time = Duration(1s)}}));
}

}  // namespace
}  // namespace gang::sim
