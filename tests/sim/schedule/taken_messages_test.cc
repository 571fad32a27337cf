#include "sim/schedule/taken_messages.h"

#include <memory>
#include <utility>
#include <vector>

#include "sim/schedule/guide.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// What rank 0 takes from any source where rank `first` sends before the other one does.
std::vector<TakenMessage> taken_after(int first) {
  const auto guide = std::make_shared<Guide>();
  const Knowledge known;
  guide->begin({}, known);
  const SimulationOptions options{
      .world_size = 3, .scheduler = SchedulerKind::guided, .guide = guide};
  const Report report = run(options, [first](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) {
      for (int i = 0; i < 2; ++i)
        rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("pump.cc", 31 + i));
      return;
    }
    if (rank.rank() != first) rank.root()->recv(view_of(value), first, 1);
    rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("ahead.cc", rank.rank()));
    if (rank.rank() == first) rank.root()->send(view_of(value), 3 - first, 1);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  return taken_messages(guide->log());
}

TEST(TakenMessages, AreInTheOrderInWhichTheyWereTaken) {
  const std::vector<TakenMessage> taken = taken_after(2);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].message.rank, 2);
  EXPECT_EQ(to_string(taken[0].receive.site), "pump.cc:31");
  EXPECT_EQ(taken[1].message.rank, 1);
  EXPECT_EQ(to_string(taken[1].message.site), "ahead.cc:1");
  EXPECT_EQ(taken[1].sender, "");
}

TEST(TakenMessages, TheFirstThatDiffersIsAContest) {
  std::vector<TakenMessage> one = taken_after(1);
  std::vector<TakenMessage> other = one;
  std::swap(other[0].message, other[1].message);
  std::swap(other[0].receive.message, other[1].receive.message);
  const auto contest = taken_otherwise(one, other);
  ASSERT_TRUE(contest);
  EXPECT_EQ(contest->first.rank, 1);
  EXPECT_EQ(contest->second.rank, 2);
  EXPECT_EQ(to_string(contest->receive.value().site), "pump.cc:31");
  EXPECT_FALSE(taken_otherwise(one, one));
}

TEST(TakenMessages, OfReceivesThatOneRunLacksNothingIsCompared) {
  const std::vector<TakenMessage> one = taken_after(1);
  EXPECT_FALSE(taken_otherwise(one, std::span(one).first(1)));
  EXPECT_FALSE(taken_otherwise(one, {}));
}

}  // namespace
}  // namespace gang::sim
