// What the arguments of an operation become in the gang's call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/fake_gang.h"
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

TEST(StartedOperationCalls, AReceiveFromAnySourceKeepsToItsTag) {
  std::vector<int> tags;
  const RunResult result = conduct(2, [&tags](Client& client) {
    if (client.rank() == 1) {
      std::vector<std::uint64_t> sends;
      for (const int tag : {7, 5})
        sends.push_back(
            client.start({.kind = OperationKind::send, .peer = 0, .tag = tag, .count = 0}));
      client.call({.kind = OperationKind::barrier});
      client.wait(sends);
      return;
    }
    client.call({.kind = OperationKind::barrier});
    for (const int tag : {5, 7})
      tags.push_back(client.call({.kind = OperationKind::recv, .from_any = true, .tag = tag}).tag);
  });
  EXPECT_THAT(tags, ElementsAre(5, 7));
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(StartedOperationCalls, WhatItsMemoryCannotHoldIsSaid) {
  const auto making = [](OperationMessage message) {
    return
        [message] { StartedOperation(message, {make_fake_gang({.rank = 1, .size = 4})}, nullptr); };
  };
  using enum OperationKind;
  constexpr std::int64_t huge = std::int64_t{1} << 40U;
  EXPECT_THAT(making({.kind = reduce_scatter, .count = huge}),
              testing::ThrowsMessage<ProtocolError>(
                  "reduce_scatter of 1099511627776 elements on 4 ranks exceeds its memory"));
  EXPECT_THAT(making({.kind = all_reduce, .count = huge}),
              testing::ThrowsMessage<ProtocolError>(
                  "all_reduce of 1099511627776 elements on 4 ranks exceeds its memory"));
  EXPECT_THAT(making({.kind = all_to_all, .second = {-1, 1, 0, 0}}),
              testing::ThrowsMessage<ProtocolError>("a split is -1; must be 0 or more"));
}

}  // namespace
}  // namespace gang::harness
