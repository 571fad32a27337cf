#include <filesystem>
#include <fstream>
#include <sstream>

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

// The command on a property that holds and one that does not.
Ended check(std::vector<std::string> arguments) {
  harness::CommandLine command_line;
  command_line.commands.push_back(make_check_command({numbers("hold", 5000), numbers("fail", 37)}));
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
}

TEST(CheckCommand, ListsThePropertiesItWouldCheck) {
  const Ended ended = check({"--list", "--filter", "numbers.f*"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("numbers.fail"));
  EXPECT_THAT(ended.out, HasSubstr("Numbers are small."));
  EXPECT_THAT(ended.out, Not(HasSubstr("numbers.hold")));
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

TEST(CheckCommand, AFileThatCannotBeWrittenIsOneLineAndNoCheck) {
  const Ended ended = check({"--json", "/nonexistent/report.json"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("--json"));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
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
}

}  // namespace
}  // namespace gang::tools
