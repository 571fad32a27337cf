// What the arguments of an operation become in the gang's call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conductor/started_operation.h"
#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

TEST(StartedOperationCalls, LabelsAreAPartOfTheMatch) {
  const RunResult result = conduct(2, [](Client& client) {
    client.call({.kind = OperationKind::barrier, .label = client.rank() == 0 ? "a" : "b"});
  });
  EXPECT_THAT(ids_of(result), ElementsAre("mismatch_label"));
}

TEST(StartedOperationCalls, AMonitoredBarrierMayHaveNoTimeout) {
  const RunResult result = conduct(2, [](Client& client) {
    EXPECT_EQ(client.call({.kind = OperationKind::monitored_barrier}).status, Status::done);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// Rank 1 comes after 5 s.
TEST(StartedOperationCalls, AShrinkWaitsForItsGrace) {
  for (const std::int64_t grace_s : {1, 10}) {
    OperationResult told;
    conduct(2, [&](Client& client) {
      if (client.rank() == 1)
        client.store({.function = StoreFunction::wait, .keys = {"never"}, .timeout = 5s});
      const OperationResult shrunk = client.call(
          {.kind = OperationKind::shrink, .result = 1, .first = {grace_s * 1'000'000'000}});
      if (client.rank() == 0) told = shrunk;
    });
    EXPECT_EQ(told.status, Status::done) << told.error;
    EXPECT_EQ(told.ranks.size(), grace_s == 1 ? 1U : 2U);
  }
}

}  // namespace
}  // namespace gang::harness
