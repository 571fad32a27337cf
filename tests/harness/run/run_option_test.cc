#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/run_specification.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Setting {
  const char* name;
  const char* text;
};

class EveryOption : public testing::TestWithParam<Setting> {};

TEST_P(EveryOption, IsSaidAsItWasSet) {
  RunSpecification specification;
  set_option(specification, GetParam().name, GetParam().text);
  for (const RunOption& option : run_options()) {
    if (option.name != GetParam().name) continue;
    EXPECT_EQ(option.text(specification), GetParam().text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RunOptions, EveryOption,
    testing::Values(Setting{"world", "12"}, Setting{"seed", "18446744073709551615"},
                    Setting{"schedule", "random"}, Setting{"schedule", "recheck"},
                    Setting{"context", "parallel"}, Setting{"execution", "stream_ordered"},
                    Setting{"sends", "buffered:4096"}, Setting{"backend", "fake"},
                    Setting{"nccl", "resident=2,order=any,links=sockets,launch=async"},
                    Setting{"timeout", "20ms"}, Setting{"timeout", "none"},
                    Setting{"watchdog", "10min"}, Setting{"let-timeouts-fire", "true"},
                    Setting{"strict-blocking", "true"}, Setting{"find-partial", "true"},
                    Setting{"step-limit", "1000"}));

class BadOption : public testing::TestWithParam<Setting> {};

TEST_P(BadOption, IsRejectedWithItsNameAndText) {
  RunSpecification specification;
  const auto set = [&] { set_option(specification, GetParam().name, GetParam().text); };
  EXPECT_THAT(set, ThrowsMessage<InvalidArgument>(HasSubstr(GetParam().text)));
  EXPECT_THAT(set, ThrowsMessage<InvalidArgument>(HasSubstr("must be ")));
}

INSTANTIATE_TEST_SUITE_P(
    RunOptions, BadOption,
    testing::Values(Setting{"world", "0"}, Setting{"world", "4194305"}, Setting{"world", "-3"},
                    Setting{"world", "3x"}, Setting{"seed", "one"}, Setting{"schedule", "fair"},
                    Setting{"context", "coroutine"}, Setting{"sends", "buffered:lots"},
                    Setting{"backend", "mpi"}, Setting{"nccl", "resident=0"},
                    Setting{"timeout", "0s"}, Setting{"watchdog", "0s"},
                    Setting{"watchdog", "soon"}, Setting{"strict-blocking", "yes"},
                    Setting{"step-limit", "0"}));

TEST(SetOption, AcceptsUnderscores) {
  RunSpecification specification;
  set_option(specification, "step_limit", "5");
  EXPECT_EQ(specification.options.step_limit, 5U);
}

TEST(SetOption, SuggestsTheNearestName) {
  RunSpecification specification;
  EXPECT_THAT([&] { set_option(specification, "sede", "1"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("did you mean 'seed'?")));
}

TEST(RunOptions, WhatIsByDefaultIsNotSaidExceptTheSeed) {
  for (const RunOption& option : run_options()) {
    if (option.name == "seed")
      EXPECT_EQ(option.text({}), "1");
    else
      EXPECT_EQ(option.text({}), std::nullopt) << option.name;
  }
}

TEST(SetOption, NoneAndFalseAreTheDefaults) {
  for (const Setting& off :
       {Setting{"watchdog", "none"}, Setting{"faults", "none"},
        Setting{"let-timeouts-fire", "false"}, Setting{"strict-blocking", "false"}}) {
    RunSpecification specification;
    set_option(specification, off.name, off.text);
    EXPECT_EQ(specification, RunSpecification()) << off.name;
  }
}

TEST(SetOption, APlanWithoutANameIsSaidInFull) {
  RunSpecification specification;
  set_option(specification, "faults", "fault = [{kind = \"stall\", ranks = [1]}]");
  RunSpecification again;
  for (const RunOption& option : run_options())
    if (option.name == "faults") option.set(again, option.text(specification).value());
  EXPECT_EQ(again, specification);
}

}  // namespace
}  // namespace gang::harness
