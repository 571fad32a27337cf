#include "harness/program/rank_log.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

std::vector<int> ranks_of(const RankSelection& selection) {
  std::vector<int> ranks;
  for (int rank = 0; rank < 12; ++rank)
    if (selection.contains(rank)) ranks.push_back(rank);
  return ranks;
}

TEST(RankSelection, NamesRanksAndRanges) {
  EXPECT_THAT(ranks_of(RankSelection("3")), testing::ElementsAre(3));
  EXPECT_THAT(ranks_of(RankSelection("0,3")), testing::ElementsAre(0, 3));
  EXPECT_THAT(ranks_of(RankSelection("7,0-2,8-11:2")), testing::ElementsAre(0, 1, 2, 7, 8, 10));
  EXPECT_EQ(ranks_of(RankSelection("all")).size(), 12U);
  EXPECT_THAT(ranks_of(RankSelection("none")), testing::IsEmpty());
  EXPECT_THAT(ranks_of(RankSelection()), testing::IsEmpty());
}

TEST(RankSelection, RefusesWhatNamesNone) {
  for (const char* text : {"", ",", "1,", "a", "-1", "3-1", "0-3:0", "0:2", "1-2-3", "0-", "1 2"}) {
    EXPECT_THAT([text] { RankSelection selection(text); },
                testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("must be all, none")))
        << text;
  }
}

TEST(RankSelection, RefusesRanksOutsideTheWorld) {
  EXPECT_NO_THROW(RankSelection("0,3-7").check_within(8));
  EXPECT_NO_THROW(RankSelection("all").check_within(1));
  EXPECT_THAT([] { RankSelection("0,3-8").check_within(8); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("names rank 8; ranks are 0 to 7")));
}

TEST(RankLog, WritesTheSelectedRanksOfARun) {
  std::ostringstream lines;
  const RankLog log{RankSelection("0,2"), lines};
  const Program program{"speaks", "", [](Rank& rank) {
                          rank.log("of {} ranks", rank.world_size());
                          rank.root()->barrier();
                        }};
  const RunResult result = run(program, {.program = "speaks", .world_size = 4}, {.log = &log});
  EXPECT_TRUE(result.holds());
  EXPECT_EQ(lines.str(), "[0] of 4 ranks\n[2] of 4 ranks\n");
}

TEST(RankLog, NothingIsLoggedWithoutASink) {
  const Program program{"speaks", "", [](Rank& rank) { rank.log("{}", rank.rank()); }};
  EXPECT_TRUE(run(program, {.program = "speaks", .world_size = 2}).holds());
}

TEST(RankSelection, ARangeCountsFromItsFirst) {
  EXPECT_THAT(ranks_of(RankSelection("5-9:2")), testing::ElementsAre(5, 7, 9));
  EXPECT_THAT(ranks_of(RankSelection("3-3")), testing::ElementsAre(3));
}

TEST(RankSelection, KeepsItsText) {
  EXPECT_EQ(RankSelection("0,3-7").text(), "0,3-7");
  EXPECT_EQ(RankSelection().text(), "none");
}

// Notes what is there each time it is flushed.
class Flushed final : public std::stringbuf {
 public:
  std::vector<std::string> seen;

 protected:
  int sync() override {
    seen.push_back(str());
    return 0;
  }
};

TEST(RankLog, EveryLineIsThereAtOnce) {
  Flushed lines;
  std::ostream out(&lines);
  const RankLog log{RankSelection("all"), out};
  log.write(3, "one");
  log.write(4, "two");
  EXPECT_THAT(lines.seen, testing::ElementsAre("[3] one\n", "[3] one\n[4] two\n"));
}

}  // namespace
}  // namespace gang::harness
