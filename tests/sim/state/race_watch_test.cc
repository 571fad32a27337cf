#include "sim/state/race_watch.h"

#include "sim/schedule/guide.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Ranks 1 and 2 send `values` to rank 0, which receives `count` messages from any source.
Report gather(std::array<std::int32_t, 2> values,
              const SimulationOptions& options = {.world_size = 3}) {
  return run(options, [values](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() > 0) {
      value = values[static_cast<std::size_t>(rank.rank() - 1)];
      return rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("race.cc", 3));
    }
    rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("race.cc", 5));
    rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("race.cc", 6));
  });
}

TEST(RaceWatch, NamesTheReceiveAndBothSends) {
  const Report report = gather({1, 2});
  EXPECT_TRUE(report.holds()) << to_string(report);
  ASSERT_EQ(report.races.candidates.size(), 1U);
  const RaceCandidate expected{.receiver = 0,
                               .receive_index = 0,
                               .taken_source = 1,
                               .other_source = 2,
                               .gang = {"root", "0-2"},
                               .call = {.kind = "recv",
                                        .payload = "i32[]",
                                        .direction = CallText::Direction::from,
                                        .peer = any_rank},
                               .location = {"race.cc", 5},
                               .taken_location = {"race.cc", 3},
                               .other_location = {"race.cc", 3}};
  EXPECT_EQ(report.races.candidates[0], expected);
}

TEST(RaceWatch, SeesMessagesThatWaitInBuffers) {
  const Report report = gather({1, 2}, {.world_size = 3, .sends = SendMode::buffered(64)});
  ASSERT_EQ(report.races.candidates.size(), 1U);
  EXPECT_EQ(report.races.candidates[0].other_source, 2);
}

// Such a run is one of several, which take each other's messages.
TEST(RaceWatch, LooksForNoneWhereAGuideLeads) {
  const auto guide = std::make_shared<Guide>();
  const AnyReceives known;
  guide->begin({}, known);
  const Report report =
      gather({1, 2}, {.world_size = 3, .scheduler = SchedulerKind::guided, .guide = guide});
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(report.races.candidates, IsEmpty());
}

TEST(RaceWatch, EqualMessagesDoNotRace) { EXPECT_THAT(gather({7, 7}).races.candidates, IsEmpty()); }

TEST(RaceWatch, OtherTagsDoNotRace) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() > 0) return rank.root()->send(view_of(value), 0, rank.rank());
    rank.root()->recv(view_of(value), any_rank, 1);
    rank.root()->recv(view_of(value), any_rank, 2);
  });
  EXPECT_THAT(report.races.candidates, IsEmpty());
}

TEST(RaceWatch, ReceivesThatNameTheirSourceAreNotWatched) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() > 0) return rank.root()->send(view_of(value), 0);
    rank.root()->recv(view_of(value), 1);
    rank.root()->recv(view_of(value), 2);
  });
  EXPECT_THAT(report.races.candidates, IsEmpty());
}

TEST(RaceWatch, KeepsTheFirstFew) {
  const Report report = run(40, [](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() > 0) return rank.root()->send(view_of(value), 0);
    for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
  });
  EXPECT_EQ(report.races.candidates.size(), 8U);
}

}  // namespace
}  // namespace gang::sim
