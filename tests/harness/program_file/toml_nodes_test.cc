#include "harness/program_file/toml_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "sim/options/simulation_options.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const toml::table& document() {
  static const toml::table table = toml::parse(R"(
number = 7
text = "words"
flag = true
ranks = [3, 1]
day = 2026-01-01
)");
  return table;
}

const TomlNodes nodes{"f.toml"};

const toml::node& node(std::string_view key) { return *document().get(key); }

TEST(TomlNodes, ReadValues) {
  EXPECT_EQ(nodes.integer(node("number"), "number", 1, 9), 7);
  EXPECT_EQ(nodes.text(node("text"), "text").get(), "words");
  EXPECT_EQ(nodes.ranks(node("ranks"), "ranks"), (std::vector{3, 1}));
  EXPECT_EQ(nodes.scalar(node("flag"), "flag"), "true");
  EXPECT_EQ(nodes.scalar(node("number"), "number"), "7");
}

TEST(TomlNodes, KnowTheirPlaces) {
  EXPECT_EQ(nodes.place_of(node("text")).line, 3U);
  EXPECT_EQ(nodes.inside(*node("text").as_string()).column, 9U);
}

TEST(TomlNodes, ErrorsNameWhatWasExpectedAndFound) {
  EXPECT_THAT(
      [] { nodes.text(node("number"), "name"); },
      ThrowsMessage<InvalidArgument>("f.toml:2:10: name: expected a string, found an integer"));
  EXPECT_THAT([] { nodes.integer(node("number"), "size", 8, 9); },
              ThrowsMessage<InvalidArgument>("f.toml:2:10: size is 7; must be 8 to 9"));
  EXPECT_THAT(
      [] { nodes.integer(node("text"), "size", 8, 9); },
      ThrowsMessage<InvalidArgument>(HasSubstr("size: expected an integer, found a string")));
  EXPECT_THAT([] { nodes.scalar(node("day"), "day"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("a date or time")));
  EXPECT_THAT([] { nodes.check_keys(document(), {"number", "text", "flag", "ranks", "days"}); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("f.toml:6:1: key 'day' is unknown (did you mean 'days'?)")));
}

TEST(TomlNodes, HaveLimits) {
  EXPECT_EQ(nodes.integer(node("number"), "size", 1, 7), 7);
  EXPECT_THROW(nodes.integer(node("number"), "size", 1, 6), InvalidArgument);
  const int most = sim::SimulationOptions::max_world_size - 1;
  const toml::table ranks = toml::parse("most = [" + std::to_string(most) + "]\nbeyond = [" +
                                        std::to_string(most + 1) + "]\n");
  EXPECT_EQ(nodes.ranks(*ranks.get("most"), "ranks"), std::vector{most});
  EXPECT_THROW(nodes.ranks(*ranks.get("beyond"), "ranks"), InvalidArgument);
}

TEST(TomlNodes, AFlagMayBeFalse) {
  const toml::table table = toml::parse("flag = false");
  EXPECT_EQ(nodes.scalar(*table.get("flag"), "flag"), "false");
}

}  // namespace
}  // namespace gang::harness::program_file
