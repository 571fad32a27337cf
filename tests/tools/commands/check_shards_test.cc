#include <algorithm>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "properties/law.h"
#include "tests/temporary_directory.h"
#include "tools/commands/check_report.h"
#include "tools/commands/commands.h"

namespace gang::properties {

struct Size {
  int value = 0;
};
std::string to_text(const Size& size) { return "size " + std::to_string(size.value); }
std::vector<Size> shrinks(const Size& size) {
  return size.value > 0 ? std::vector<Size>{{size.value / 2}, {size.value - 1}}
                        : std::vector<Size>{};
}

}  // namespace gang::properties

namespace gang::tools {
namespace {

using nlohmann::json;
using properties::Size;
using properties::Verdict;
using testing::HasSubstr;

properties::Property sizes(std::string name, int limit,
                           harness::BackendKind backend = harness::BackendKind::sim) {
  properties::Law<Size> law;
  law.suite = "sizes";
  law.name = std::move(name);
  law.description = "Sizes are small.";
  law.generate = [](properties::Draw& draw) { return Size{draw.between(0, 1000)}; };
  law.verdict = [limit](const Size& size) {
    if (size.value == 500) return Verdict::not_applicable();
    if (size.value < limit) return Verdict::holds();
    sim::Report run{.outcome = sim::Outcome::deadlock};
    run.findings.push_back({.id = "deadlock", .message = "It hangs."});
    return Verdict::violated("too large").shown_by(run);
  };
  properties::Property property = to_property(law);
  property.backend = backend;
  return property;
}

struct Said {
  int status = 0;
  std::string out;
  std::string err;
};

Said answer_of(std::vector<std::string> arguments, const EnvironmentVariables& variables = {}) {
  harness::CommandLine command_line;
  command_line.commands.push_back(make_check_command(
      {sizes("one", 5000), sizes("two", 37), sizes("three", 5000), sizes("four", 900),
       sizes("five", 5000), sizes("one", 5000, harness::BackendKind::sim_gloo),
       sizes("two", 37, harness::BackendKind::sim_gloo)},
      [&variables] { return variables; }));
  command_line.commands.push_back(harness::make_merge_command({check_shard_format()}));
  std::ostringstream out;
  std::ostringstream err;
  const int status = harness::run_command_line(command_line, arguments, out, err);
  return {status, out.str(), err.str()};
}

std::string shard_file(std::uint64_t index) {
  return test::temporary_directory() + "check_shard_" + std::to_string(index) + ".json";
}

json content_of_json(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

json without_times(json report) {
  report.erase("wall_time_ns");
  for (json& one : report["properties"]) one.erase("time_ns");
  return report;
}

std::vector<std::string> check_command(std::uint64_t index, std::uint64_t count) {
  return {"check",           "--cases", "200",
          "--seed",          "3",       "--json",
          shard_file(index), "--shard", std::to_string(index) + "/" + std::to_string(count)};
}

TEST(CheckShards, MergedAreTheWhole) {
  answer_of(check_command(0, 1));
  const json one = without_times(content_of_json(shard_file(0)));
  ASSERT_EQ(one["properties"].size(), 5U);
  ASSERT_EQ(one["properties"][1]["outcome"], "falsified");
  const std::string merged_file = test::temporary_directory() + "check_merged.json";
  for (std::uint64_t count = 1; count <= 16; ++count) {
    std::vector<std::string> merge = {"merge", "--json", merged_file};
    for (std::uint64_t index = 0; index < count; ++index) {
      const Said shard = answer_of(check_command(index, count));
      EXPECT_EQ(shard.err, "");
      merge.push_back(shard_file(index));
    }
    const Said whole = answer_of(merge);
    EXPECT_EQ(whole.status, 1);
    EXPECT_EQ(without_times(content_of_json(merged_file)), one) << count << " shards";
    EXPECT_THAT(whole.out, HasSubstr("5 properties checked, 2 failed: "));
    EXPECT_THAT(whole.out, HasSubstr("Reproduce  gangsim check --filter sizes.two --reproduce 3-"));
    EXPECT_THAT(whole.out, HasSubstr("DEADLOCK  deadlock")) << "the run that shows it";
  }
}

TEST(CheckShards, TheFirstLineSaysTheShard) {
  const Said said =
      answer_of({"check", "--cases", "20"}, {{"CI_NODE_INDEX", "3"}, {"CI_NODE_TOTAL", "3"}});
  EXPECT_THAT(said.out, testing::StartsWith("Shard 2/3, as CI_NODE_INDEX says\n✓ sizes.three"));
  EXPECT_EQ(said.status, 0) << "the properties that fail are in another shard";
}

TEST(CheckShards, OtherSelectionsAndSeedsAreNotMerged) {
  answer_of(check_command(0, 2));
  std::vector<std::string> other = check_command(1, 2);
  other.insert(other.end(), {"--filter", "sizes.t*,sizes.f*"});
  answer_of(other);
  const auto merge = [] { return answer_of({"merge", shard_file(0), shard_file(1)}); };
  EXPECT_EQ(merge().status, 2);
  EXPECT_THAT(merge().err, HasSubstr("are not shards of one run: selected is 5 and 4"));
  other = check_command(1, 2);
  other[4] = "8";
  answer_of(other);
  EXPECT_THAT(merge().err, HasSubstr("are not shards of one run: seed is 3 and 8"));
  other = check_command(1, 2);
  other[2] = "300";
  answer_of(other);
  EXPECT_THAT(merge().err, HasSubstr("are not shards of one run: cases is 200 and 300"));
  other = check_command(1, 2);
  other.insert(other.end(), {"--max-world", "5"});
  answer_of(other);
  EXPECT_THAT(merge().err, HasSubstr("are not shards of one run: max_world is 16 and 5"));
}

TEST(CheckShards, AsManyOtherPropertiesAreNotMerged) {
  const auto merged = [](const std::vector<std::string>& first,
                         const std::vector<std::string>& second) {
    for (std::uint64_t index = 0; index < 2; ++index) {
      std::vector<std::string> command = check_command(index, 2);
      const std::vector<std::string>& further = index == 0 ? first : second;
      command.insert(command.end(), further.begin(), further.end());
      answer_of(command);
    }
    return answer_of({"merge", shard_file(0), shard_file(1)});
  };
  const std::vector<std::string> one_and_two = {"--filter", "sizes.one,sizes.two"};
  EXPECT_EQ(merged(one_and_two, one_and_two).status, 1);
  EXPECT_THAT(merged(one_and_two, {"--filter", "sizes.one,sizes.three"}).err,
              HasSubstr("are not shards of one run: selection is"));
  // Of the same names, but about gangs of another backend.
  std::vector<std::string> on_gloo = one_and_two;
  on_gloo.insert(on_gloo.end(), {"--backend", "sim-gloo"});
  EXPECT_EQ(merged(on_gloo, on_gloo).status, 1);
  EXPECT_THAT(merged(one_and_two, on_gloo).err,
              HasSubstr("are not shards of one run: selection is"));
}

TEST(CheckShards, TimesAreAddedUp) {
  const std::string merged_file = test::temporary_directory() + "check_times.json";
  for (std::uint64_t index = 0; index < 2; ++index) {
    answer_of(check_command(index, 2));
    json shard = content_of_json(shard_file(index));
    shard["wall_time_ns"] = 1000 + index;
    std::ofstream(shard_file(index)) << shard;
  }
  answer_of({"merge", "--json", merged_file, shard_file(0), shard_file(1)});
  EXPECT_EQ(content_of_json(merged_file)["wall_time_ns"], 2001);
}

TEST(CheckShards, AReproducedCaseIsNotDivided) {
  const std::string out = answer_of({"check", "--filter", "sizes.two"}).out;
  const std::size_t token = out.find("--reproduce ") + std::string_view("--reproduce ").size();
  const Said again = answer_of({"check", "--filter", "sizes.two", "--reproduce",
                                out.substr(token, out.find('\n', token) - token)},
                               {{"CI_NODE_INDEX", "3"}, {"CI_NODE_TOTAL", "3"}});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, HasSubstr("sizes.two"));
}

TEST(CheckShards, APropertyThatNoShardHasIsAnError) {
  answer_of(check_command(0, 2));
  answer_of(check_command(1, 2));
  json shard = content_of_json(shard_file(1));
  shard["properties"].erase(0);
  std::ofstream(shard_file(1)) << shard;
  const Said said = answer_of({"merge", shard_file(0), shard_file(1)});
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.err, HasSubstr("property 1 of 5 is not in one shard exactly"));
  shard = content_of_json(shard_file(0));
  answer_of(check_command(1, 2));
  shard["properties"].erase(2);
  std::ofstream(shard_file(0)) << shard;
  EXPECT_THAT(answer_of({"merge", shard_file(0), shard_file(1)}).err,
              HasSubstr("property 4 of 5 is not in one shard exactly"));
}

TEST(CheckShards, APropertyThatAShardHasTwiceIsAnError) {
  answer_of(check_command(0, 2));
  answer_of(check_command(1, 2));
  json shard = content_of_json(shard_file(0));
  shard["properties"].push_back(shard["properties"].back());
  std::ofstream(shard_file(0)) << shard;
  const Said said = answer_of({"merge", shard_file(0), shard_file(1)});
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.err, HasSubstr("property 5 of 5 is not in one shard exactly"));
}

TEST(CheckShards, MergedFailuresAreJunitAndSarifToo) {
  answer_of(check_command(0, 2));
  answer_of(check_command(1, 2));
  const std::string junit = test::temporary_directory() + "check_merged.xml";
  const std::string sarif = test::temporary_directory() + "check_merged.sarif";
  answer_of({"merge", "--junit", junit, "--sarif", sarif, shard_file(0), shard_file(1)});
  std::ifstream file(junit);
  const std::string cases{std::istreambuf_iterator<char>(file), {}};
  for (const char* name : {"one", "two", "three", "four", "five"})
    EXPECT_THAT(cases, HasSubstr(std::string("name=\"") + name + "\""));
  EXPECT_THAT(cases, HasSubstr("<failure message=\"too large\">"));
  EXPECT_EQ(content_of_json(sarif).at("runs").at(0).at("results").size(), 2U);
}

}  // namespace
}  // namespace gang::tools
