#include "sim/report/call_json.h"

#include <nlohmann/json.hpp>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(CallJson, RoundTrips) {
  const CallText send{.kind = "send",
                      .payload = "f32[4]",
                      .direction = CallText::Direction::to,
                      .peer = any_rank,
                      .qualifiers = "tag 7"};
  const CallText reduction{.kind = "all_reduce", .sequence = 3, .payload = "sum f32[4]"};
  for (const CallText& call : {send, reduction, with_any_peer(send), CallText{}})
    EXPECT_EQ(call_text_from_json(to_json(call)), call);
  const GangLabel gang{"dp", "0,2"};
  EXPECT_EQ(gang_label_from_json(to_json(gang)), gang);
}

TEST(CallJson, HasNoEmptyFields) {
  EXPECT_EQ(to_json(CallText{.kind = "sleep"}), nlohmann::json({{"kind", "sleep"}}));
}

TEST(CallJson, AnErrorNamesTheField) {
  EXPECT_THAT([] { call_text_from_json({{"kind", "send"}, {"direction", "up"}}); },
              testing::ThrowsMessage<InvalidArgument>(
                  "field direction is 'up'; must be one of: none, to, from"));
  EXPECT_THAT([] { gang_label_from_json({{"name", "dp"}}); },
              testing::ThrowsMessage<InvalidArgument>("field members is missing"));
  EXPECT_THAT(
      [] { call_text_from_json({{"kind", 3}}); },
      testing::ThrowsMessage<InvalidArgument>("field kind: expected a string, found a number"));
}

}  // namespace
}  // namespace gang::sim
