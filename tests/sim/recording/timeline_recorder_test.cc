#include "sim/recording/timeline_recorder.h"

#include "sim/faults/fault_plan.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Timeline timeline_of(SimulationOptions options, const RankProgram& program) {
  options.timeline = Recording::on;
  return run(options, program).timeline;
}

// "barrier #0 1-3 complete"
std::string to_text(const Timeline& timeline, const TimelineSlice& slice) {
  return to_string(timeline.gangs[slice.gang]) + " " + timeline.calls[slice.call].call.kind + " #" +
         std::to_string(slice.sequence_number) + " " + std::to_string(slice.first_step) + "-" +
         std::to_string(slice.last_step) + " " + std::string(to_string(slice.status));
}

std::vector<std::string> lane_text(const Timeline& timeline, std::size_t lane) {
  std::vector<std::string> texts;
  for (const TimelineSlice& slice : timeline.lanes.at(lane).slices)
    texts.push_back(to_text(timeline, slice));
  return texts;
}

TEST(TimelineRecorder, IsEmptyUnlessAsked) {
  EXPECT_TRUE(run(2, [](SimulatedRank& rank) { rank.root()->barrier(); }).timeline.empty());
}

// Each rank has calls of its own; the last one never returns.
TEST(TimelineRecorder, OfTooManyLanesThoseThatHaveNotReturnedAreKept) {
  constexpr int world = static_cast<int>(most_lanes) + 8;
  const Timeline timeline = timeline_of({.world_size = world}, [](SimulatedRank& rank) {
    std::vector<std::uint8_t> own(static_cast<std::size_t>(rank.rank()));
    const auto alone = rank.root()->split({.color = rank.rank()});
    alone->broadcast(view(own), 0);
    if (rank.rank() == world - 1) rank.root()->barrier();
  });
  ASSERT_EQ(timeline.lanes.size(), most_lanes);
  EXPECT_EQ(timeline.lanes_left_out, 8U);
  EXPECT_THAT(timeline.lanes.back().ranks, ElementsAre(world - 1));
  EXPECT_EQ(timeline.lanes.back().end, LaneEnd::none);
}

TEST(TimelineRecorder, AnOperationLastsUntilTheLastMemberHasCalled) {
  const Timeline timeline = timeline_of({.world_size = 2}, [](SimulatedRank& rank) {
    const auto alone = child_of(*rank.root(), {1});
    if (alone) alone->barrier();
    if (alone) alone->barrier();
    rank.root()->barrier({}, CallSite::at("dir/train.cc", 41));
  });
  EXPECT_THAT(lane_text(timeline, 0), ElementsAre("root[0,1] create_gang #0 1-1 complete",
                                                  "root[0,1] barrier #1 2-4 complete"));
  EXPECT_THAT(
      lane_text(timeline, 1),
      ElementsAre("root[0,1] create_gang #0 1-1 complete", "root.0[1] barrier #0 2-2 complete",
                  "root.0[1] barrier #1 3-3 complete", "root[0,1] barrier #1 4-4 complete"));
  EXPECT_EQ(to_string(timeline.calls.at(timeline.lanes[0].slices[1].call).location), "train.cc:41");
  EXPECT_EQ(timeline.last_step, 4U);
  EXPECT_EQ(timeline.lanes[0].end, LaneEnd::returned);
}

TEST(TimelineRecorder, WhatIsBlockedLastsToTheEnd) {
  const Timeline timeline = timeline_of({.world_size = 3}, [](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() != 1) rank.root()->barrier();
  });
  EXPECT_THAT(lane_text(timeline, 0),
              ElementsAre("root[0-2] barrier #0 1-1 complete", "root[0-2] barrier #1 2-2 pending"));
  EXPECT_EQ(timeline.lanes[0].end, LaneEnd::none);
  EXPECT_THAT(lane_text(timeline, 1), ElementsAre("root[0-2] barrier #0 1-1 complete"));
  EXPECT_EQ(timeline.lanes[1].end, LaneEnd::returned);
}

TEST(TimelineRecorder, SenderAndReceiverWaitForEachOther) {
  std::int32_t value = 0;
  const RankProgram program = [&value](SimulatedRank& rank) {
    Gang& root = *rank.root();
    if (rank.rank() == 0) root.send(view_of(value), 1);
    if (rank.rank() == 1) {
      const auto self = root.split({.color = no_color});
      root.recv(view_of(value), 0);
    } else {
      root.split({.color = no_color});
    }
  };
  // Rank 0 sends before the split, rank 1 receives after it: no deadlock only where sends buffer.
  const Timeline buffered =
      timeline_of({.world_size = 2, .sends = SendMode::buffered(64)}, program);
  EXPECT_THAT(lane_text(buffered, 0),
              ElementsAre("root[0,1] send #0 1-1 complete", "root[0,1] split #0 2-2 complete"));
  EXPECT_THAT(lane_text(buffered, 1),
              ElementsAre("root[0,1] split #0 1-2 complete", "root[0,1] recv #0 3-3 complete"));

  const Timeline met = timeline_of({.world_size = 2}, [&value](SimulatedRank& rank) {
    const auto alone = child_of(*rank.root(), {1});
    if (alone) alone->barrier();
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 7);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 7);
  });
  EXPECT_THAT(lane_text(met, 0).back(), "root[0,1] send #0 2-3 complete");
  EXPECT_THAT(lane_text(met, 1).back(), "root[0,1] recv #0 3-3 complete");
  EXPECT_EQ(to_string(met.calls.at(met.lanes[0].slices.back().call).call),
            "send i32[] to rank 1 tag 7");
}

TEST(TimelineRecorder, PeersAreRanksOfTheRootGang) {
  std::int32_t value = 0;
  const Timeline timeline = timeline_of({.world_size = 4}, [&value](SimulatedRank& rank) {
    const auto own = rank.root()->split({.color = rank.rank() % 2});
    own->broadcast(view_of(value), 1);
  });
  std::vector<int> roots;
  for (const TimelineCall& kept : timeline.calls)
    if (kept.call.kind == "broadcast") roots.push_back(kept.call.peer.value());
  EXPECT_THAT(roots, testing::UnorderedElementsAre(2, 3)) << "of gang[0,2] and of gang[1,3]";
}

TEST(TimelineRecorder, KeepsTheLastOperationsAndCountsTheOthers) {
  constexpr int calls = 1'000;
  const Timeline timeline = timeline_of({.world_size = 2}, [](SimulatedRank& rank) {
    for (int i = 0; i < calls; ++i) rank.root()->barrier();
  });
  const std::size_t kept = TimelineRecorder::slices_per_context(2);
  ASSERT_EQ(timeline.lanes[0].slices.size(), kept);
  EXPECT_EQ(timeline.lanes[0].left_out, calls - kept);
  EXPECT_EQ(timeline.lanes[0].slices.front().sequence_number, calls - kept);
  EXPECT_EQ(timeline.lanes[0].slices.back().sequence_number, calls - 1U);
  EXPECT_EQ(timeline.calls.size(), 1U);
}

TEST(TimelineRecorder, KeepsLessOfEachTheMoreRanksThereAre) {
  EXPECT_GT(TimelineRecorder::slices_per_context(8), TimelineRecorder::slices_per_context(16'384));
  EXPECT_GE(TimelineRecorder::slices_per_context(SimulationOptions::max_world_size), 2U);
}

TEST(TimelineRecorder, RanksThatCallTheSameShareALane) {
  constexpr int world = 64;
  const Timeline timeline = timeline_of({.world_size = world}, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    pair->barrier();
    std::int32_t value = 0;
    Work work = rank.root()->start_send(view_of(value), (rank.rank() + 1) % world);
    rank.root()->recv(view_of(value), (rank.rank() + world - 1) % world);
    work.wait();
    if (rank.rank() != 17) rank.root()->barrier();
  });
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[0].ranks.size(), world - 1U);
  EXPECT_THAT(timeline.lanes[1].ranks, ElementsAre(17));
  EXPECT_EQ(timeline.lanes[1].end, LaneEnd::returned);
  EXPECT_EQ(timeline.lanes[0].slices.back().status, SliceStatus::pending);
}

TEST(TimelineRecorder, FailuresAndExceptionsShow) {
  const Timeline timeline = timeline_of({.world_size = 2}, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("out of paper");
    rank.root()->barrier();
  });
  EXPECT_EQ(timeline.lanes[0].slices.at(0).status, SliceStatus::failed);
  EXPECT_EQ(timeline.lanes[0].end, LaneEnd::failed);
  EXPECT_THAT(timeline.lanes[1].slices, IsEmpty());
  EXPECT_EQ(timeline.lanes[1].end, LaneEnd::failed);
}

TEST(TimelineRecorder, FurtherContextsHaveLanes) {
  const Timeline timeline = timeline_of({.world_size = 1}, [](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.runtime().start_thread("loader", [&rank] { rank.root()->barrier(); })->join();
  });
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[1].context, "loader");
  EXPECT_THAT(lane_text(timeline, 1), ElementsAre("root[0] barrier #1 2-2 complete"));
}

TEST(TimelineRecorder, NotesHowFarARankWasWhenAFaultStruck) {
  SimulationOptions options{.world_size = 2, .timeout = 1s};
  options.faults = std::make_shared<const FaultPlan>(FaultPlan{
      .faults = {{.kind = FaultKind::late_start, .ranks = {0}, .delay = Between<Duration>(1ms)},
                 {.kind = FaultKind::stall, .ranks = {1}, .trigger = {.operation = 2}}}});
  const Timeline timeline = timeline_of(options, [](SimulatedRank& rank) {
    gang_error_of([&rank] {
      for (int i = 0; i < 4; ++i) rank.root()->barrier();
    });
  });
  EXPECT_THAT(timeline.fault_steps, ElementsAre(0, 2));
}

TEST(TimelineRecorder, DoesNotChangeTheRun) {
  const RankProgram program = [](SimulatedRank& rank) {
    count_members(*rank.root());
    rank.runtime().sleep_for(1ms * rank.rank());
    count_members(*rank.root());
  };
  for (const auto scheduler : {SchedulerKind::round_robin, SchedulerKind::random}) {
    const SimulationOptions plain{.world_size = 8, .scheduler = scheduler};
    SimulationOptions recording = plain;
    recording.timeline = Recording::on;
    EXPECT_EQ(run(plain, program).trace.digest, run(recording, program).trace.digest);
    EXPECT_EQ(run(recording, program).timeline, run(recording, program).timeline);
  }
}

TEST(TimelineRecorder, HistoriesKeepEachRanksOwnCallsAndGangs) {
  const Report report = run({.world_size = 40, .timeline = Recording::on}, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "tp"});
    pair->barrier();
  });
  ASSERT_NE(report.histories, nullptr);
  ASSERT_EQ(report.histories->ranks.size(), 40U);
  const CallHistory& last = report.histories->ranks.back();
  ASSERT_EQ(last.calls.size(), 2U);
  EXPECT_EQ(last.end, LaneEnd::returned);
  const RecordedGang& gang = report.histories->gangs.at(last.calls[1].gang);
  EXPECT_EQ(gang.label.name, "tp");
  EXPECT_THAT(*gang.members, ElementsAre(38, 39));
  EXPECT_EQ(report.histories->calls.at(last.calls[1].call).call.kind, "barrier");
  EXPECT_EQ(run(2, [](SimulatedRank&) {}).histories, nullptr);
}

TEST(TimelineRecorder, HistoriesReachFurtherBackThanLanesDo) {
  const Report report = run({.world_size = 2, .timeline = Recording::on}, [](SimulatedRank& rank) {
    for (int i = 0; i < 2000; ++i) rank.root()->barrier();
  });
  const CallHistory& history = report.histories->ranks.at(0);
  EXPECT_EQ(history.calls.size(), TimelineRecorder::calls_per_history(2));
  EXPECT_EQ(history.calls.size() + history.left_out, 2000U);
  EXPECT_EQ(history.calls.back().sequence_number, 1999U);
  const TimelineLane& lane = report.timeline.lanes.at(0);
  EXPECT_EQ(lane.slices.size(), TimelineRecorder::slices_per_context(2));
  EXPECT_EQ(lane.slices.size() + lane.left_out, 2000U);
  EXPECT_GE(TimelineRecorder::calls_per_history(SimulationOptions::max_world_size),
            TimelineRecorder::slices_per_context(SimulationOptions::max_world_size));
}

}  // namespace
}  // namespace gang::sim
