#include "harness/commands/exploration_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  ASSERT_EQ(options.size(), 3U);
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
}

}  // namespace
}  // namespace gang::harness
