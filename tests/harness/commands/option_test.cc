#include "harness/commands/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Option, SetsWhatItWasMadeFor) {
  bool flag = false;
  flag_option("--flag", "", flag).set("true");
  EXPECT_TRUE(flag);
  std::optional<std::string> text;
  text_option("--text", "T", "", text).set("a b");
  EXPECT_EQ(text, "a b");
  std::vector<std::string> list;
  const Option option = list_option("--list", "T", "", list);
  option.set("a");
  option.set("b");
  EXPECT_THAT(list, ElementsAre("a", "b"));
  std::vector<std::string> words;
  const Option rest = rest_option("PROGRAM", "", words);
  EXPECT_EQ(rest.form, Option::Form::rest);
  rest.set("train.py");
  rest.set("--epochs");
  EXPECT_THAT(words, ElementsAre("train.py", "--epochs"));
}

TEST(Option, ANumberHasLimits) {
  int number = 5;
  const Option option = number_option("--number", "", number, 1, 9);
  option.set("9");
  EXPECT_EQ(number, 9);
  for (const char* text : {"0", "10", "many", "", "1x", "99999999999999999999"})
    EXPECT_THAT(
        [&] { option.set(text); },
        ThrowsMessage<InvalidArgument>("--number is '" + std::string(text) + "'; must be 1 to 9"));
  EXPECT_EQ(number, 9);
}

TEST(FileOption, WritesOnlyAFileThatWasGiven) {
  FileOption file{"--json"};
  const Option option = file.option("");
  int made = 0;
  const auto make = [&made] { return std::to_string(++made); };
  file.write(make);
  EXPECT_FALSE(file.is_given());
  EXPECT_EQ(made, 0);
  const std::string path = test::temporary_directory() + "file_option.json";
  option.set(path);
  file.open();
  file.write(make);
  EXPECT_EQ(read_file("file", path), "1");
}

TEST(FileOption, SaysWhereItCannotWrite) {
  FileOption file{"--json"};
  file.option("").set("/absent/file.json");
  EXPECT_THAT([&] { file.open(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("--json /absent/file.json: ")));
}

TEST(RunOptions, ChangeWhatWasGiven) {
  RunOptions run_options;
  std::vector<Option> options;
  run_options.add_parameters_to(options);
  run_options.add_to(options, {"seed", "timeout"});
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options.front().name, "--set");
  for (const Option& option : options)
    option.set(option.name == "--set" ? "count=8" : option.name == "--seed" ? "7" : "5ms");
  const RunSpecification specification =
      run_options.applied_to({.program = "ring", .world_size = 3});
  EXPECT_EQ(specification.options.seed, 7U);
  EXPECT_EQ(specification.options.timeout, std::chrono::milliseconds(5));
  EXPECT_EQ(specification.parameters.at("count"), "8");
  EXPECT_EQ(specification.world_size, 3);
  EXPECT_TRUE(run_options.is_given("seed"));
  EXPECT_FALSE(run_options.is_given("world"));
}

TEST(Option, AProgramIsOneNameOrSeveralDumps) {
  std::string program;
  const Option option = program_argument(program);
  option.set("ring");
  EXPECT_EQ(program, "ring");
  EXPECT_THAT([&] { option.set("mesh"); },
              ThrowsMessage<InvalidArgument>("unexpected argument 'mesh'"));
  EXPECT_EQ(program, "ring");
}

TEST(FileOption, IsOpenedOnce) {
  FileOption file{"--json"};
  const std::string path = test::temporary_directory() + "opened_once.json";
  file.option("").set(path);
  file.open();
  file.open();
  file.write([] { return std::string("whole"); });
  EXPECT_EQ(read_file("file", path), "whole");
}

TEST(RunOptions, AreThoseOfARunUnlessOnlySomeAreWanted) {
  RunOptions run_options;
  std::vector<Option> all;
  run_options.add_to(all);
  ASSERT_EQ(all.size(), harness::run_options().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const RunOption& option = harness::run_options()[i];
    EXPECT_EQ(all[i].name, "--" + option.name);
    EXPECT_EQ(all[i].value_name, option.value_name);
    EXPECT_EQ(all[i].form == Option::Form::flag, option.form == RunOption::Form::flag)
        << option.name;
  }
  std::vector<Option> some;
  run_options.add_to(some, {"seed"});
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some.front().name, "--seed");
}

TEST(RunOptions, EveryParameterIsSet) {
  RunOptions run_options;
  std::vector<Option> options;
  run_options.add_parameters_to(options);
  options.front().set("count=8");
  options.front().set("iterations=20");
  const RunSpecification specification = run_options.applied_to({.program = "ring"});
  EXPECT_EQ(specification.parameters.at("count"), "8");
  EXPECT_EQ(specification.parameters.at("iterations"), "20");
}

}  // namespace
}  // namespace gang::harness
