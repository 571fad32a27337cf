#include "sim/options/simulation_options.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void expect_refused(const SimulationOptions& options, const std::string& message) {
  EXPECT_THAT([&options] { validate(options); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr(message)));
}

TEST(SimulationOptions, WhatIsWrongIsNamedWithItsValueAndWhatIsAccepted) {
  expect_refused({.world_size = 0}, "world size is 0; must be 1 to 4194304");
  expect_refused({.world_size = -3}, "world size is -3; must be 1 to 4194304");
  expect_refused({.world_size = 4'194'305}, "world size is 4194305; must be 1 to 4194304");
  expect_refused({.world_size = 20'000, .context = ContextKind::thread},
                 "world size is 20000 on context thread; must be 1 to 16384");
  expect_refused({.timeout = Duration(0)}, "timeout is 0 s; must be more than zero, or no_timeout");
  expect_refused({.timeout = Duration(-1)}, "must be more than zero, or no_timeout");
  expect_refused({.watchdog = Duration(0)}, "watchdog is 0 s; must be more than zero, or none");
  expect_refused({.backend = SimulatedBackend::nccl, .watchdog = Duration(1)},
                 "watchdog is set on sim-nccl, whose gangs have their own; must be none");
  expect_refused({.step_limit = 0}, "step limit is 0; must be 1 or more");
  expect_refused({.stack_bytes = 1024}, "stack size is 1024 bytes; must be 16384 or more");
  expect_refused({.reduction_threads = 0}, "reduction threads are 0; must be 1 or more");
  expect_refused({.scheduler = SchedulerKind::replay}, "scheduler replay needs a schedule");
  expect_refused({.replay = Schedule{}}, "a schedule to replay needs scheduler replay");
  expect_refused({.context = ContextKind::parallel, .scheduler = SchedulerKind::random},
                 "scheduler is random on context parallel");
}

TEST(SimulationOptions, TheLimitsThemselvesAreAccepted) {
  EXPECT_NO_THROW(validate(SimulationOptions{}));
  EXPECT_NO_THROW(validate({.world_size = 4'194'304, .context = ContextKind::fiber}));
  EXPECT_NO_THROW(validate({.timeout = no_timeout, .step_limit = 1, .stack_bytes = 16 * 1024}));
}

TEST(SimulationOptions, ASimulationRefusesThemWhenItIsMade) {
  EXPECT_THROW(Simulation({.world_size = 0}), InvalidArgument);
}

TEST(SimulationOptions, TextFormsRoundTrip) {
  for (const auto kind : {ContextKind::fiber, ContextKind::thread, ContextKind::parallel})
    EXPECT_EQ(parse_context_kind(to_string(kind)), kind);
  for (const auto model : {ExecutionModel::independent, ExecutionModel::stream_ordered})
    EXPECT_EQ(parse_execution_model(to_string(model)), model);
  for (const auto mode : {SendMode::rendezvous(), SendMode::buffered(0), SendMode::buffered(4096),
                          SendMode::unlimited()})
    EXPECT_EQ(parse_send_mode(to_string(mode)), mode);
  EXPECT_EQ(to_string(SendMode::buffered(4096)), "buffered(4096)");
}

TEST(SimulationOptions, IgnoredLeaksAreNamedByTheirFindings) {
  EXPECT_EQ(to_string(IgnoredLeaks{}), "none");
  EXPECT_EQ(to_string(IgnoredLeaks{.unwaited_work = true}), finding_id::unwaited_work);
  EXPECT_EQ(to_string(IgnoredLeaks{.gang_not_closed = true}), finding_id::gang_not_closed);
  for (const IgnoredLeaks ignored : {IgnoredLeaks{}, IgnoredLeaks{true, false},
                                     IgnoredLeaks{false, true}, IgnoredLeaks{true, true}})
    EXPECT_EQ(parse_ignored_leaks(to_string(ignored)), ignored);
  EXPECT_EQ(parse_ignored_leaks("gang_not_closed,unwaited_work"), (IgnoredLeaks{true, true}));
  for (const char* text : {"", "all", "none,unwaited_work", "unwaited_work,",
                           "unwaited_work,unwaited_work", "unreceived_message"})
    EXPECT_EQ(parse_ignored_leaks(text), std::nullopt) << text;
}

TEST(SimulationOptions, NoOtherTextParses) {
  EXPECT_EQ(parse_context_kind("fibre"), std::nullopt);
  EXPECT_EQ(parse_execution_model(""), std::nullopt);
  for (const char* text :
       {"buffered", "buffered()", "buffered(-1)", "buffered(4k)", "buffered(4", "buffered(4) ",
        "rendezvous()", "unlimited()", "buffered(99999999999999999999)"})
    EXPECT_EQ(parse_send_mode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace gang::sim
