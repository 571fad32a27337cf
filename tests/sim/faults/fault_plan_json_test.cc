// A plan as JSON, and back.
#include "sim/faults/fault_plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

using nlohmann::json;
using std::chrono_literals::operator""s;

TEST(FaultPlanJson, EveryFieldComesBack) {
  const FaultPlan plan{
      .name = "all",
      .faults = {{.kind = FaultKind::stall,
                  .ranks = {1, 2},
                  .nodes = {0},
                  .random_ranks = 1,
                  .random_nodes = 1,
                  .chance = 0.5,
                  .weight = 2,
                  .trigger = {.operation = {{1, 5}},
                              .moment = FaultMoment::any,
                              .during = OperationKind::barrier,
                              .gang = "dp",
                              .while_rank = 3},
                  .lasts = {{1s, 2s}}},
                 {.kind = FaultKind::restart,
                  .trigger = {.time = Between<Duration>(1s)},
                  .delay = Between<Duration>(2s),
                  .notice = {{1s, 2s}}},
                 {.kind = FaultKind::corrupt_message,
                  .to = {4},
                  .one_way = true,
                  .trigger = {.message = 3},
                  .corruption = Corruption::nan},
                 {.kind = FaultKind::crash,
                  .trigger = {.operation = 2, .moment = FaultMoment::inside},
                  .notice = Between<Duration>(1s),
                  .error_at = {{0, 3}}},
                 {.kind = FaultKind::stall,
                  .trigger = {.operation = 2, .moment = FaultMoment::inside},
                  .error_at = {std::vector<int>{}}},
                 {.kind = FaultKind::slow, .trigger = {.probability = 0.1}, .factor = 2}},
      .selection = FaultSelection::picked,
      .mean = 2.5,
      .ranks_per_node = 4};
  EXPECT_EQ(fault_plan_from_json(to_json(plan)), plan);
  EXPECT_EQ(fault_plan_from_json(json::parse(to_json(plan).dump())), plan);
}

TEST(FaultPlanJson, PresetsComeBack) {
  for (const std::string& name : fault_preset_names())
    EXPECT_EQ(fault_plan_from_json(to_json(fault_preset(name))), fault_preset(name));
}

TEST(FaultPlanJson, SaysWhatIsWrongAndWhere) {
  const auto complaint_of = [](const char* text) {
    try {
      fault_plan_from_json(json::parse(text));
    } catch (const FaultPlanError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(complaint_of(R"({"fault": [{"kind": "crush"}]})"),
              testing::StartsWith("fault 1: kind is \"crush\"; must be one of: crash, exception"));
  EXPECT_EQ(complaint_of(R"({"fault": [{}]})"), "fault 1: kind is missing");
  EXPECT_THAT(complaint_of(R"({"fault": [{"kind": "crash", "rank": 1}]})"),
              testing::StartsWith("fault 1: key 'rank' is unknown; must be one of: kind, ranks"));
  EXPECT_EQ(complaint_of(R"({"fault": [{"kind": "crash", "operation": -1}]})"),
            "fault 1: operation is -1; must be a whole number, 0 or more, or [least, most]");
  EXPECT_EQ(complaint_of(R"({"mean": "two"})"), "mean is \"two\"; must be a number");
  EXPECT_EQ(complaint_of(R"({"fault": {}})"), "fault: expected [[fault]] tables, found object");
}

}  // namespace
}  // namespace gang::sim
