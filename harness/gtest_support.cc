#include "harness/gtest_support.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/explanation/html_page.h"
#include "harness/run/decisive_choice.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/run_file.h"
#include "harness/text/output_file.h"

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
      if (const auto text = option.text(specification))
        command += fmt::format("{}={} ", variable, *text);
    }
  }
  return fmt::format("{}{} --gtest_filter={}", command, shell_quoted(program_invocation_name),
                     shell_quoted(current_test()));
}

constexpr const char* report_variable = "GANGSIM_REPORT";

// Where failures are to be explained; empty: nowhere.
std::string report_place() {
  const char* value = std::getenv(report_variable);
  return value == nullptr ? "" : value;
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile{report_variable, path}.commit(text);
}

// Explains a failure in the file or folder that the environment names, and says where.
std::string write_report(const std::string& place, const RunResult& result,
                         const std::optional<DecisiveChoice>& decisive) {
  if (place.ends_with(".html")) {
    write_file(place, to_html(result, decisive));
    return place;
  }
  std::error_code error;
  std::filesystem::create_directories(place, error);
  std::string name = current_test();
  std::ranges::replace(name, '/', '_');
  const std::string path = place + "/" + name;
  write_file(path + ".json", to_file_text(result));
  write_file(path + ".html", to_html(result, decisive));
  return path + ".html";
}

// The line after a failure's report that names its page. Empty unless a page was asked for.
std::string page_line(const RunResult& result, const std::optional<DecisiveChoice>& decisive = {}) {
  const std::string place = report_place();
  if (place.empty()) return "";
  try {
    return fmt::format("  Report     {}\n", write_report(place, result, decisive));
  } catch (const Error& error) {
    return fmt::format("  Report     not written: {}\n", error.what());
  }
}

}  // namespace

RunSpecification test_specification(int world_size) {
  RunSpecification specification{.program = current_test(), .world_size = world_size};
  for (const auto& [variable, option_name] : settings)
    if (const char* text = std::getenv(variable)) set_option(specification, option_name, text);
  return specification;
}

RunResult expect_holds(const RunSpecification& specification,
                       const std::function<void(Rank&)>& body) {
  const Program program{.name = current_test(), .description = "a test", .run = body};
  const bool had_failed = testing::Test::HasFailure();
  const auto timeline = report_place().empty() ? sim::Recording::off : sim::Recording::on;
  RunResult result = run(program, specification, {.timeline = timeline});
  result.reproduce = reproduce_command(specification);
  const bool failed_in_body = !had_failed && testing::Test::HasFailure();
  if (!result.holds())
    ADD_FAILURE() << to_string(result) << page_line(result);
  else if (failed_in_body)
    ADD_FAILURE() << "on simulated ranks; Reproduce  " << result.reproduce << '\n'
                  << page_line(result);
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

RunResult expect_holds_in_every_schedule(const RunSpecification& specification,
                                         const std::function<void(Rank&)>& body,
                                         std::uint64_t most_runs) {
  const Program program{.name = current_test(), .description = "a test", .run = body};
  const bool had_failed = testing::Test::HasFailure();
  Exploration exploration;
  // An expectation that fails in the body ends the exploration, too.
  run_exhaustively(
      program, specification,
      [&] {
        return exploration.coverage.runs < most_runs &&
               (had_failed || !testing::Test::HasFailure());
      },
      exploration);
  const std::string runs =
      fmt::format("in schedule {} of {}", exploration.coverage.runs, shell_quoted(current_test()));
  const std::optional<DecisiveChoice> decisive = decisive_choice_of(*exploration.every);
  if (exploration.failure) {
    RunResult& failure = *exploration.failure;
    failure.reproduce = reproduce_command(specification);
    ADD_FAILURE() << runs << '\n'
                  << to_text(decisive) << to_string(failure) << page_line(failure, decisive);
    return failure;
  }
  if (!had_failed && testing::Test::HasFailure())
    ADD_FAILURE() << runs << '\n' << to_text(decisive);
  else if (exploration.claim != Claim::proved)
    ADD_FAILURE() << "not proved: " << why_not_proved(*exploration.every) << '\n';
  return {.specification = specification,
          .world_size = specification.world_size.value_or(1),
          .reproduce = reproduce_command(specification)};
}

RunResult expect_holds_in_every_schedule(int world_size, const std::function<void(Rank&)>& body) {
  try {
    return expect_holds_in_every_schedule(test_specification(world_size), body);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
}

}  // namespace gang::harness
