#include "harness/backends/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
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

}  // namespace
}  // namespace gang::harness
