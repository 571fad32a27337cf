#include "sim/report/trace.h"

#include <map>

#include <nlohmann/json.hpp>

#include "sim/report/report_json.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Trace trace_of(int world_size, const RankProgram& program) {
  return run(SimulationOptions{.world_size = world_size, .trace = Recording::on}, program).trace;
}

// Collectives, messages, started work, a further context and a sleep.
void every_kind_of_event(SimulatedRank& rank) {
  Gang& root = *rank.root();
  const int peer = 1 - rank.rank();
  std::int32_t value = rank.rank();
  Work work = rank.rank() == 0 ? root.start_send(view_of(value), peer)
                               : root.start_recv(view_of(value), peer);
  count_members(root);
  work.wait();
  const auto thread =
      rank.runtime().start_thread("loader", [&rank] { rank.runtime().sleep_for(5ms); });
  thread->join();
  root.barrier();
}

TEST(Trace, PrintsALinePerEventInVirtualTime) {
  const Trace trace = trace_of(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(1ms);
    rank.root()->barrier({}, CallSite::at("dir/train.cc", 41));
  });
  EXPECT_EQ(to_string(trace),
            "           0 ns  rank 0      task_start \n"
            "           0 ns  rank 0      post       root[0,1] barrier #0  train.cc:41\n"
            "           0 ns  rank 1      task_start \n"
            "     1000000 ns  rank 1      post       root[0,1] barrier #0  train.cc:41\n"
            "     1000000 ns  rank 0      complete   root[0,1] barrier #0  train.cc:41\n"
            "     1000000 ns  rank 1      complete   root[0,1] barrier #0  train.cc:41\n"
            "     1000000 ns  rank 1      task_end   \n"
            "     1000000 ns  rank 0      task_end   \n");
}

TEST(Trace, RoundTripsThroughJson) {
  const Trace trace = trace_of(2, every_kind_of_event);
  ASSERT_FALSE(trace.events.empty());
  EXPECT_EQ(trace_from_json(to_json(trace)), trace);
  EXPECT_EQ(trace_from_json(to_json(Trace{})), Trace{});
}

TEST(Trace, NamesEachCallSiteOnce) {
  const Trace trace = trace_of(2, [](SimulatedRank& rank) {
    for (int i = 0; i < 2; ++i)
      rank.root()->barrier({}, CallSite::in_function("dir/train.cc\0step", 41));
  });
  const SourceLocation site{"dir/train.cc", 41, "step"};
  EXPECT_THAT(trace.call_sites, testing::ElementsAre(site));
  EXPECT_EQ(location_of(trace, trace.events.at(0)), SourceLocation());
  EXPECT_EQ(location_of(trace, trace.events.at(1)), site);
  const nlohmann::json json = to_json(trace);
  EXPECT_FALSE(json["events"][0].contains("call_site"));
  EXPECT_EQ(json["events"][1]["call_site"], 0);
  EXPECT_EQ(json["events"][1]["location"], "train.cc:41");
}

TEST(Trace, AJsonErrorNamesTheField) {
  const nlohmann::json good = to_json(trace_of(1, [](SimulatedRank&) {}));
  const auto expect_error = [](const nlohmann::json& json, const std::string& text) {
    EXPECT_THAT([&json] { trace_from_json(json); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  nlohmann::json json = good;
  json["digest"] = "no number";
  expect_error(json, "field digest is 'no number'");
  json = good;
  json["events"][0]["call_site"] = 7;
  expect_error(json, "field call_site is 7; must be less than 0");
  json = good;
  json.erase("gangs");
  expect_error(json, "field gangs is missing");
  json = good;
  json["events"][0]["kind"] = "began";
  expect_error(json, "field kind is 'began'; must be one of: post, complete");
  json = good;
  json["events"][0].erase("time_ns");
  expect_error(json, "field time_ns is missing");
}

TEST(ChromeTrace, EveryBeginningHasItsEnd) {
  const nlohmann::json json =
      nlohmann::json::parse(to_chrome_trace(trace_of(2, every_kind_of_event)));
  std::map<std::string, int> open;  // by what pairs a begin with its end
  int pairs = 0;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "M" || phase == "i") continue;
    const bool is_async = phase == "b" || phase == "e";
    const std::string key =
        is_async ? event.at("cat").get<std::string>() + event.at("id").get<std::string>()
                 : std::to_string(event.at("tid").get<int>());
    if (phase == "b" || phase == "B") {
      EXPECT_EQ(++open[key], 1) << event;
      ++pairs;
    } else {
      EXPECT_EQ(--open[key], 0) << event;
    }
  }
  for (const auto& [key, count] : open) EXPECT_EQ(count, 0) << key;
  EXPECT_EQ(pairs, 4 + 2 * 3);  // contexts and operations
}

TEST(ChromeTrace, TimesAreMicroseconds) {
  const nlohmann::json json =
      nlohmann::json::parse(to_chrome_trace(trace_of(1, [](SimulatedRank& rank) {
        rank.runtime().sleep_for(1500 * std::chrono::nanoseconds(1));
      })));
  EXPECT_EQ(json["traceEvents"][1]["ph"], "E");
  EXPECT_EQ(json["traceEvents"][1]["ts"], 1.5);
}

TEST(ChromeTrace, WhatIsBlockedIsOpenToTheEnd) {
  const nlohmann::json json = nlohmann::json::parse(
      to_chrome_trace(run({.world_size = 2, .trace = Recording::on}, [](SimulatedRank& rank) {
                        rank.root()->barrier();
                        if (rank.rank() == 0) rank.root()->barrier();
                      }).trace));
  std::map<std::string, int> open;
  std::map<std::string, double> begins;
  double end = 0;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "b") {
      ++open[event.at("id")];
      begins[event.at("id")] = event.at("ts");
    }
    if (phase == "e") --open[event.at("id")];
    if (phase == "i") end = event.at("ts");
    if (phase == "b" && event["id"] == "0.0.barrier.1") {
      EXPECT_EQ(event["args"]["outcome"], "never ended");
    }
  }
  EXPECT_EQ(open["0.0.barrier.0"], 0);
  EXPECT_EQ(open["0.0.barrier.1"], 1);
  EXPECT_GT(end, begins["0.0.barrier.1"]) << "it would have no length";
  EXPECT_EQ(json["otherData"]["axis"], "order of events, as microseconds");
}

TEST(ChromeTrace, RanksAreNamed) {
  const std::string text = to_chrome_trace(trace_of(2, every_kind_of_event));
  for (const char* name : {R"("name":"rank 1")", R"("name":"loader")", "process_sort_index"})
    EXPECT_THAT(text, HasSubstr(name));
}

}  // namespace
}  // namespace gang::sim
