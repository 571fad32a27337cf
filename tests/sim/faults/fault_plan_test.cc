#include "sim/faults/fault_plan.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using std::chrono_literals::operator""ms;

TEST(FaultPlan, KindsHaveNamesThatParseBack) {
  std::set<std::string_view> names;
  for (const auto& [kind, name] : fault_kind_names) {
    EXPECT_EQ(to_string(kind), name);
    EXPECT_EQ(parse_name(fault_kind_names, name), kind);
    names.insert(to_string(kind));
  }
  EXPECT_EQ(names.size(), 21u);
  EXPECT_EQ(to_string(FaultKind::corrupt_message), "corrupt_message") << "the last one";
  EXPECT_EQ(parse_name(fault_kind_names, "earthquake"), std::nullopt);
}

TEST(FaultPlan, KindsAreOfRanksOrOfLinks) {
  EXPECT_FALSE(is_of_link(FaultKind::lossy_store));
  EXPECT_TRUE(is_of_store(FaultKind::store_unavailable) && is_of_store(FaultKind::lossy_store));
  EXPECT_FALSE(is_of_store(FaultKind::late_copy) || is_of_store(FaultKind::slow_link));
  EXPECT_TRUE(is_of_link(FaultKind::slow_link));
  EXPECT_TRUE(ends_rank(FaultKind::crash) && ends_rank(FaultKind::restart));
  EXPECT_FALSE(ends_rank(FaultKind::stall));
}

TEST(FaultPlan, AFaultIsALineForPeople) {
  EXPECT_EQ(to_string(Fault{.kind = FaultKind::crash,
                            .ranks = {3},
                            .trigger = {.operation = 4, .moment = FaultMoment::inside}}),
            "crash of rank 3 inside operation 4");
  EXPECT_EQ(to_string(Fault{.kind = FaultKind::slow_link,
                            .ranks = {0, 1},
                            .to = {4},
                            .one_way = true,
                            .delay = {{10ms, 20ms}}}),
            "slow_link of ranks 0-1 -> rank 4, delay 10 ms to 20 ms");
  EXPECT_EQ(to_string(Fault{.kind = FaultKind::stall,
                            .trigger = {.probability = 0.5, .during = OperationKind::barrier}}),
            "stall of 1 drawn ranks with probability 0.5 of barrier");
}

}  // namespace
}  // namespace gang::sim
