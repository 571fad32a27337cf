#include <cstring>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/root_gang.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

using Settings = std::map<std::string, std::string>;
using testing::HasSubstr;

RunSpecification hybrid(int world_size, Settings settings) {
  return {.program = "hybrid", .world_size = world_size, .parameters = std::move(settings)};
}

RunResult run_hybrid(int world_size, Settings settings) {
  return run(hybrid_program(), hybrid(world_size, std::move(settings)));
}

const Settings two_by_two{{"pp", "2"}, {"tp", "2"}, {"steps", "2"}, {"layers", "4"}};

Settings with(Settings settings, const Settings& more) {
  for (const auto& [name, value] : more) settings[name] = value;
  return settings;
}

TEST(Hybrid, EqualsOneProcessUnderEverySchedule) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1"}) {
    const RunResult result = run_hybrid(8, with(two_by_two, {{"schedule", schedule}}));
    EXPECT_TRUE(result.holds()) << schedule << '\n' << to_string(result);
  }
}

TEST(Hybrid, EqualsOneProcessInManyLayouts) {
  const std::vector<std::pair<int, Settings>> runs = {
      {1, {}},
      {2, {{"pp", "2"}}},
      {4, {{"intra_node", "2"}, {"steps", "3"}}},
      {8, {{"intra_node", "8"}, {"samples", "3"}}},
      {16, {{"pp", "2"}, {"tp", "2"}, {"intra_node", "2"}}},
      {8, {{"pp", "4"}, {"layers", "4"}, {"schedule", "zero_bubble_h1"}, {"microbatches", "7"}}},
      {8, {{"pp", "2"}, {"tp", "4"}, {"split", "linear1"}}},
      {4, {{"pp", "2"}, {"tp", "2"}, {"model", "transformer"}, {"steps", "2"}}},
      {4, {{"pp", "4"}, {"stages_per_rank", "2"}, {"schedule", "interleaved_1f1b"}}}};
  for (const auto& [world_size, settings] : runs) {
    const RunResult result = run_hybrid(world_size, settings);
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(Hybrid, ResultsDoNotDependOnScheduleOrContext) {
  const RunSpecification in_order = hybrid(8, two_by_two);
  const std::uint64_t digest = run(hybrid_program(), in_order).outputs.digest;
  RunSpecification at_random = in_order;
  at_random.schedule = ScheduleChoice::random;
  at_random.options.seed = 7;
  EXPECT_EQ(run(hybrid_program(), at_random).outputs.digest, digest);
  at_random.options.context = sim::ContextKind::thread;
  at_random.options.execution = sim::ExecutionModel::stream_ordered;
  EXPECT_EQ(run(hybrid_program(), at_random).outputs.digest, digest);
  RunSpecification in_parallel = in_order;
  in_parallel.options.context = sim::ContextKind::parallel;
  EXPECT_EQ(run(hybrid_program(), in_parallel).outputs.digest, digest);
}

TEST(Hybrid, GivesTheSameBitsOnGloo) {
  if (!gloo_availability().is_available) GTEST_SKIP() << gloo_availability().reason;
  for (const Settings& more : {Settings{}, Settings{{"schedule", "interleaved_1f1b"}}}) {
    RunSpecification specification = hybrid(4, with(two_by_two, more));
    const RunResult expected = run(hybrid_program(), specification);
    for (const BackendKind backend : {BackendKind::sim_gloo, BackendKind::gloo}) {
      specification.backend = backend;
      const RunResult result = run(hybrid_program(), specification);
      EXPECT_TRUE(result.holds()) << to_string(result);
      EXPECT_EQ(result.outputs.digest, expected.outputs.digest) << to_string(backend);
    }
  }
}

// With exact numbers, any order of the microbatches gives the same bits.
TEST(Hybrid, ResultsDoNotDependOnThePipelineSchedule) {
  const Settings settings{{"pp", "2"}, {"layers", "4"}, {"steps", "2"}};
  const auto digest_of = [&](const Settings& more) {
    return run_hybrid(4, with(settings, more)).outputs.digest;
  };
  EXPECT_EQ(digest_of({{"schedule", "gpipe"}}), digest_of({{"schedule", "1f1b"}}));
  EXPECT_EQ(digest_of({{"schedule", "gpipe"}}), digest_of({{"schedule", "zero_bubble_h1"}}));
}

TEST(Hybrid, MessagesOneByOneHangUnlessSendsAreBuffered) {
  RunSpecification specification =
      hybrid(4, {{"pp", "4"}, {"layers", "4"}, {"messages", "one_by_one"}});
  const RunResult result = run(hybrid_program(), specification);
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::buffering_hazard);
  specification.options.sends = sim::SendMode::buffered(1 << 20);
  EXPECT_TRUE(run(hybrid_program(), specification).holds());
}

TEST(Hybrid, CommunicatesWithoutArithmeticAtScale) {
  const RunResult result = run_hybrid(512, {{"pp", "8"}, {"tp", "8"}, {"mode", "communication"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_GT(result.report.counts.rank_operations, 512U * 32);
}

TEST(Hybrid, LogsTheLossOfEveryStep) {
  std::ostringstream lines;
  const RankLog log{RankSelection("3"), lines};
  run(hybrid_program(), hybrid(4, {{"pp", "2"}, {"steps", "2"}}), {.log = &log});
  EXPECT_THAT(lines.str(), testing::MatchesRegex(
                               "\\[3\\] step 0: loss [0-9.e+]+\n\\[3\\] step 1: loss [0-9.e+]+\n"));
}

TEST(Hybrid, ChecksThatReplicasAreEqual) {
  const Program program = hybrid_program();
  const auto output = [](const char* name, int value) {
    return Output{.name = name, .type = DataType::u8, .count = 1, .data = {std::byte(value)}};
  };
  EXPECT_EQ(program.check({.digest = 0, .by_rank = {{output("a", 1)}, {output("b", 2)}}}),
            std::nullopt);
  EXPECT_EQ(
      program.check(
          {.digest = 0,
           .by_rank = {{output("a", 1), output("a", 2)}, {}, {output("a", 1), output("a", 3)}}}),
      "a differs between ranks 0 and 2.");
}

TEST(Hybrid, RefusesSizesThatDoNotFit) {
  EXPECT_THAT([] { run_hybrid(8, {{"tp", "3"}}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("must be one of: 1, 2, 4, 8")));
  EXPECT_THAT([] { run_hybrid(8, {{"pp", "4"}, {"microbatches", "3"}}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("must be at least 4")));
  EXPECT_THAT([] { run_hybrid(1024, {{"microbatches", "64"}}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("or set mode=communication")));
  EXPECT_THAT([] { run_hybrid(8, {{"hidden", "4096"}, {"layers", "4"}}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("must be at most 8388608")));
}

TEST(Hybrid, OnlyArithmeticLimitsTheSizes) {
  const Settings large{{"hidden", "4096"}, {"layers", "4"}, {"mode", "communication"}};
  const RunResult result = run_hybrid(2, large);
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Hybrid, ShardsWithinANodeIfItIsToldTo) {
  const RunResult whole = run_hybrid(4, {});
  const RunResult sharded = run_hybrid(4, {{"intra_node", "2"}});
  EXPECT_NE(whole.report.trace.digest, sharded.report.trace.digest);
}

TEST(Hybrid, CommunicationIsTheSameCallsWithoutArithmetic) {
  const auto calls_in = [](const char* mode) {
    std::vector<HeardCall> calls;
    const Settings sharded{{"intra_node", "2"}, {"mode", mode}};
    EXPECT_TRUE(run(heard(hybrid_program(), calls), hybrid(8, with(two_by_two, sharded))).holds());
    std::map<std::string, int> counts;
    for (const HeardCall& call : calls)
      ++counts[fmt::format("{} of {} {}", to_string(call.kind), call.gang, call.label)];
    return counts;
  };
  EXPECT_EQ(calls_in("communication"), calls_in("numeric"));
}

TEST(Hybrid, TheLogHasTheMeanLoss) {
  std::ostringstream lines;
  const RankLog log{RankSelection("0"), lines};
  const RunResult result = run(hybrid_program(), hybrid(2, {{"samples", "8"}}),
                               {.outputs = KeepOutputs::data, .log = &log});
  const Output& output = result.outputs.by_rank.at(0).at(0);
  ASSERT_EQ(output.name, "loss");
  double sum = 0;
  std::memcpy(&sum, output.data.data(), sizeof sum);
  const std::string text = lines.str();
  const double logged = std::stod(text.substr(text.find("loss ") + 5));
  const int samples = 8 * 2 * 2;  // of each microbatch, microbatches, dp
  EXPECT_NEAR(logged, sum / samples, 1e-5 * logged);
}

TEST(Hybrid, TakesABatchOfItsLimit) {
  const Program program = hybrid_program();
  const auto validate = [&program](int world_size, const Settings& settings) {
    program.validate(world_size, ParameterValues{program.parameters, settings});
  };
  EXPECT_NO_THROW(validate(64, {{"samples", "256"}, {"microbatches", "1"}}));
  EXPECT_THAT([&] { validate(29, {{"samples", "113"}, {"microbatches", "5"}}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr(
                  "samples times microbatches times dp is 16385; must be at most 16384")));
}

TEST(Hybrid, ARefusedModelSaysItsSize) {
  const Program program = hybrid_program();
  const ParameterValues large{program.parameters, {{"hidden", "4096"}, {"layers", "4"}}};
  EXPECT_NO_THROW(program.validate(1, large));
  EXPECT_THAT([&] { program.validate(3, large); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("the model has 33615876 parameters; must be at most 22369621")));
}

TEST(Hybrid, AWrongValueAfterTheStepIsFound) {
  sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {1}};
  fault.trigger.operation = 0;
  fault.trigger.during = OperationKind::all_gather;
  RunSpecification specification = hybrid(2, {{"intra_node", "2"}});
  specification.faults = sim::FaultPlan{.faults = {fault}};
  const RunResult result = run(hybrid_program(), specification);
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_THAT(result.report.findings[0].message, testing::StartsWith("On rank 1, "));
}

}  // namespace
}  // namespace gang::harness
