#include "sim/verdict/settled_certainty.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The report of a run, settled by another one where it leaves something open.
Report run_settled(const SimulationOptions& options, const RankProgram& program) {
  Report report = run(options, program);
  if (const auto settling = settling_options(options, report))
    settle(options, report, run(*settling, program));
  return report;
}

TEST(SettledCertainty, ADeadlockThatBuffersAvoidIsABufferingHazard) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
    rank.root()->barrier();
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.findings[0].certainty,
            "in every schedule but only with rendezvous sends: with buffered sends it completes");
  EXPECT_EQ(report.certainty, report.findings[0].certainty);
  EXPECT_THAT(report.findings[0].message, HasSubstr("with buffered sends the program completes"));
}

TEST(SettledCertainty, ACycleOfSendsKeepsItsName) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.findings[0].certainty, HasSubstr("but only with rendezvous sends"));
}

TEST(SettledCertainty, ADeadlockThatBuffersDoNotAvoidSaysWhatBecomesOfIt) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 1);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 2);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  EXPECT_EQ(report.findings[0].certainty,
            "in every schedule with rendezvous sends: with buffered sends it ends in "
            "participant_missing too");
}

TEST(SettledCertainty, StreamsAreSettledByARunWithoutThem) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = run_settled(options, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    Work first = (rank.rank() == 0 ? a : b)->start_barrier();
    Work second = (rank.rank() == 0 ? b : a)->start_barrier();
    first.wait();
    second.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion"));
  EXPECT_EQ(report.findings[0].certainty,
            "in every schedule but only under stream order: without streams it completes");
}

TEST(SettledCertainty, LeavesAloneWhatIsNotOpen) {
  const SimulationOptions options{.world_size = 2};
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(settling_options(options, report), std::nullopt);
  EXPECT_EQ(settling_options(options, Report{}), std::nullopt);
}

// A message that nobody will receive hangs with rendezvous sends, and is lost with buffered ones.
TEST(SettledCertainty, BufferingIsNoCureForAMessageThatNobodyReceives) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.certainty, HasSubstr("with buffered sends it ends in unreceived_message too"));
}

TEST(SettledCertainty, AReplayedScheduleIsNotFollowed) {
  const RankProgram program = [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  };
  SimulationOptions options{.world_size = 2, .scheduler = SchedulerKind::random};
  options.schedule = Recording::on;
  const Report recorded = run(options, program);
  options.scheduler = SchedulerKind::replay;
  options.replay = recorded.schedule;
  const Report report = run_settled(options, program);
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.certainty, HasSubstr("with buffered sends it completes"));
}

}  // namespace
}  // namespace gang::sim
