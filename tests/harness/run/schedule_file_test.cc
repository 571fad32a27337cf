#include "harness/run/schedule_file.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/schedule_shrinking.h"

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
  EXPECT_THAT(parse("[["), ThrowsMessage<InvalidArgument>(HasSubstr("cut off at byte 2")));
  EXPECT_THAT(parse("schedule"), ThrowsMessage<InvalidArgument>(HasSubstr("not JSON")));
  EXPECT_THAT(parse("{\"version\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}"),
              ThrowsMessage<InvalidArgument>(HasSubstr("nested more than 100 levels deep")));
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

// Rank 0 hangs if the message of rank 2 comes first; `barriers` come before all that.
Program hangs_if_rank_2_is_first(int barriers, int later_barriers = 0) {
  return {.name = "order", .description = "", .run = [=](Rank& rank) {
            std::int32_t value = 7;
            for (int i = 0; i < barriers; ++i) rank.root()->barrier();
            if (rank.rank() != 0) {
              rank.root()->send(view_of(value), 0);
            } else {
              const int first = rank.root()->recv(view_of(value)).source_rank;
              rank.root()->recv(view_of(value), first == 2 ? 2 : any_rank);
            }
            for (int i = 0; i < later_barriers; ++i) rank.root()->barrier();
          }};
}

SavedSchedule saved_hang() {
  const Program program = hangs_if_rank_2_is_first(0);
  const RunWithDetours hang =
      run_with_detours(program, {.program = "order", .world_size = 3},
                       {{{.context = "rank 0", .did = "call", .number = 1}, "rank 2"}}, record_all);
  EXPECT_EQ(hang.result.report.outcome, sim::Outcome::deadlock);
  SavedSchedule saved = make_saved_schedule(program, hang.result);
  saved.detours = hang.detours;
  return saved;
}

TEST(FirstDivergence, WhereAChoiceDoesNotFitIsTheChoice) {
  const Program program = program_with_barriers(2);
  RunResult result = run(program, specification(), record_all);
  const SavedSchedule saved = make_saved_schedule(program, result);
  result.report.outcome = sim::Outcome::diverged;
  result.report.divergence = "choice 3 is not among those that can run";
  result.report.trace.digest += 1;
  EXPECT_EQ(first_divergence(saved, program, result), result.report.divergence);
}

TEST(ReplaySaved, RepeatsTheRun) {
  const SavedSchedule saved = saved_schedule_from_text(to_text(saved_hang()));
  EXPECT_EQ(saved, saved_hang());
  const ReplayedRun again =
      replay_saved(saved, hangs_if_rank_2_is_first(0), {.trace = sim::Recording::on});
  EXPECT_EQ(again.result.report.outcome, sim::Outcome::deadlock);
  EXPECT_EQ(again.change, "");
}

TEST(ReplaySaved, SurvivesAnEditThatDoesNotTouchTheDetours) {
  const SavedSchedule saved = saved_hang();
  const Program edited = hangs_if_rank_2_is_first(0, 2);
  EXPECT_EQ(run(edited, saved.specification).report.outcome, sim::Outcome::completed);
  const ReplayedRun again = replay_saved(saved, edited, {.trace = sim::Recording::on});
  EXPECT_EQ(again.result.report.outcome, sim::Outcome::deadlock);
  EXPECT_NE(again.change, "");
}

TEST(ReplaySaved, SaysWhichChoiceIsNotMet) {
  SavedSchedule saved = saved_hang();
  (*saved.detours)[0].after.did = "lock";
  EXPECT_THAT(
      [&] { replay_saved(saved, hangs_if_rank_2_is_first(1), {.trace = sim::Recording::on}); },
      ThrowsMessage<InvalidArgument>(HasSubstr("'after lock 1 of rank 0")));
  saved.detours.reset();
  EXPECT_THROW(replay_saved(saved, hangs_if_rank_2_is_first(1), {.trace = sim::Recording::on}),
               InvalidArgument);
}

TEST(SavedSchedule, KeepsOnlySoManyEvents) {
  const Program program = program_with_barriers(most_saved_events);
  const SavedSchedule saved =
      make_saved_schedule(program, run(program, {.program = "test", .world_size = 1}, record_all));
  EXPECT_EQ(saved.events.size(), most_saved_events);
}

TEST(SavedSchedule, KeepsEveryFieldOfADetour) {
  SavedSchedule saved = saved_schedule();
  saved.detours = std::vector<sim::Detour>{
      {{.context = "rank 0", .did = "call", .number = 3, .place = "a.cc:7"}, "rank 2"},
      {{.context = "rank 1", .did = "lock", .number = 1, .place = ""}, "'x' of rank 1"}};
  const SavedSchedule read = saved_schedule_from_text(to_text(saved));
  EXPECT_EQ(read, saved);
  EXPECT_EQ(read.detours->at(0).after.place, "a.cc:7");  // which no comparison looks at
}

TEST(FirstDivergence, IsWhatComesAfterTheSavedEvents) {
  SavedSchedule saved = saved_schedule();
  const Program program = program_with_barriers(2);
  const RunResult result =
      replay(program, saved.specification, saved.schedule, {.trace = sim::Recording::on});
  saved.events.pop_back();
  EXPECT_THAT(first_divergence(saved, program, result).value_or("none"),
              HasSubstr("event " + std::to_string(saved.events.size())));
}

TEST(SavedSchedule, KeepsTheEventsAsATraceHasThem) {
  const Program program = program_with_barriers(2);
  const RunResult result = run(program, {.program = "test", .world_size = 1}, record_all);
  std::istringstream lines(to_string(result.report.trace));
  for (const std::string& event : make_saved_schedule(program, result).events) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_THAT(line, testing::StartsWith(event));
  }
}

TEST(SavedScheduleFromText, ADigestIsHexadecimalToItsEnd) {
  SavedSchedule saved = saved_schedule();
  saved.trace_digest = 0xab;
  std::string text = to_text(saved);
  const std::size_t digits = text.find("00000000000000ab");
  ASSERT_NE(digits, std::string::npos);
  text[digits + 15] = 'x';
  EXPECT_THAT([&] { saved_schedule_from_text(text); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("expected a hexadecimal number, found '00000000000000ax'")));
}

}  // namespace
}  // namespace gang::harness
