#include "harness/program_file/fault_file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
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
    EXPECT_EQ(parse_faults(to_toml(plan), ""), plan) << to_toml(plan);
    EXPECT_EQ(parse_faults(to_toml_line(plan), ""), plan) << to_toml_line(plan);
    EXPECT_EQ(parse_faults(to_scenario_toml(plan), ""), plan) << to_scenario_toml(plan);
  }
}

TEST(FaultFile, ErrorsNameTheLineTheFaultAndTheKey) {
  EXPECT_EQ(complaint_of("[[fault]]\nkind = \"crash\"\n\n[[fault]]\nkind = \"stall\"\nchance = 2"),
            "plan.toml:6: fault 2: chance is 2; accepted: 0 to 1");
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"crush\""),
              testing::StartsWith("plan.toml:2: fault 1: kind 'crush' is unknown; accepted: "));
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"stall\"\nfor = \"-1s\""),
              testing::StartsWith("plan.toml:3: for: duration '-1s' is not understood"));
  EXPECT_EQ(complaint_of("[[fault]]\nkind = \"stall\"\nfor = 5"),
            "plan.toml:3: for is 5; accepted: a text with a unit, \"5ms\"");
  EXPECT_THAT(complaint_of("[[fault]\n"), testing::StartsWith("plan.toml:1: "));
  EXPECT_THAT(complaint_of("[[fault]]\nkind = \"crash\"\noperation = 1\ntime = \"1s\""),
              testing::StartsWith("plan.toml:4: fault 1: operation and time contradict"));
}

TEST(FaultFile, APresetAFileOrTheTextItselfMayBeGiven) {
  EXPECT_EQ(load_faults("production"), sim::fault_preset("production"));
  EXPECT_EQ(load_faults("fault = [{kind = \"crash\"}]").faults.size(), 1u);
  EXPECT_THROW(load_faults("no such preset"), InvalidArgument);
  EXPECT_THROW(load_faults("no_such_file.toml"), InvalidArgument);
}

TEST(FaultFile, ARankThatIsAbsentIsFoundInTheFile) {
  const std::string path = test::temporary_directory() + "absent.toml";
  std::ofstream(path) << "[[fault]]\nkind = \"crash\"\n[[fault]]\nkind = \"stall\"\nranks = [9]\n";
  const sim::FaultPlan plan = load_faults(path);
  check_faults(plan, 10);
  try {
    check_faults(plan, 8);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.what(), path + ":5: fault 2: rank 9 is absent: world is 8 (0 ... 7)");
  }
}

}  // namespace
}  // namespace gang::harness
