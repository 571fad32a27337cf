#include "harness/run/run_specification.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

RunSpecification with_everything() {
  RunSpecification specification{.program = "ring", .world_size = 4};
  specification.parameters = {{"count", "8"}, {"note", "a b"}};
  specification.options.context = sim::ContextKind::parallel;
  specification.schedule = ScheduleChoice::random;
  specification.options.seed = 7;
  specification.options.execution = sim::ExecutionModel::stream_ordered;
  specification.options.sends = sim::SendMode::buffered(64);
  specification.options.timeout = std::chrono::milliseconds{5};
  specification.options.pending_timeouts = sim::PendingTimeouts::fire;
  specification.options.strict_blocking = true;
  specification.options.deadlock_search = sim::DeadlockSearch::while_others_run;
  specification.options.step_limit = 99;
  return specification;
}

TEST(ToCommandLine, IsShort) {
  EXPECT_EQ(to_command_line({.program = "suspect.toml"}, "gangsim"),
            "gangsim run suspect.toml --seed 1");
}

TEST(ToCommandLine, SaysWhatIsNotDefault) {
  EXPECT_EQ(to_command_line(with_everything(), "./layout"),
            "./layout run ring --world 4 --seed 7 --schedule random --context parallel "
            "--execution stream_ordered --sends buffered:64 --timeout 5ms --let-timeouts-fire "
            "--strict-blocking --find-partial --step-limit 99 --set count=8 --set 'note=a b'");
}

TEST(ToCommandLine, SaysHowSendsBufferAndWhichLeaksAreIgnored) {
  RunSpecification specification{.program = "ring"};
  set_option(specification, "sends", "unlimited");
  set_option(specification, "ignore_leaks", "gang_not_closed");
  EXPECT_EQ(specification.options.sends, sim::SendMode::unlimited());
  EXPECT_EQ(specification.options.ignored_leaks, (sim::IgnoredLeaks{.gang_not_closed = true}));
  EXPECT_EQ(to_command_line(specification, "gangsim"),
            "gangsim run ring --seed 1 --sends unlimited --ignore-leaks gang_not_closed");
  EXPECT_EQ(run_specification_from_json(to_json(specification)), specification);
}

TEST(ToCommandLine, LeavesOutWhatTheFileSays) {
  const RunSpecification baseline = with_everything();
  RunSpecification specification = baseline;
  specification.parameters["count"] = "9";
  EXPECT_EQ(to_command_line(specification, "gangsim", baseline),
            "gangsim run ring --seed 7 --set count=9");
}

TEST(RunSpecification, RoundTripsThroughJson) {
  const RunSpecification specification = with_everything();
  EXPECT_EQ(run_specification_from_json(to_json(specification)), specification);
  EXPECT_EQ(run_specification_from_json(to_json(RunSpecification{.program = "p"})),
            RunSpecification{.program = "p"});
}

TEST(RunSpecificationFromJson, NamesTheField) {
  nlohmann::json json = to_json(with_everything());
  json["options"]["seed"] = 7;
  try {
    run_specification_from_json(json);
    FAIL() << "a seed that is not a string was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "field specification.options.seed: expected a string");
  }
  EXPECT_THROW(run_specification_from_json(nlohmann::json::array()), InvalidArgument);
  EXPECT_THROW(run_specification_from_json({{"program", "p"}}), InvalidArgument);
}

TEST(SetParameter, NeedsKeyAndValue) {
  RunSpecification specification;
  set_parameter(specification, "note=a=b");
  EXPECT_EQ(specification.parameters.at("note"), "a=b");
  EXPECT_THROW(set_parameter(specification, "note"), InvalidArgument);
  EXPECT_THROW(set_parameter(specification, "=1"), InvalidArgument);
}

TEST(ShellQuoted, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_quoted("a/b.toml"), "a/b.toml");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(ToExploreLine, HasNoScheduleOfASingleRun) {
  RunSpecification specification{.program = "ring", .world_size = 3};
  const std::string line = to_explore_line(specification, "gangsim", {});
  specification.schedule = ScheduleChoice::random;
  EXPECT_EQ(to_explore_line(specification, "gangsim", {}), line);
}

TEST(ToExploreLine, NeitherHasTheScheduleThatTheFileSays) {
  RunSpecification baseline{.program = "a.toml", .schedule = ScheduleChoice::random};
  EXPECT_EQ(to_explore_line(baseline, "gangsim", baseline), "gangsim explore a.toml --seed 1");
}

}  // namespace
}  // namespace gang::harness
