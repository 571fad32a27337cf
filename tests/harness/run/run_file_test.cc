#include "harness/run/run_file.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;

RunResult run_body(int world_size, Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = world_size},
             {.timeline = sim::Recording::on});
}

// One rank returns early; the others are in pairs, too.
RunResult deadlock(int world_size, std::string_view label = "step \"1\" <b>") {
  return run_body(world_size, [label](Rank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    if (rank.rank() == 1) return;
    pair->barrier();
    rank.root()->barrier({.label = label});
  });
}

std::string error_of(std::string_view text) {
  try {
    run_result_from_text(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(RunFile, HasEveryFieldThatIsPromised) {
  const json to = to_json(run_body(4, [](Rank& rank) { rank.root()->barrier(); }));
  for (const char* field : {"format",       "version",         "outcome",       "world",
                            "backend",      "context",         "seed",          "findings",
                            "blocked",      "divergence",      "specification", "virtual_time_ns",
                            "wall_time_ns", "rank_operations", "switches",      "gangs",
                            "counts",       "trace_digest",    "result_digest", "reproduce",
                            "timeline"}) {
    EXPECT_TRUE(to.contains(field)) << field;
  }
  EXPECT_EQ(to["outcome"], "completed");
  EXPECT_EQ(to["rank_operations"], 4);
  EXPECT_EQ(to["trace_digest"].get<std::string>().size(), 16U);
  EXPECT_FALSE(to.contains("unexpected"));
}

TEST(RunFile, DescribesFindings) {
  const json to = to_json(run_body(4, [](Rank& rank) {
    if (rank.rank() != 1) rank.root()->barrier();
  }));
  EXPECT_EQ(to["outcome"], "deadlock");
  ASSERT_EQ(to["findings"].size(), 1U);
  EXPECT_EQ(to["findings"][0]["id"], "participant_missing");
  EXPECT_EQ(to["findings"][0]["ranks"], json::array({1}));
  EXPECT_EQ(to["blocked"].size(), 3U);
}

TEST(RunFile, WhatIsReadBackSaysTheSame) {
  for (const int world_size : {4, 64, 300}) {
    const RunResult result = deadlock(world_size);
    const RunResult again = run_result_from_text(to_file_text(result));
    EXPECT_EQ(to_string(again), to_string(result));
    EXPECT_EQ(again.report.blocked.size(), result.report.blocked.size());
    EXPECT_EQ(again.report.timeline.lanes.size(), result.report.timeline.lanes.size());
    EXPECT_EQ(to_file_text(again), to_file_text(result));
    EXPECT_EQ(again.specification, result.specification);
  }
}

TEST(RunFile, IsWrittenEvenIfTextsAreNotUtf8) {
  const RunResult again = run_result_from_text(to_file_text(deadlock(4,
                                                                     "a\xff"
                                                                     "b")));
  EXPECT_THAT(to_string(again.report.blocked.at(1).call), HasSubstr("\"a\xEF\xBF\xBD"
                                                                    "b\""));
}

TEST(RunFile, ContextsInTheSameCallShareAnEntryWhereThereAreMany) {
  EXPECT_EQ(to_json(deadlock(16))["blocked"].size(), 15U);
  const json to = to_json(run_body(500, [](Rank& rank) {
    if (rank.rank() != 7) rank.root()->barrier();
  }));
  ASSERT_EQ(to["blocked"].size(), 1U);
  EXPECT_EQ(to["blocked"][0]["rank"], 0);
  EXPECT_EQ(to["blocked"][0]["ranks"].size(), 499U);
  const RunResult again = run_result_from_json(to);
  EXPECT_EQ(again.report.blocked.size(), 499U);
  EXPECT_EQ(again.report.blocked.at(7).rank, 8);
}

// Each rank's barrier waits, on its stream, behind a send to the next rank.
TEST(RunFile, KeepsWhatCallsAreQueuedBehindWhereThereAreMany) {
  const Program program{.name = "test", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 0;
                          const int next = (rank.rank() + 1) % rank.world_size();
                          Work send = rank.root()->start_send(view_of(value), next);
                          rank.root()->barrier();
                          send.wait();
                        }};
  const RunResult result =
      run(program, {.program = "test",
                    .world_size = 100,
                    .options = {.execution = sim::ExecutionModel::stream_ordered}});
  const RunResult again = run_result_from_text(to_file_text(result));
  ASSERT_EQ(again.report.blocked.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(result.report.blocked[i].behind);
    EXPECT_EQ(again.report.blocked[i].behind, result.report.blocked[i].behind) << i;
  }
  EXPECT_EQ(to_string(again), to_string(result));
}

TEST(RunFile, KeepsWhenCallsWouldTimeOutWhereThereAreMany) {
  const RunResult result = run_body(80, [](Rank& rank) {
    if (rank.rank() == 7) return;
    rank.root()->barrier({.timeout = std::chrono::seconds(1 + rank.rank() % 2)});
  });
  ASSERT_EQ(result.report.blocked.size(), 79U);
  const RunResult again = run_result_from_json(to_json(result));
  ASSERT_EQ(again.report.blocked.size(), 79U);
  for (const sim::BlockedCall& call : again.report.blocked)
    EXPECT_EQ(call.would_time_out_after_ns, 1'000'000'000U * (1 + call.rank % 2)) << call.rank;
}

TEST(RunFile, FaultsAreReadBackWithWhatTheyLedTo) {
  RunSpecification specification{.program = "test", .world_size = 2};
  set_option(specification, "faults", "fault = [{kind = \"stall\", ranks = [1], operation = 0}]");
  const Program program{
      .name = "test", .description = "", .run = [](Rank& rank) { rank.root()->barrier(); }};
  const RunResult result = run(program, specification);
  const RunResult again = run_result_from_text(to_file_text(result));
  EXPECT_EQ(again.report.faults, result.report.faults);
  EXPECT_THAT(to_string(again), HasSubstr("Certainty  only because rank 1 stalled"));
  EXPECT_EQ(to_string(again), to_string(result));
}

TEST(RunFile, StaysSmallInALargeWorld) {
  const RunResult result = run_body(4'096, [](Rank& rank) {
    for (int i = 0; i < 100; ++i) rank.root()->barrier();
    if (rank.rank() != 1'000) rank.root()->barrier();
  });
  EXPECT_LT(to_file_text(result).size(), 500'000U);
}

TEST(RunFile, KeepsTheUnmetExpectation) {
  RunResult result = run_body(1, [](Rank&) {});
  result.unexpected = "the outcome is completed; expected: deadlock";
  EXPECT_EQ(run_result_from_text(to_file_text(result)).unexpected, result.unexpected);
}

TEST(RunFile, SaysIfTheTextIsCutOff) {
  const std::string text = to_file_text(deadlock(4));
  for (std::size_t size = 0; size + 2 < text.size(); size += 1 + text.size() / 200) {
    EXPECT_THAT(error_of(std::string_view{text}.substr(0, size)), HasSubstr("is cut off at byte"));
  }
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("in or after field "));
  EXPECT_THAT(error_of("no JSON"), HasSubstr("is not JSON at byte 2 of 7, before any field"));
}

TEST(RunFile, AForeignFileIsSaidToBe) {
  EXPECT_THAT(error_of("[]"), HasSubstr("is not a saved run: field format is missing"));
  EXPECT_THAT(error_of(R"({"format": "gangsim schedule"})"),
              HasSubstr("field format is \"gangsim schedule\"; must be \"gangsim run\""));
  EXPECT_THAT(error_of(R"({"format": "gangsim run", "version": 3})"),
              HasSubstr("field version is 3; must be 1 to 2"));
}

// Fields that a file may lack.
bool is_optional(std::string_view name) {
  for (const std::string_view optional :
       {"timeline", "certainty", "program", "backend", "context", "seed", "switches", "gangs",
        "rank_operations", "is_in_every_schedule"})
    if (name == optional) return true;
  return false;
}

TEST(RunFile, AFieldThatIsMissingOrOfAnotherTypeIsNamed) {
  const json good = to_json(deadlock(4));
  for (const auto& [name, value] : good.items()) {
    json other = good;
    other[name] = name == "version" ? json(7) : json(json::value_t::null);
    if (!is_optional(name) || name == "timeline" || name == "certainty") {
      EXPECT_THAT(error_of(other.dump(-1, ' ', false, json::error_handler_t::replace)),
                  HasSubstr("field " + name));
    }
    if (is_optional(name)) continue;
    other = good;
    other.erase(name);
    EXPECT_THAT(error_of(other.dump(-1, ' ', false, json::error_handler_t::replace)),
                HasSubstr("field " + name + " is missing"));
  }
  json part = good;
  part["counts"] = {{"rank_operations", 1}};
  EXPECT_THAT(error_of(part.dump(-1, ' ', false, json::error_handler_t::replace)),
              HasSubstr("field completed_operations is missing"));
}

TEST(RunFile, ANumberThatIsTooLargeIsNamed) {
  EXPECT_EQ(error_of("{\"seed\": 1e999}"), "has a number that is too large, in field seed");
  EXPECT_EQ(error_of("[-1e400]"), "has a number that is too large");
}

// Whatever it says, no stack overflows.
TEST(RunFile, ValuesAreNestedOnlySoDeeply) {
  const auto nested = [](std::size_t depth) {
    return "{\"format\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_THAT(error_of(nested(99)), HasSubstr("is not a saved run"));
  for (const std::size_t depth : {std::size_t{100}, std::size_t{1'000'000}})
    EXPECT_EQ(error_of(nested(depth)), "is nested more than 100 levels deep");
}

TEST(RunFile, AnErrorBeginsWithThePath) {
  const std::string path = temporary("cut.json");
  OutputFile{"file", path}.commit("{\"format\": \"gangsim run\", \"vers");
  EXPECT_THAT([&path] { read_run_file(path); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::StartsWith("run file " + path + ": is cut off at byte 31 of 31")));
  EXPECT_THAT([] { read_run_file("/absent/run.json"); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("/absent/run.json")));
}

// 80 ranks in two calls by turns; of the first call, one rank has a stack.
RunResult in_two_calls() {
  RunResult result;
  result.world_size = 80;
  result.report.outcome = sim::Outcome::deadlock;
  for (int rank = 0; rank < 80; ++rank)
    result.report.blocked.push_back(
        {.rank = rank, .call = {.kind = rank % 2 == 0 ? "barrier" : "broadcast"}});
  result.report.blocked[4].call_stack = {{.file = "train.py", .line = 7}};
  return result;
}

TEST(RunFile, OfManyContextsEachIsReadBackInTheOrderOfRanks) {
  const RunResult again = run_result_from_text(to_file_text(in_two_calls()));
  ASSERT_EQ(again.report.blocked.size(), 80U);
  for (int rank = 0; rank < 80; ++rank) {
    const sim::BlockedCall& call = again.report.blocked[static_cast<std::size_t>(rank)];
    EXPECT_EQ(call.rank, rank);
    EXPECT_EQ(call.call.kind, rank % 2 == 0 ? "barrier" : "broadcast");
    // One stack is kept for all that share an entry, with the first of them.
    EXPECT_EQ(call.call_stack.size(), rank == 0 ? 1U : 0U) << rank;
  }
}

TEST(RunFile, TwoContextsShareAnEntryToo) {
  RunResult result = in_two_calls();
  for (sim::BlockedCall& call : result.report.blocked)
    call.call.sequence = static_cast<std::uint64_t>(call.rank / 4);
  const RunResult again = run_result_from_text(to_file_text(result));
  ASSERT_EQ(again.report.blocked.size(), 80U);
  EXPECT_EQ(again.report.blocked.at(79).rank, 79);
}

TEST(RunFile, AsManyAsAreShownOneByOneAreKeptSo) {
  RunResult result = in_two_calls();
  result.report.blocked.resize(most_single_blocked);
  EXPECT_EQ(to_json(result)["blocked"].size(), most_single_blocked);
  result = in_two_calls();
  result.report.blocked.resize(most_single_blocked + 1);
  EXPECT_EQ(to_json(result)["blocked"].size(), 2U);
}

TEST(RunFile, TheRanksOfAnEntryBeginWithItsOwn) {
  json to = to_json(in_two_calls());
  to["blocked"][0]["ranks"][0] = 2;
  EXPECT_THAT(error_of(to.dump()), HasSubstr("field ranks does not begin with rank"));
}

TEST(RunFile, KeepsWhatIsSaidOfTheWholeRun) {
  RunResult result = run_body(1, [](Rank&) {});
  result.report.certainty = sim::Certainty{.schedules = sim::Schedules::every};
  result.report.divergence = "rank 3 did something else";
  result.report.virtual_time = std::chrono::milliseconds(12);
  result.contested_choices = 3;
  result.choices = {"whether rank 1 came first"};
  result.explore = "gangsim explore test";
  result.decisive = "rank 0 came first";
  result.is_in_every_schedule = true;
  result.world_size = 5;
  const RunResult again = run_result_from_text(to_file_text(result));
  EXPECT_EQ(again.report.certainty, result.report.certainty);
  EXPECT_EQ(again.report.divergence, result.report.divergence);
  EXPECT_EQ(again.report.virtual_time, result.report.virtual_time);
  EXPECT_EQ(again.contested_choices, 3U);
  EXPECT_EQ(again.choices, result.choices);
  EXPECT_EQ(again.explore, "gangsim explore test");
  EXPECT_TRUE(again.is_in_every_schedule);
  EXPECT_EQ(again.decisive, "rank 0 came first");
  EXPECT_EQ(again.world_size, 5);
}

TEST(RunFile, KeepsWhatIsNoFinding) {
  RunResult result;
  result.report.handled = {{.id = "timed_out", .message = "Rank 2 was late."}};
  result.report.crossed_calls = {
      {.most = {.ranks = {0, 1}}, .others = {.ranks = {2}}, .second = 4}};
  result.report.left_behind = {{.rank = 3, .by = sim::LeftBehindBy::ending}};
  result.real_time = {.stuck_ranks = {2}, .irreproducible = "rank 1 waited"};
  const RunResult read = run_result_from_text(to_file_text(result));
  EXPECT_EQ(read.real_time, result.real_time);
  EXPECT_FALSE(to_json(RunResult()).contains("real_time"));
  EXPECT_EQ(read.report.handled, result.report.handled);
  EXPECT_EQ(read.report.crossed_calls, result.report.crossed_calls);
  EXPECT_EQ(read.report.left_behind, result.report.left_behind);
}

TEST(RunFile, KeepsASingleContestedChoiceAndNone) {
  RunResult result = run_body(1, [](Rank&) {});
  EXPECT_FALSE(to_json(result).contains("contested_choices"));
  result.contested_choices = 1;
  result.explore = "gangsim explore test";
  EXPECT_EQ(run_result_from_text(to_file_text(result)).contested_choices, 1U);
}

TEST(RunFile, VersionsBeginWith1) {
  EXPECT_THAT(error_of(R"({"format": "gangsim run", "version": 0})"),
              HasSubstr("field version is 0; must be 1 to 2"));
}

TEST(ToJsonText, AValueIsOnOneLineIfItIsShort) {
  const auto lines_of = [](std::size_t length) {
    // With its quotes and brackets, the value is `length` characters long.
    const std::string text = to_json_text({{"value", json::array({std::string(length - 4, 'x')})}});
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(lines_of(300), 3);
  EXPECT_EQ(lines_of(301), 5);
}

TEST(ParseJson, AnErrorInTheLastByteIsNoCut) {
  EXPECT_THAT([] { parse_json("[1,]"); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("is not JSON at byte 4 of 4")));
}

TEST(RunFile, KeepsHowLongTheRunTookAndWhatItCounted) {
  RunResult result = run_body(2, [](Rank& rank) { rank.root()->barrier(); });
  result.report.wall_time = std::chrono::milliseconds(7);
  result.report.counts.switches = 11;
  result.report.counts.gangs = 3;
  const json to = to_json(result);
  EXPECT_EQ(to["switches"], 11);
  EXPECT_EQ(to["gangs"], 3);
  EXPECT_EQ(run_result_from_text(to_file_text(result)).report.wall_time, result.report.wall_time);
}

TEST(RunFile, SaysWhatRunsARank) {
  RunResult result;
  result.specification.options.context = sim::ContextKind::parallel;
  EXPECT_EQ(to_json(result)["context"], "parallel");
}

TEST(RunFile, AnErrorInTheTimelineSaysSo) {
  json to = to_json(deadlock(4));
  to["timeline"].erase("lanes");
  EXPECT_THAT(error_of(to.dump()), HasSubstr("field timeline: field lanes is missing"));
}

TEST(RunFile, AnEntryWithoutRanksIsRefused) {
  json to = to_json(in_two_calls());
  to["blocked"][0]["ranks"] = json::array();
  EXPECT_THAT(error_of(to.dump()), HasSubstr("field ranks does not begin with rank"));
}

TEST(ToJsonText, AValueDeepInsideIsOnOneLineHoweverLong) {
  const json value = {{"a", {{"b", {{"c", json::array({std::string(400, 'x'), 1})}}}}}};
  const std::string text = to_json_text(value);
  EXPECT_EQ(json::parse(text), value);
  EXPECT_EQ(std::ranges::count(text, '\n'), 7);
}

}  // namespace
}  // namespace gang::harness
