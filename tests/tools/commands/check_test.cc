#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "properties/law.h"
#include "tests/temporary_directory.h"
#include "tools/commands/commands.h"

namespace gang::properties {

struct Number {
  int value = 0;
};
std::string to_text(const Number& number) { return "number " + std::to_string(number.value); }
std::vector<Number> shrinks(const Number& number) {
  return number.value > 0 ? std::vector<Number>{{number.value / 2}, {number.value - 1}}
                          : std::vector<Number>{};
}

}  // namespace gang::properties

namespace gang::tools {
namespace {

using properties::Number;
using properties::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

properties::Property numbers(std::string name, int limit) {
  properties::Law<Number> law;
  law.suite = "numbers";
  law.name = std::move(name);
  law.description = "Numbers are small.";
  law.generate = [](properties::Draw& draw) { return Number{draw.between(0, 1000)}; };
  law.verdict = [limit](const Number& number) {
    return number.value < limit ? Verdict::holds() : Verdict::violated("too large");
  };
  return to_property(law);
}

struct Ended {
  int status = 0;
  std::string out;
  std::string err;
};

// The command on a property that holds and one that does not, or on others.
Ended check(std::vector<std::string> arguments, std::vector<properties::Property> properties = {
                                                    numbers("hold", 5000), numbers("fail", 37)}) {
  harness::CommandLine command_line;
  command_line.commands.push_back(make_check_command(std::move(properties)));
  arguments.insert(arguments.begin(), "check");
  std::ostringstream out;
  std::ostringstream err;
  Ended ended;
  ended.status = harness::run_command_line(command_line, arguments, out, err);
  ended.out = out.str();
  ended.err = err.str();
  return ended;
}

std::string path_of(const std::string& name) { return test::temporary_directory() + name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CheckCommand, ChecksThePropertiesOfTheChosenBackend) {
  EXPECT_THAT(check({"--backend", "sim"}).out, HasSubstr("numbers.hold"));
  EXPECT_THAT(check({"--backend", "sim-gloo"}).out, Not(HasSubstr("numbers.hold")))
      << "neither property is about sim-gloo";
  EXPECT_THAT(check({"--backend", "mpi"}).err, HasSubstr("sim-gloo"));
  EXPECT_EQ(check({"--backend", "mpi"}).status, 2);
}

TEST(CheckCommand, SaysALineForEveryPropertyAndEndsWith0) {
  const Ended ended = check({"--filter", "*.hold", "--cases", "50"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("✓ numbers.hold"));
  EXPECT_THAT(ended.out, HasSubstr("50 cases"));
  EXPECT_THAT(ended.out, Not(HasSubstr("\r")));  // no progress unless it is a terminal
  EXPECT_EQ(ended.err, "");
}

TEST(CheckCommand, ShowsAFailureAndEndsWith1) {
  const Ended ended = check({});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("✗ numbers.fail"));
  EXPECT_THAT(ended.out, HasSubstr("  number 37\n\n  too large\n"));
  EXPECT_THAT(ended.out, HasSubstr("2 properties checked, 1 failed"));
}

TEST(CheckCommand, ItsReproduceCommandReproducesTheShrunkCase) {
  const Ended ended = check({});
  const std::string marker = "Reproduce  gangsim check ";
  const std::size_t at = ended.out.find(marker);
  ASSERT_NE(at, std::string::npos);
  std::istringstream words(
      ended.out.substr(at + marker.size(), ended.out.find('\n', at) - at - marker.size()));
  const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
  const Ended again = check(arguments);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, HasSubstr("  number 37\n\n  too large\n"));
}

TEST(CheckCommand, ReportsTheLargestWorldThatItWasGiven) {
  const std::string path = path_of("max_world.json");
  check({"--max-world", "17", "--json", path});
  EXPECT_EQ(nlohmann::json::parse(content_of(path)).at("max_world"), 17);
}

TEST(CheckCommand, QuietShowsFailuresOnly) {
  const Ended ended = check({"--quiet"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, Not(HasSubstr("✓")));
  EXPECT_THAT(ended.out, HasSubstr("✗ numbers.fail"));
  EXPECT_EQ(check({"--quiet", "--filter", "hold"}).out, "");
  EXPECT_EQ(check({"--quiet", "--filter", "hold", "--report", path_of("none.html")}).out, "");
}

TEST(CheckCommand, ListsThePropertiesItWouldCheck) {
  const Ended ended = check({"--list", "--filter", "numbers.f*"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("numbers.fail"));
  EXPECT_THAT(ended.out, HasSubstr("Numbers are small."));
  EXPECT_THAT(ended.out, Not(HasSubstr("numbers.hold")));
  EXPECT_EQ(check({"--list", "--quiet", "--filter", "numbers.f*"}).out, ended.out);
}

TEST(CheckCommand, WritesJsonAndJunit) {
  const std::string json = path_of("report.json");
  const std::string junit = path_of("report.xml");
  EXPECT_EQ(check({"--json", json, "--junit", junit, "--seed", "9"}).status, 1);
  EXPECT_EQ(nlohmann::json::parse(content_of(json)).at("seed"), 9);
  EXPECT_THAT(content_of(junit), HasSubstr("<failure message=\"too large\">"));
  std::filesystem::remove(json);
  std::filesystem::remove(junit);
}

TEST(CheckCommand, WritesTheFailuresAsSarif) {
  const std::string path = path_of("report.sarif");
  EXPECT_EQ(check({"--sarif", path}).status, 1);
  const auto results = nlohmann::json::parse(content_of(path)).at("runs").at(0).at("results");
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].at("ruleId"), "numbers.fail");
}

TEST(CheckCommand, ExplainsTheFirstFailureAsAPage) {
  const std::string path = test::temporary_directory() + "check.html";
  EXPECT_THAT(check({"--filter", "*hold", "--report", path}).out,
              HasSubstr("No failure to explain"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(check({"--report", path}).out, testing::EndsWith("\n  Report     " + path + "\n"));
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr("<title>numbers.fail: numbers.fail</title>"));
  EXPECT_THAT(page, HasSubstr("number 37"));
}

TEST(CheckCommand, APageOnStandardOutputIsNotAnnounced) {
  testing::internal::CaptureStdout();
  const Ended ended = check({"--report", "-"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("<title>numbers.fail: numbers.fail</title>"));
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("  Report     ")));
}

TEST(CheckCommand, AFileThatCannotBeWrittenIsOneLineAndNoCheck) {
  for (const char* option : {"--json", "--junit", "--sarif", "--report"}) {
    const Ended ended = check({option, "/nonexistent/report"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr(option));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
  }
}

// A property that does this for a verdict.
properties::Property that_does(
    const std::function<void(const properties::Settings& settings)>& something) {
  return {.suite = "numbers",
          .name = "are_looked_at_" + std::string(80, 'x'),
          .description = "",
          .check = [something](const properties::Settings& settings) {
            something(settings);
            return properties::CheckResult{.cases = 1, .planned_cases = 1};
          }};
}

TEST(CheckCommand, PropertiesGetTheSettingsThatItWasGiven) {
  properties::Settings seen;
  check({"--seed", "9", "--cases", "70", "--max-world", "5", "--time-budget", "20"},
        {that_does([&seen](const properties::Settings& settings) { seen = settings; })});
  EXPECT_EQ(seen.seed, 9U);
  EXPECT_EQ(seen.cases, 70U);
  EXPECT_EQ(seen.max_world, 5);
  ASSERT_TRUE(seen.time_budget);
  EXPECT_LE(*seen.time_budget, std::chrono::seconds(20));
  EXPECT_GT(*seen.time_budget, std::chrono::seconds(10));
}

TEST(CheckCommand, ChecksAsManyPropertiesAtATimeAsItIsTold) {
  for (const int jobs : {1, 3}) {
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    const auto meets = that_does([&](const properties::Settings&) {
      most = std::max(most.load(), ++running);
      for (int i = 0; i < 20 * jobs && most < jobs; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      --running;
    });
    check({"--jobs", std::to_string(jobs)}, {meets, meets, meets});
    EXPECT_EQ(most, jobs);
  }
}

TEST(CheckCommand, ReportsHowLongItTook) {
  const std::string path = path_of("time.json");
  check({"--json", path}, {that_does([](const properties::Settings&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        })});
  EXPECT_GE(nlohmann::json::parse(content_of(path)).at("wall_time_ns"), 20'000'000);
}

// What it writes to a terminal while it checks a property for a while.
std::string shown_on_a_terminal(const std::vector<std::string>& flags) {
  const auto command = make_check_command({that_does([](const properties::Settings&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(350));
  })});
  for (const harness::Option& option : command->options())
    if (std::ranges::count(flags, option.name) != 0) option.set("true");
  const std::vector<harness::Program> programs;
  const std::vector<harness::Listing> listings;
  std::ostringstream out;
  harness::CommandContext context{.programs = programs,
                                  .listings = listings,
                                  .binary = "gangsim",
                                  .out = out,
                                  .err = out,
                                  .out_is_terminal = true};
  EXPECT_EQ(command->run(context), 0);
  return out.str();
}

TEST(CheckCommand, ATerminalShowsHowFarItIsInOneLineThatIsErased) {
  const std::string shown = shown_on_a_terminal({});
  const std::string erase = "\r\033[K";
  EXPECT_THAT(shown, testing::StartsWith(erase + "0/1 properties, "));
  EXPECT_THAT(shown, HasSubstr(erase + "✓ numbers.are_looked_at_"));
  const std::size_t second = shown.find(erase, 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(second - erase.size(), 79U) << "does not wrap";
}

TEST(CheckCommand, AQuietOneShowsNothingOnATerminal) {
  EXPECT_THAT(shown_on_a_terminal({"--quiet"}), Not(HasSubstr("properties")));
}

struct BadInput {
  std::vector<std::string> arguments;
  const char* message;
};

// The names of tests do not contain addresses.
void PrintTo(const BadInput& input, std::ostream* out) {
  for (const std::string& argument : input.arguments) *out << argument << ' ';
}

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, AreOneLineAndEndWith2) {
  const Ended ended = check(GetParam().arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_EQ(ended.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, BadInputs,
    ::testing::Values(
        BadInput{{"--filter", "numbesr"}, "did you mean 'numbers'"},
        BadInput{{"--backend", "gloo"}, "must be one of: sim, sim-gloo, sim-nccl"},
        BadInput{{"--cases", "0"}, "--cases"}, BadInput{{"--max-world", "0"}, "--max-world"},
        BadInput{{"--max-world", "100000"}, "--max-world"}, BadInput{{"--jobs", "0"}, "--jobs"},
        BadInput{{"--time-budget", "-1"}, "--time-budget"}, BadInput{{"--seed", "many"}, "--seed"},
        BadInput{{"--reproduce", "1-1-1-1"}, "selects 2"},
        BadInput{{"--filter", "fail", "--reproduce", "nonsense"}, "reproduce token"},
        BadInput{{"--filtre", "x"}, "--filtre"}));

TEST(ListProperties, NamesAndDescribesThem) {
  const harness::Listing listing = list_properties({numbers("hold", 1)});
  EXPECT_EQ(listing.name, "properties");
  ASSERT_EQ(listing.entries().size(), 1U);
  EXPECT_EQ(listing.entries().front().name, "numbers.hold");
  EXPECT_EQ(listing.entries().front().description, "Numbers are small.");
}

}  // namespace
}  // namespace gang::tools
