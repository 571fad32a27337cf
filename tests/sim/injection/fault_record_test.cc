#include "sim/injection/fault_record.h"

#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(FaultRecord, KeepsTheFirstTimeAndCountsTheOthers) {
  run(1, [](SimulatedRank& rank) {
    const Fault planned{.kind = FaultKind::slow};
    ArmedFault fault{.fault = &planned, .index = 2, .rank = 0};
    FaultRecord record(rank.world());
    record.fire(fault, "rank 0 was slow");
    record.fire(fault, "again");
    ASSERT_EQ(record.fired().size(), 1U);
    EXPECT_EQ(record.fired()[0].fault, 2U);
    EXPECT_EQ(record.fired()[0].count, 2U);
    EXPECT_EQ(record.fired()[0].description, "rank 0 was slow");
    EXPECT_THAT(record.finding_of(fault)->ranks, ElementsAre(0));
  });
}

TEST(FaultRecord, EventsComeInTheOrderOfTimeThenOfEntry) {
  run(1, [](SimulatedRank& rank) {
    ArmedFault late;
    ArmedFault first;
    ArmedFault second;
    FaultRecord record(rank.world());
    record.schedule(2s, FaultAct::notice, late);
    record.schedule(1s, FaultAct::restart, first);
    record.schedule(1s, FaultAct::release, second);
    EXPECT_EQ(record.next_event(), TimePoint(1s));
    EXPECT_EQ(record.take_due(1s)->fault, &first);
    EXPECT_EQ(record.take_due(1s)->fault, &second);
    EXPECT_FALSE(record.take_due(1s).has_value());
    EXPECT_EQ(record.take_due(3s)->act, FaultAct::notice);
    EXPECT_EQ(record.next_event(), TimePoint::max());
  });
}

TEST(FaultRecord, ATriggerThatCountsPicksOneOperation) {
  run(1, [](SimulatedRank& rank) {
    const Fault planned{.kind = FaultKind::crash, .trigger = {.operation = 1}};
    ArmedFault fault{.fault = &planned};
    FaultRecord record(rank.world());
    EXPECT_FALSE(record.is_picked(fault));
    EXPECT_TRUE(record.is_picked(fault));
    EXPECT_FALSE(record.is_picked(fault));
  });
}

TEST(FaultRecord, WhoGetsTheErrorOfADeathInsideIsAsPlanned) {
  for (const std::vector<int>& planned :
       {std::vector<int>{}, std::vector<int>{3}, std::vector<int>{0, 1, 3}}) {
    const SimulationOptions options =
        with(4, {{.kind = FaultKind::crash,
                  .ranks = {2},
                  .trigger = {.operation = 1, .moment = FaultMoment::inside},
                  .notice = Between<Duration>(1s),
                  .error_at = planned}});
    std::vector<int> failed;
    const Report report = run(options, [&failed](SimulatedRank& rank) {
      rank.root()->barrier();
      if (gang_error_of([&] { rank.root()->barrier(); })) failed.push_back(rank.rank());
    });
    EXPECT_THAT(failed, testing::UnorderedElementsAreArray(planned));
    ASSERT_EQ(report.faults.size(), 1U);
    EXPECT_THAT(report.faults[0].witnesses, ElementsAre(0, 1, 3));
  }
}

}  // namespace
}  // namespace gang::sim
