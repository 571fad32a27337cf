#include "properties/runs_are_explained.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(RunsAreExplained, HoldsForSimulatedRuns) { expect_hold(runs_are_explained()); }

// A simulator whose timeline is not what happened.
Subject with_timeline(const std::function<void(sim::Timeline&)>& falsify) {
  return reporting([falsify](sim::Report& report) { falsify(report.timeline); });
}

void expect_timeline_caught(const std::function<void(sim::TimelineSlice&)>& falsify,
                            const std::string& message) {
  const Subject subject = with_timeline([falsify](sim::Timeline& timeline) {
    for (sim::TimelineLane& lane : timeline.lanes)
      if (!lane.slices.empty()) falsify(lane.slices.back());
  });
  expect_caught(runs_are_explained(subject), "timelines_are_whole", message);
}

TEST(RunsAreExplained, AnOperationThatIsForgottenIsCaught) {
  const Subject subject = with_timeline([](sim::Timeline& timeline) {
    if (!timeline.lanes.front().slices.empty()) timeline.lanes.front().slices.pop_back();
  });
  expect_caught(runs_are_explained(subject), "timelines_are_whole", "the timeline has");
}

TEST(RunsAreExplained, ABlockedOperationThatSeemsToEndIsCaught) {
  expect_timeline_caught([](sim::TimelineSlice& slice) { slice.status = sim::SliceStatus::failed; },
                         "is blocked, but has no operation that stays open");
}

TEST(RunsAreExplained, MembersThatDoNotMeetAreCaught) {
  const Subject subject = with_timeline([](sim::Timeline& timeline) {
    auto& slices = timeline.lanes.back().slices;
    if (!slices.empty() && slices.front().status == sim::SliceStatus::complete)
      ++slices.front().last_step;
  });
  expect_caught(runs_are_explained(subject), "timelines_are_whole", "ends both at step");
}

// As if each member had been alone.
TEST(RunsAreExplained, AnOperationThatEndsAtOnceForEachMemberIsCaught) {
  const Subject subject = with_timeline([](sim::Timeline& timeline) {
    for (sim::TimelineLane& lane : timeline.lanes)
      for (sim::TimelineSlice& slice : lane.slices)
        if (slice.status == sim::SliceStatus::complete && slice.sequence_number == 0)
          slice.last_step = slice.first_step;
  });
  expect_caught(runs_are_explained(subject), "timelines_are_whole", "ends both at step");
}

TEST(RunsAreExplained, TimeThatGoesBackIsCaught) {
  expect_timeline_caught([](sim::TimelineSlice& slice) { slice.last_step = 0; },
                         "ends before it begins");
}

TEST(RunsAreExplained, ASavedRunThatSaysSomethingElseIsCaught) {
  RunFileForm form;
  form.parse = [](std::string_view text) {
    harness::RunResult result = harness::run_result_from_text(text);
    if (!result.report.blocked.empty()) result.report.blocked.pop_back();
    return result;
  };
  expect_caught(runs_are_explained({}, form), "saved_runs_say_the_same", "the saved run says");
  form.parse = [](std::string_view text) {
    harness::RunResult result = harness::run_result_from_text(text);
    result.report.timeline = {};
    return result;
  };
  expect_caught(runs_are_explained({}, form), "saved_runs_say_the_same", "timeline is different");
}

}  // namespace
}  // namespace gang::properties
