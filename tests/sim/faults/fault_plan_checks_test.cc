// What a plan must be like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct Complaint {
  std::string key;
  std::string text;
};

Complaint complaint_of(const Fault& fault) {
  try {
    validate({.faults = {{}, fault}}, 8);
  } catch (const FaultPlanError& error) {
    EXPECT_EQ(error.fault(), 1u);
    return {error.key(), error.what()};
  }
  ADD_FAILURE() << "accepted: " << to_string(fault);
  return {};
}

void expect_complaint(const Fault& fault, const std::string& key, const std::string& text) {
  const Complaint complaint = complaint_of(fault);
  EXPECT_EQ(complaint.key, key) << complaint.text;
  EXPECT_EQ(complaint.text, "fault 2: " + text);
}

TEST(FaultPlanChecks, RanksAndNodesAreThere) {
  expect_complaint({.ranks = {3, 9}}, "ranks", "rank 9 is absent: world is 8 (0 ... 7)");
  expect_complaint({.ranks = {-1}}, "ranks", "rank -1 is absent: world is 8 (0 ... 7)");
  expect_complaint({.nodes = {1}}, "nodes", "node 1 is absent: world is 8, 8 ranks each (0 ... 0)");
  expect_complaint({.trigger = {.while_rank = 8}}, "while_rank",
                   "rank 8 is absent: world is 8 (0 ... 7)");
  expect_complaint({.kind = FaultKind::partition, .to = {8}}, "to",
                   "rank 8 is absent: world is 8 (0 ... 7)");
}

TEST(FaultPlanChecks, NumbersAreInRange) {
  expect_complaint({.chance = 1.5}, "chance", "chance is 1.5; accepted: 0 to 1");
  expect_complaint({.trigger = {.probability = -0.1}}, "probability",
                   "probability is -0.1; accepted: 0 to 1");
  expect_complaint({.notice = Between<Duration>(-5ms)}, "notice",
                   "notice is -5 ms; accepted: 0 and more");
  expect_complaint({.trigger = {.operation = {{4, 2}}}}, "operation",
                   "operation ends before it begins; accepted: [least, most]");
  expect_complaint({.kind = FaultKind::slow, .factor = 0.5}, "factor",
                   "factor is 0.5; accepted: 1 and more");
  EXPECT_THROW(validate({.mean = -1}), FaultPlanError);
  EXPECT_THROW(validate({.ranks_per_node = 0}), FaultPlanError);
}

TEST(FaultPlanChecks, TriggersDoNotContradictEachOther) {
  expect_complaint({.trigger = {.operation = 3, .time = Between<Duration>(1s)}}, "time",
                   "operation and time contradict each other; accepted: one trigger");
  expect_complaint({.trigger = {.moment = FaultMoment::after, .time = Between<Duration>(1s)}},
                   "moment", "moment is of an operation; accepted: with operation or probability");
}

TEST(FaultPlanChecks, AKindHasTheKeysThatMeanSomethingToIt) {
  expect_complaint({.kind = FaultKind::crash, .lasts = Between<Duration>(1s)}, "for",
                   "for is no key of crash");
  expect_complaint({.kind = FaultKind::stall, .to = {1}}, "to", "to is no key of stall");
  expect_complaint({.kind = FaultKind::partition, .trigger = {.operation = 1}}, "operation",
                   "operation is no key of partition");
  expect_complaint({.kind = FaultKind::late_start}, "kind",
                   "late_start has no delay; accepted: delay = \"10ms\"");
  expect_complaint({.kind = FaultKind::late_copy}, "kind",
                   "late_copy has no delay; accepted: delay = \"10ms\"");
  expect_complaint({.kind = FaultKind::late_copy,
                    .trigger = {.operation = 1, .moment = FaultMoment::after},
                    .delay = Between<Duration>(1s)},
                   "moment", "moment is no key of late_copy");
  expect_complaint({.kind = FaultKind::late_copy,
                    .trigger = {.time = Between<Duration>(1s)},
                    .delay = Between<Duration>(1s)},
                   "time", "time is no key of late_copy");
  expect_complaint({.kind = FaultKind::lossy_store, .lasts = Between<Duration>(1s)}, "for",
                   "for is no key of lossy_store");
  expect_complaint(
      {.kind = FaultKind::store_unavailable, .trigger = {.during = OperationKind::barrier}},
      "during", "during is no key of store_unavailable");
  expect_complaint({.kind = FaultKind::slow}, "kind",
                   "slow has neither delay nor factor; accepted: one of them, or both");
}

}  // namespace
}  // namespace gang::sim
