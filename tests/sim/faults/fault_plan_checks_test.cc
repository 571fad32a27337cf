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
  expect_complaint({.ranks = {3, 9}}, "ranks",
                   "rank 9 is outside the world of 8 ranks; must be 0 to 7");
  expect_complaint({.ranks = {-1}}, "ranks",
                   "rank -1 is outside the world of 8 ranks; must be 0 to 7");
  expect_complaint({.nodes = {1}}, "nodes",
                   "node 1 is outside the world of 8 ranks, 8 per node; must be 0 to 0");
  expect_complaint({.trigger = {.while_rank = 8}}, "while_rank",
                   "rank 8 is outside the world of 8 ranks; must be 0 to 7");
  expect_complaint({.kind = FaultKind::partition, .to = {8}}, "to",
                   "rank 8 is outside the world of 8 ranks; must be 0 to 7");
}

TEST(FaultPlanChecks, WhoGetsTheErrorOfADeathInsideIsToldOfIt) {
  const FaultTrigger inside{.operation = 2, .moment = FaultMoment::inside};
  const Between<Duration> soon(1s);
  EXPECT_NO_THROW(
      validate({.faults = {{.trigger = inside, .notice = soon, .error_at = {{0, 7}}}}}, 8));
  expect_complaint({.trigger = inside, .notice = soon, .error_at = {{8}}}, "error_at",
                   "rank 8 is outside the world of 8 ranks; must be 0 to 7");
  expect_complaint({.trigger = {.operation = 2}, .notice = soon, .error_at = {{0}}}, "error_at",
                   "error_at needs moment = \"inside\"");
  expect_complaint({.trigger = inside, .error_at = {{0}}}, "error_at",
                   "error_at needs a notice: without one, nobody learns of the death");
  expect_complaint({.kind = FaultKind::exception, .trigger = inside, .error_at = {{0}}}, "error_at",
                   "error_at does not apply to exception");
}

TEST(FaultPlanChecks, NumbersAreInRange) {
  expect_complaint({.chance = 1.5}, "chance", "chance is 1.5; must be 0 to 1");
  expect_complaint({.trigger = {.probability = -0.1}}, "probability",
                   "probability is -0.1; must be 0 to 1");
  expect_complaint({.notice = Between<Duration>(-5ms)}, "notice",
                   "notice is -5 ms; must be 0 or more");
  expect_complaint({.trigger = {.operation = {{4, 2}}}}, "operation",
                   "operation ends before it begins; must be [least, most]");
  expect_complaint({.kind = FaultKind::slow, .factor = 0.5}, "factor",
                   "factor is 0.5; must be 1 or more");
  EXPECT_THROW(validate({.mean = -1}), FaultPlanError);
  EXPECT_THROW(validate({.ranks_per_node = 0}), FaultPlanError);
}

TEST(FaultPlanChecks, TriggersDoNotContradictEachOther) {
  expect_complaint({.trigger = {.operation = 3, .time = Between<Duration>(1s)}}, "time",
                   "operation and time exclude each other; a fault has one trigger");
  expect_complaint({.trigger = {.moment = FaultMoment::after, .time = Between<Duration>(1s)}},
                   "moment", "moment needs an operation or a probability");
}

TEST(FaultPlanChecks, AKindHasTheKeysThatMeanSomethingToIt) {
  expect_complaint({.kind = FaultKind::crash, .lasts = Between<Duration>(1s)}, "for",
                   "for does not apply to crash");
  expect_complaint({.kind = FaultKind::stall, .to = {1}}, "to", "to does not apply to stall");
  expect_complaint({.kind = FaultKind::partition, .trigger = {.operation = 1}}, "operation",
                   "operation does not apply to partition");
  expect_complaint({.kind = FaultKind::late_start}, "kind",
                   "late_start needs a delay, as in delay = \"10ms\"");
  expect_complaint({.kind = FaultKind::late_copy}, "kind",
                   "late_copy needs a delay, as in delay = \"10ms\"");
  expect_complaint({.kind = FaultKind::late_copy,
                    .trigger = {.operation = 1, .moment = FaultMoment::after},
                    .delay = Between<Duration>(1s)},
                   "moment", "moment does not apply to late_copy");
  expect_complaint({.kind = FaultKind::late_copy,
                    .trigger = {.time = Between<Duration>(1s)},
                    .delay = Between<Duration>(1s)},
                   "time", "time does not apply to late_copy");
  expect_complaint({.kind = FaultKind::lossy_store, .lasts = Between<Duration>(1s)}, "for",
                   "for does not apply to lossy_store");
  expect_complaint(
      {.kind = FaultKind::store_unavailable, .trigger = {.during = OperationKind::barrier}},
      "during", "during does not apply to store_unavailable");
  expect_complaint({.kind = FaultKind::slow}, "kind", "slow needs a delay, a factor, or both");
}

}  // namespace
}  // namespace gang::sim
