#include "harness/commands/exploration_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(ExplorationFiles, WritesThoseThatWereGiven) {
  ExplorationFiles files;
  std::vector<Option> options;
  files.add_to(options);
  ASSERT_EQ(options.size(), 4U);
  for (const Option& option : options)
    if (option.name != "--sarif") option.set(temporary("exploration." + option.name.substr(2)));
  files.open();
  ExplorationRecord record{.schedules = 7};
  record.specification.program = "ring";
  files.write(record);
  EXPECT_THAT(read_file("file", temporary("exploration.json")), HasSubstr("\"schedules\": 7"));
  EXPECT_THAT(read_file("file", temporary("exploration.junit")),
              HasSubstr("<testcase classname=\"explore\" name=\"ring\""));
  EXPECT_THROW(read_file("file", temporary("exploration.sarif")), InvalidArgument);
  EXPECT_THROW(read_file("file", temporary("exploration.report")), InvalidArgument)
      << "nothing has failed";
}

TEST(ExplorationFiles, ChecksEachBeforeTheWork) {
  for (std::size_t which = 0; which < 4; ++which) {
    ExplorationFiles files;
    std::vector<Option> options;
    files.add_to(options);
    options[which].set("/absent/file");
    EXPECT_THROW(files.open(), InvalidArgument) << options[which].name;
  }
}

TEST(ExplorationFiles, TheFindingsForCodeReviewAreThoseOfTheFailure) {
  const auto results = [](const ExplorationRecord& record) {
    ExplorationFiles files;
    std::vector<Option> options;
    files.add_to(options);
    const std::string path = temporary("exploration.sarif");
    options.back().set(path);
    files.open();
    files.write(record);
    const auto log = nlohmann::json::parse(read_file("file", path));
    EXPECT_EQ(log["runs"][0]["tool"]["driver"]["fullName"], "gangsim explore");
    return log["runs"][0]["results"];
  };
  ExplorationRecord record{.schedules = 7};
  EXPECT_EQ(results(record).size(), 0U);
  record.failure.emplace();
  record.failure->report.outcome = sim::Outcome::deadlock;
  record.failure->report.findings.push_back({.id = "participant_missing", .ranks = {1}});
  EXPECT_EQ(results(record)[0]["ruleId"], "participant_missing");
}

}  // namespace
}  // namespace gang::harness
