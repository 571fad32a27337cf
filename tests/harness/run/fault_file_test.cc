#include "harness/run/fault_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "sim/options/simulation_options.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr const char* text = R"(
ranks_per_node = 4
[[fault]]
kind = "crash"
ranks = [3]
operation = 4
moment = "inside"
notice = ["0s", "5s"]
[[fault]]
kind = "slow_link"
ranks = [0, 1]
to = [2]
delay = "10ms"
)";

std::string complaint_of(std::string_view toml) {
  try {
    parse_faults(toml, "plan.toml");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FaultFile, IsReadAsPeopleWriteIt) {
  const sim::FaultPlan plan = parse_faults(text, "plan.toml");
  EXPECT_EQ(plan.name, "plan.toml");
  EXPECT_EQ(plan.ranks_per_node, 4);
  ASSERT_EQ(plan.faults.size(), 2u);
  EXPECT_EQ(plan.faults[0].kind, sim::FaultKind::crash);
  EXPECT_EQ(plan.faults[0].trigger.operation, sim::Between<std::uint64_t>(4));
  EXPECT_EQ(plan.faults[0].notice, (sim::Between<Duration>(0s, 5s)));
  EXPECT_EQ(plan.faults[1].delay, sim::Between<Duration>(10ms));
}

TEST(FaultFile, RoundTripsInAllItsForms) {
  for (const std::string& name : sim::fault_preset_names()) {
    sim::FaultPlan plan = sim::fault_preset(name);
    plan.name.clear();
    EXPECT_EQ(parse_faults(to_toml_line(plan), ""), plan) << to_toml_line(plan);
    EXPECT_EQ(parse_faults(to_scenario_toml(plan), ""), plan) << to_scenario_toml(plan);
  }
}

TEST(FaultFile, ErrorsNameTheLineTheFaultAndTheKey) {
  EXPECT_EQ(complaint_of("[[fault]]\nkind = \"crash\"\n\n[[fault]]\nkind = \"stall\"\nchance = 2"),
            "plan.toml:6: fault 2: chance is 2; must be 0 to 1");
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"crush\""),
              testing::StartsWith("plan.toml:2: fault 1: kind is \"crush\"; must be one of: "));
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"stall\"\nfor = \"-1s\""),
              testing::StartsWith("plan.toml:3: for: duration is '-1s'; must be a number"));
  EXPECT_EQ(complaint_of("[[fault]]\nkind = \"stall\"\nfor = 5"),
            "plan.toml:3: for is 5; must be a string with a unit, as \"5ms\"");
  EXPECT_THAT(complaint_of("[[fault]\n"), testing::StartsWith("plan.toml:1: "));
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"crash\"\noperation = 1\ntime = \"1s\""),
              testing::StartsWith("plan.toml:4: fault 1: operation and time exclude each other"));
}

TEST(FaultFile, APresetAFileOrTheTextItselfMayBeGiven) {
  EXPECT_EQ(load_faults("production"), sim::fault_preset("production"));
  EXPECT_EQ(load_faults("fault = [{kind = \"crash\"}]").faults.size(), 1u);
  EXPECT_THROW(load_faults("no such preset"), InvalidArgument);
  EXPECT_THROW(load_faults("no_such_file.toml"), InvalidArgument);
}

TEST(FaultFile, TheTextItselfIsAPlanWithoutAName) {
  EXPECT_EQ(load_faults(R"(fault = [{kind = "crash"}])").name, "");
}

TEST(FaultFile, APlanKnowsItsLinesWithoutItsFile) {
  const std::string path = test::temporary_directory() + "absent.toml";
  std::ofstream(path) << "[[fault]]\nkind = \"crash\"\n[[fault]]\nkind = \"stall\"\nranks = [9]\n";
  const sim::FaultPlan plan = load_faults(path);
  std::filesystem::remove(path);
  sim::draw(plan, 1, 10);
  try {
    sim::draw(plan, 1, 8);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.what(),
              path + ":5: fault 2: rank 9 is outside the world of 8 ranks; must be 0 to 7");
  }
  const sim::FaultPlan of_store =
      parse_faults("[[fault]]\nkind = \"slow_store\"\ndelay = \"1s\"", "store.toml");
  EXPECT_THAT(
      [&of_store] { sim::check_injectable(sim::draw(of_store, 1, 4), sim::SimulatedBackend::sim); },
      testing::ThrowsMessage<InvalidArgument>(
          testing::StartsWith("store.toml:2: fault 1: slow_store needs a store")));
}

TEST(FaultFile, ANegativeNumberIsSaidAsItWasWritten) {
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"crash\"\noperation = -4"),
              testing::HasSubstr("-4"));
}

TEST(FaultFile, ATableOfFaultsMayStandForTheFile) {
  const sim::FaultPlan plan =
      parse_faults("[faults]\nranks_per_node = 4\n[[faults.fault]]\nkind = \"stall\"", "");
  EXPECT_EQ(plan.ranks_per_node, 4);
  ASSERT_EQ(plan.faults.size(), 1u);
  EXPECT_EQ(plan.faults[0].kind, sim::FaultKind::stall);
}

TEST(FaultFile, ARangeOfDurationsIsWrittenWithUnits) {
  const sim::FaultPlan plan = parse_faults(text, "");
  EXPECT_EQ(parse_faults(to_toml_line(plan), ""), plan) << to_toml_line(plan);
  EXPECT_EQ(parse_faults(to_scenario_toml(plan), ""), plan) << to_scenario_toml(plan);
}

// Where it was read from says nothing of what it is.
TEST(FaultFile, ThePathOfAPlanIsNotWritten) {
  sim::FaultPlan plan = parse_faults(text, "plan.toml");
  const sim::FaultPlan again = parse_faults(to_scenario_toml(plan), "");
  EXPECT_EQ(again.name, "");
  plan.name.clear();
  EXPECT_EQ(again, plan);
}

TEST(FaultFile, ADateIsNoValue) {
  EXPECT_EQ(complaint_of("[[fault]]\nkind = \"stall\"\nfor = 2026-01-02"),
            "plan.toml:3: for is a date or time, which no key takes");
}

}  // namespace
}  // namespace gang::harness
