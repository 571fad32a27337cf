#include "harness/backends/backend.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/root_gang.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Backends, AreNamedWhetherOrNotTheyAreBuilt) {
  std::vector<std::string> names;
  for (const Backend& backend : all_backends()) names.emplace_back(to_string(backend.kind));
  EXPECT_THAT(names, testing::ElementsAre("fake", "sim", "sim-gloo", "sim-nccl", "gloo", "nccl"));
}

TEST(RequireBackend, SaysWhyOneIsUnavailable) {
  for (const Backend& backend : all_backends()) {
    if (backend.is_available()) {
      EXPECT_TRUE(backend.run);
    } else {
      EXPECT_THAT([&] { require_backend(backend.kind); },
                  ThrowsMessage<NotSupported>(HasSubstr(backend.unavailable)));
    }
  }
}

TEST(ParseBackend, ListsTheNames) {
  EXPECT_EQ(parse_backend("sim-nccl"), BackendKind::sim_nccl);
  EXPECT_THAT([] { parse_backend("mpi"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be one of: fake, sim,")));
}

RunResult run_on_fake(int world_size, Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = world_size, .backend = BackendKind::fake});
}

TEST(FakeBackend, RunsRankZeroForAll) {
  int runs = 0;
  const RunResult result = run_on_fake(8, [&runs](Rank& rank) {
    ++runs;
    std::int32_t value = 3;
    rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
    EXPECT_EQ(value, 24);
  });
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(result.holds());
}

TEST(FakeBackend, ReportsAnExceptionAsFinding) {
  const RunResult result = run_on_fake(2, [](Rank&) { throw std::runtime_error("out of paper"); });
  EXPECT_EQ(result.report.outcome, sim::Outcome::failed);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::rank_failed);
  EXPECT_THAT(result.report.findings[0].message, HasSubstr("out of paper"));
}

TEST(FakeBackend, SeesTheWholeWorldAndItsTimeout) {
  const Program program{.name = "test", .description = "", .run = [](Rank& rank) {
                          EXPECT_EQ(rank.rank(), 0);
                          EXPECT_EQ(rank.world_size(), 8);
                          EXPECT_EQ(rank.root()->size(), 8);
                          EXPECT_EQ(rank.root()->timeout(), std::chrono::seconds(7));
                          std::this_thread::sleep_for(std::chrono::milliseconds(2));
                        }};
  const RunResult result = run(program, {.program = "test",
                                         .world_size = 8,
                                         .backend = BackendKind::fake,
                                         .options = {.timeout = std::chrono::seconds(7)}});
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_GE(result.report.wall_time, std::chrono::milliseconds(2));
}

TEST(Backends, AreWhatSimulatesTheirGangs) {
  EXPECT_EQ(simulated_backend(BackendKind::sim), sim::SimulatedBackend::sim);
  EXPECT_EQ(simulated_backend(BackendKind::sim_gloo), sim::SimulatedBackend::gloo);
  EXPECT_EQ(simulated_backend(BackendKind::sim_nccl), sim::SimulatedBackend::nccl);
  EXPECT_EQ(simulated_backend(BackendKind::gloo), sim::SimulatedBackend::sim);
}

TEST(Backends, ARankThatBeginsAgainHasPutOutNothing) {
  const Program program{
      .name = "test", .description = "", .run = [](Rank& rank) { rank.output("rank", 1); }};
  const ParameterValues parameters{{}, {}};
  OutputRecorder recorder(1, KeepOutputs::data);
  const RunContext context{.parameters = parameters, .recorder = recorder};
  sim::SimulationOptions options;
  options.world_size = 1;
  const Backend& backend = require_backend(BackendKind::sim);
  backend.run({program, context, options});
  backend.run({program, context, options});
  EXPECT_EQ(recorder.take_outputs().by_rank[0].size(), 1U);
}

TEST(RequireBackend, IsAvailableAsItsLibraryIs) {
  EXPECT_EQ(all_backends()[4].is_available(), gloo_availability().is_available);
  EXPECT_EQ(all_backends()[5].unavailable, nccl_availability().reason);
}

}  // namespace
}  // namespace gang::harness
