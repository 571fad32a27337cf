#include "sim/report/timeline.h"

#include <nlohmann/json.hpp>

#include "sim/report/report_json.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Timeline some_timeline() {
  return {.gangs = {{"dp", "0,2"}},
          .calls = {{{.kind = "all_reduce", .payload = "sum f32[8]"}, "train.cc:41"}},
          .lanes = {{.ranks = {0, 2},
                     .context = "loader",
                     .slices = {{.sequence_number = 3,
                                 .first_step = 4,
                                 .last_step = 6,
                                 .start = TimePoint(10),
                                 .end = TimePoint(20),
                                 .status = SliceStatus::failed}},
                     .left_out = 7,
                     .end = LaneEnd::returned}},
          .lanes_left_out = 1,
          .last_step = 6,
          .end = TimePoint(20),
          .fault_steps = {4, 0}};
}

TEST(Timeline, MessagesAreNumberedApart) {
  for (const char* kind : {"send", "recv", "batch"})
    EXPECT_TRUE(is_message(TimelineCall{.call = {.kind = kind}, .location = {}})) << kind;
  for (const char* kind : {"all_reduce", "shrink", "join of loader", ""})
    EXPECT_FALSE(is_message(TimelineCall{.call = {.kind = kind}, .location = {}})) << kind;
}

TEST(Timeline, RoundTripsThroughJson) {
  EXPECT_EQ(timeline_from_json(to_json(some_timeline())), some_timeline());
  EXPECT_EQ(timeline_from_json(to_json(Timeline{})), Timeline{});
}

TEST(Timeline, AJsonErrorNamesTheField) {
  const nlohmann::json good = to_json(some_timeline());
  const auto expect_error = [&good](const char* path, const nlohmann::json& value,
                                    const char* text) {
    nlohmann::json json = good;
    json[nlohmann::json::json_pointer(path)] = value;
    EXPECT_THAT([&json] { timeline_from_json(json); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr(text)))
        << path;
  };
  expect_error("/calls", 3, "field calls: expected an array, found a number");
  expect_error("/lanes/0/ranks", nlohmann::json::array(),
               "field ranks: expected a rank, found none");
  expect_error("/lanes/0/end", "gone",
               "field end is 'gone'; must be one of: none, returned, failed");
  expect_error("/lanes/0/slices/0/call", 1, "field call is 1; must be less than 1");
  expect_error("/lanes/0/slices/0/steps", {1, 2, 3}, "field steps: expected 2 numbers, found 3");
  expect_error("/lanes/0/slices/0/status", "lost",
               "field status is 'lost'; must be one of: complete, failed, pending");
  nlohmann::json json = good;
  json["lanes"][0]["slices"][0].erase("ns");
  EXPECT_THAT([&json] { timeline_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("field ns is missing")));
}

}  // namespace
}  // namespace gang::sim
