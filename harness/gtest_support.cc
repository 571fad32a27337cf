#include "harness/gtest_support.h"

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

struct FromEnvironment {
  const char* variable;
  const char* option;
};
constexpr FromEnvironment settings[] = {
    {"GANGSIM_SEED", "seed"}, {"GANGSIM_SCHEDULE", "schedule"}, {"GANGSIM_CONTEXT", "context"}};

std::string current_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return "test";
  return fmt::format("{}.{}", test->test_suite_name(), test->name());
}

// The variables and the filter that repeat this run of the current test.
std::string reproduce_command(const RunSpecification& specification) {
  std::string command;
  for (const auto& [variable, option_name] : settings) {
    for (const RunOption& option : run_options()) {
      if (option.name != option_name) continue;
      if (const auto text = option.text(specification)) {
        command += fmt::format("{}={} ", variable, *text);
      }
    }
  }
  return fmt::format("{}{} --gtest_filter={}", command, shell_quoted(program_invocation_name),
                     shell_quoted(current_test()));
}

}  // namespace

RunSpecification test_specification(int world_size) {
  RunSpecification specification{.program = current_test(), .world_size = world_size};
  for (const auto& [variable, option_name] : settings) {
    if (const char* text = std::getenv(variable)) set_option(specification, option_name, text);
  }
  return specification;
}

RunResult expect_holds(const RunSpecification& specification,
                       const std::function<void(Rank&)>& body) {
  const Program program{.name = current_test(), .description = "a test", .run = body};
  const bool had_failed = testing::Test::HasFailure();
  RunResult result = run(program, specification);
  result.reproduce = reproduce_command(specification);
  const bool failed_in_body = !had_failed && testing::Test::HasFailure();
  if (!result.holds()) {
    ADD_FAILURE() << to_string(result);
  } else if (failed_in_body) {
    ADD_FAILURE() << "on simulated ranks; Reproduce  " << result.reproduce;
  }
  return result;
}

RunResult expect_holds(int world_size, const std::function<void(Rank&)>& body) {
  try {
    return expect_holds(test_specification(world_size), body);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
}

}  // namespace gang::harness
