#include "harness/run/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const RunRecording record_all{.trace = sim::Recording::on, .schedule = sim::Recording::on};

Program program_with_barriers(int barriers) {
  return {.name = "test", .description = "", .run = [barriers](Rank& rank) {
            for (int i = 0; i < barriers; ++i) rank.root()->barrier();
            rank.output("barriers", barriers);
          }};
}

RunSpecification specification() {
  return {.program = "test",
          .world_size = 3,
          .schedule = ScheduleChoice::random,
          .options = {.seed = 4}};
}

SavedSchedule saved_schedule() {
  const Program program = program_with_barriers(2);
  return make_saved_schedule(program, run(program, specification(), record_all));
}

TEST(SavedSchedule, RoundTripsThroughText) {
  const SavedSchedule saved = saved_schedule();
  EXPECT_FALSE(saved.events.empty());
  EXPECT_EQ(saved_schedule_from_text(to_text(saved)), saved);
}

TEST(SavedScheduleFromText, SaysWhatIsWrong) {
  const auto parse = [](std::string text) {
    return [text = std::move(text)] { saved_schedule_from_text(text); };
  };
  EXPECT_THAT(parse("[["), ThrowsMessage<InvalidArgument>(HasSubstr("not JSON")));
  EXPECT_THAT(parse("{}"), ThrowsMessage<InvalidArgument>(HasSubstr("field format")));
  std::string text = to_text(saved_schedule());
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 9");
  EXPECT_THAT(parse(text), ThrowsMessage<InvalidArgument>(HasSubstr("version is 9; must be 1")));
  text = to_text(saved_schedule());
  text.replace(text.find("trace_digest"), 12, "trace_digset");
  EXPECT_THAT(parse(text), ThrowsMessage<InvalidArgument>(HasSubstr("trace_digest is missing")));
}

TEST(FirstDivergence, IsNoneForTheSameProgram) {
  const SavedSchedule saved = saved_schedule();
  const Program program = program_with_barriers(2);
  const RunResult result =
      replay(program, saved.specification, saved.schedule, {.trace = sim::Recording::on});
  EXPECT_EQ(first_divergence(saved, program, result), std::nullopt);
}

// Beyond the events that are saved, the digests tell.
TEST(FirstDivergence, IsInTheDigestsIfTheSavedEventsAreTheSame) {
  const SavedSchedule saved = saved_schedule();
  const Program program = program_with_barriers(2);
  const RunResult result =
      replay(program, saved.specification, saved.schedule, {.trace = sim::Recording::on});
  SavedSchedule other_trace = saved;
  ++other_trace.trace_digest;
  EXPECT_EQ(first_divergence(other_trace, program, result),
            "the trace differs after event " + std::to_string(saved.events.size()));
  SavedSchedule other_result = saved;
  ++other_result.result_digest;
  EXPECT_THAT(first_divergence(other_result, program, result).value(),
              HasSubstr("the digest of the ranks' outputs is "));
}

TEST(FirstDivergence, NamesTheEventWhereAnotherProgramDiffers) {
  const SavedSchedule saved = saved_schedule();
  Program program = program_with_barriers(3);
  program.source = "edited";
  const RunResult result =
      replay(program, saved.specification, saved.schedule, {.trace = sim::Recording::on});
  const auto divergence = first_divergence(saved, program, result);
  ASSERT_TRUE(divergence);
  EXPECT_THAT(*divergence, HasSubstr("event "));
  EXPECT_THAT(*divergence, HasSubstr("was recorded"));
  EXPECT_THAT(*divergence, HasSubstr("another program or version than test"));
}

}  // namespace
}  // namespace gang::harness
