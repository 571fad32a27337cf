#include "sim/report/certainty.h"

#include <nlohmann/json.hpp>

#include "sim/report/report.h"
#include "sim/report/report_json.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr Schedules every = Schedules::every;

TEST(CertaintyText, SaysInWhichSchedules) {
  EXPECT_EQ(to_string(Certainty{.schedules = every}),
            "every schedule: the run made no scheduling choice");
  EXPECT_EQ(to_string(Certainty{.schedules = every, .is_uncontested = true}),
            "every schedule: the run made no contested choice");
  EXPECT_EQ(to_string(Certainty{}), "seen in this schedule: another may avoid it");
  EXPECT_EQ(to_string(Certainty{.is_avoided = true}), "seen in this schedule: another avoids it");
}

TEST(CertaintyText, NamesWhatIsOpen) {
  EXPECT_EQ(to_string(Certainty{.schedules = every, .sends = Dependence::open}),
            "every schedule with rendezvous sends: the run made no scheduling choice");
  EXPECT_EQ(
      to_string(Certainty{.schedules = every, .sends = Dependence::open, .buffered_bytes = 3}),
      "every schedule with 3 bytes of buffer: the run made no scheduling choice");
  EXPECT_EQ(to_string(Certainty{.streams = Dependence::open}),
            "seen in this schedule under stream order: another may avoid it");
  EXPECT_EQ(to_string(Certainty{.schedules = every, .resident_kernels = 1}),
            "every schedule on devices that run 1 communicator kernel at a time: the run made no "
            "scheduling choice");
}

TEST(CertaintyText, SaysWhatAnotherRunHasDecided) {
  EXPECT_EQ(
      to_string(Certainty{.schedules = every, .sends = Dependence::needed}),
      "every schedule, but only with rendezvous sends: with buffered sends the run completes");
  EXPECT_EQ(to_string(Certainty{.schedules = every, .streams = Dependence::needed}),
            "every schedule, but only under stream order: without streams the run completes");
  EXPECT_EQ(to_string(Certainty{.schedules = every, .sends = Dependence::not_needed}),
            "every schedule with rendezvous sends: it happens with buffered sends too");
  EXPECT_EQ(
      to_string(Certainty{
          .schedules = every, .sends = Dependence::not_needed, .otherwise = "unreceived_message"}),
      "every schedule with rendezvous sends: with buffered sends the run ends with "
      "unreceived_message");
}

TEST(CertaintyText, SaysWhetherFaultsAreTheCause) {
  std::vector<FiredFault> faults = {{.description = "rank 1 stalled"}};
  EXPECT_EQ(to_string(Certainty{.faults = Dependence::open}, faults),
            "seen with the injected faults; no run without them was made");
  EXPECT_EQ(to_string(Certainty{.faults = Dependence::needed}, faults),
            "only because rank 1 stalled: without that fault the run completes");
  EXPECT_EQ(to_string(Certainty{.faults = Dependence::not_needed}, faults),
            "also without the injected faults: they are not the cause");
  EXPECT_EQ(to_string(Certainty{.faults = Dependence::not_needed, .otherwise = "timed_out"}),
            "seen with the injected faults; without them the run ends with timed_out");
  faults.resize(5, {.description = "another"});
  EXPECT_EQ(to_string(Certainty{.faults = Dependence::needed}, faults),
            "only because rank 1 stalled; another; another; and 2 more faults: without the faults "
            "the run completes");
}

TEST(CertaintyJson, RoundTripsAndHasItsText) {
  const Certainty full{.schedules = every,
                       .sends = Dependence::not_needed,
                       .buffered_bytes = 64,
                       .streams = Dependence::open,
                       .resident_kernels = 2,
                       .faults = Dependence::none,
                       .otherwise = "timed_out"};
  const Certainty uncontested{.schedules = every, .is_uncontested = true};
  const Certainty avoided{.is_avoided = true};
  for (const Certainty& certainty : {full, uncontested, avoided, Certainty{}}) {
    const nlohmann::json json = to_json(certainty, {});
    EXPECT_EQ(certainty_from_json(json), certainty);
    EXPECT_EQ(json["text"], to_string(certainty));
  }
}

TEST(CertaintyJson, AnUnlimitedBufferIsAWord) {
  const Certainty unlimited{.sends = Dependence::open, .buffered_bytes = unlimited_bytes};
  nlohmann::json json = to_json(unlimited, {});
  EXPECT_EQ(json["buffered_bytes"], "unlimited");
  EXPECT_EQ(certainty_from_json(json), unlimited);
  EXPECT_THAT(to_string(unlimited), testing::HasSubstr(" with unlimited buffers: "));
  json["buffered_bytes"] = "much";
  EXPECT_THAT([&json] { certainty_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>(
                  "field buffered_bytes is \"much\"; must be a number or \"unlimited\""));
}

TEST(CertaintyJson, AnErrorNamesTheField) {
  nlohmann::json json = to_json(Certainty{}, {});
  json["faults"] = "perhaps";
  EXPECT_THAT([&json] { certainty_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>(
                  "field faults is 'perhaps'; must be one of: none, open, needed, not_needed"));
}

}  // namespace
}  // namespace gang::sim
