#include "harness/program_file/block_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "sim/options/simulation_options.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<int> ranks_below_twelve(std::string_view text) {
  const RankSelection selection = parse_rank_selection(text, {"f.toml", 1, 1});
  std::vector<int> ranks;
  for (int rank = 0; rank < 12; ++rank) {
    if (selection.contains(rank)) ranks.push_back(rank);
  }
  return ranks;
}

TEST(ParseRankSelection, ReadsRangesAndWords) {
  EXPECT_THAT(ranks_below_twelve("0-3,8"), testing::ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ranks_below_twelve("1-9:4"), testing::ElementsAre(1, 5, 9));
  EXPECT_THAT(ranks_below_twelve("all"), testing::SizeIs(12));
  EXPECT_THAT(ranks_below_twelve("even"), testing::ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ranks_below_twelve("odd"), testing::ElementsAre(1, 3, 5, 7, 9, 11));
}

TEST(ParseRankSelection, RejectsMalformedSelections) {
  for (const char* text : {"", "3-1", "0-4:0", "some", "1,,2", "-1", "99999999"}) {
    EXPECT_THROW(parse_rank_selection(text, {"f.toml", 1, 1}), InvalidArgument) << text;
  }
}

std::vector<Block> read(std::string_view text) {
  const toml::table root = toml::parse(text);
  return read_blocks(TomlNodes{"f.toml"}, *root.get("do"));
}

TEST(ReadBlocks, ReadsNestedBlocks) {
  const std::vector<Block> blocks = read(R"(
[[do]]
repeat = 3
when = "rank > 0"
calls = ["root barrier"]
  [[do.do]]
  ranks = [1, 2]
  calls = ["root barrier", "return"]
)");
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 3);
  EXPECT_TRUE(blocks[0].when);
  ASSERT_EQ(blocks[0].blocks.size(), 1U);
  EXPECT_EQ(blocks[0].blocks[0].calls.size(), 2U);
  EXPECT_EQ(blocks[0].blocks[0].ranks.largest, 2);
}

TEST(ReadBlocks, GivesEveryCallItsLine) {
  const std::vector<Block> blocks = read(R"([[do]]
calls = [
  "root barrier",
  "root barrier",
])");
  EXPECT_EQ(blocks[0].calls[0].place.line, 3U);
  EXPECT_EQ(blocks[0].calls[1].place.line, 4U);
}

TEST(ReadBlocks, ErrorsNameThePlaceAndWhatWasExpected) {
  EXPECT_THAT([] { read("[[do]]\nrepaet = 3"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("f.toml:2:1: key 'repaet' is unknown")));
  EXPECT_THAT([] { read("[[do]]\nrepeat = -1"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("repeat is -1; must be 0 to")));
  EXPECT_THAT([] { read("[[do]]\ncalls = [\"root\"]"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("f.toml:2:15:")));
  EXPECT_THAT([] { read("[[do]]\nwhen = \"rank ==\""); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("f.toml:2:16: expected a whole-number expression over rank, "
                            "world and iteration, found the end")));
  EXPECT_THAT([] { read("do = 3"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("do: expected an array, found an integer")));
}

TEST(ParseRankSelection, KnowsItsLargestRank) {
  EXPECT_EQ(parse_rank_selection("8,0-3", {"f.toml", 1, 1}).largest, 8);
  EXPECT_EQ(read("[[do]]\nranks = [9, 2]\ncalls = []")[0].ranks.largest, 9);
}

TEST(ParseRankSelection, ARankIsOneOfTheLargestWorld) {
  constexpr int most = sim::SimulationOptions::max_world_size;
  EXPECT_EQ(parse_rank_selection(std::to_string(most - 1), {"f.toml", 1, 1}).largest, most - 1);
  EXPECT_THROW(parse_rank_selection(std::to_string(most), {"f.toml", 1, 1}), InvalidArgument);
}

TEST(ReadBlocks, ABlockIsWhereItsRanksAre) {
  EXPECT_EQ(read("[[do]]\nrepeat = 2\nranks = [9]\ncalls = []")[0].place.line, 3U);
}

TEST(ReadBlocks, AreNestedOnlySoDeeply) {
  const auto nested = [](int depth) {
    std::string text;
    std::string key;
    for (int i = 0; i < depth; ++i) {
      key += i == 0 ? "do" : ".do";
      text += "[[" + key + "]]\n";
    }
    return text;
  };
  EXPECT_NO_THROW(read(nested(32)));
  EXPECT_THAT([&] { read(nested(33)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("nested too deeply")));
}

TEST(ReadBlocks, AConditionIsAllOfItsText) {
  EXPECT_THAT([] { read("[[do]]\nwhen = \"rank 3\""); },
              ThrowsMessage<InvalidArgument>(HasSubstr("expected the end")));
}

}  // namespace
}  // namespace gang::harness::program_file
