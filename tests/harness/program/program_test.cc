#include "harness/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

void do_nothing(Rank&) {}

TEST(FindProgram, FindsByName) {
  const std::vector<Program> programs = {{"train", "one step", do_nothing},
                                         {"evaluate", "no step", do_nothing}};
  EXPECT_EQ(find_program(programs, "evaluate").description, "no step");
}

TEST(FindProgram, SuggestsTheNearest) {
  const std::vector<Program> programs = {{"train", "one step", do_nothing}};
  EXPECT_THAT([&] { find_program(programs, "tarin"); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("'train'")));
}

TEST(Fingerprint, TellsVersionsApart) {
  const Program program{"train", "one step", do_nothing};
  Program renamed = program;
  renamed.name = "step";
  Program changed = program;
  changed.parameters = {integer_parameter("count", 1, {0, 9}, "elements")};
  Program edited = program;
  edited.source = "world = 4";
  EXPECT_EQ(fingerprint(program), fingerprint(Program{"train", "one step", do_nothing}));
  EXPECT_NE(fingerprint(program), fingerprint(renamed));
  EXPECT_NE(fingerprint(program), fingerprint(changed));
  EXPECT_NE(fingerprint(program), fingerprint(edited));
}

TEST(Fingerprint, DependsOnTheValuesOfParameters) {
  const auto with = [](std::int64_t default_value, std::int64_t maximum) {
    Program program{"train", "one step", do_nothing};
    program.parameters = {integer_parameter("count", default_value, {0, maximum}, "elements")};
    return fingerprint(program);
  };
  EXPECT_EQ(with(1, 9), with(1, 9));
  EXPECT_NE(with(1, 9), with(2, 9));
  EXPECT_NE(with(1, 9), with(1, 8));
}

TEST(FindProgram, ANameIsTheWholeName) {
  const std::vector<Program> programs = {{"trainer", "many steps", do_nothing},
                                         {"train", "one step", do_nothing}};
  EXPECT_EQ(find_program(programs, "train").description, "one step");
  EXPECT_THROW(find_program(programs, "tra"), InvalidArgument);
}

TEST(Fingerprint, DependsOnTheNamesOfParameters) {
  const auto with = [](const char* name) {
    Program program{"train", "one step", do_nothing};
    program.parameters = {integer_parameter(name, 1, {0, 9}, "elements")};
    return fingerprint(program);
  };
  EXPECT_NE(with("count"), with("size"));
}

}  // namespace
}  // namespace gang::harness
