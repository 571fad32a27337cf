#include "harness/run/real_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

const LongWait barrier_wait{
    .ranks = {1, 2, 3},
    .call = "barrier",
    .location = {.file = "/home/me/train.py", .line = 3, .function = "main"},
    .waited = 20'399ms,
    .timeout = 10s,
    .late_rank = 4,
    .late_location = {.file = "/home/me/train.py", .line = 5, .function = ""}};

const RealTime everything{.stuck_ranks = {0, 2},
                          .was_interrupted = true,
                          .irreproducible = "rank 0 waited for a file",
                          .long_waits = {barrier_wait, barrier_wait}};

TEST(LongWait, SaysWhoWaitedWhereForWhomAndHowLong) {
  EXPECT_EQ(to_string(barrier_wait),
            "Ranks 1-3 waited 20.3 s in barrier at train.py:3 for rank 4, which was outside of "
            "calls until it came to train.py:5; the timeout is 10 s. The clock of a simulated run "
            "stands meanwhile; a real one would have timed out.");
}

TEST(RealTime, OfAnOrdinaryRunNeedsNoAdvice) {
  EXPECT_THAT(advice_on({}), IsEmpty());
  EXPECT_EQ(to_json(RealTime{}), json::object());
  EXPECT_EQ(real_time_from_json(json::object()), RealTime{});
}

TEST(RealTime, StuckRanksMakeAVerdictProbable) {
  EXPECT_THAT(advice_on({.stuck_ranks = {2}}),
              ElementsAre(Advice{"Probable",
                                 "rank 2 is outside of any call and idle; nothing more is known; "
                                 "--stall-limit TIME waits longer"}));
  EXPECT_THAT(advice_on({.stuck_ranks = {1, 2, 3}}).front().text, StartsWith("ranks 1-3 are "));
}

// They need not have been idle.
TEST(RealTime, WhoeverInterruptsKnowsLess) {
  EXPECT_THAT(
      advice_on({.stuck_ranks = {2}, .was_interrupted = true}),
      ElementsAre(Advice{"Interrupted", "rank 2 is outside of any call, and might have gone on"}));
  EXPECT_THAT(advice_on({.was_interrupted = true}), IsEmpty());
}

TEST(RealTime, TellsTheFirstOfItsLongWaitsAndHowManyThereAre) {
  EXPECT_THAT(advice_on({.irreproducible = "rank 0 waited", .long_waits = {barrier_wait}}),
              ElementsAre(Advice{"Note", "not reproducible: rank 0 waited"},
                          Advice{"Suspect", to_string(barrier_wait)}));
  EXPECT_THAT(advice_on({.long_waits = {barrier_wait, barrier_wait}}),
              ElementsAre(Advice{"Suspect", to_string(barrier_wait) + " And 1 more such."}));
  EXPECT_THAT(advice_on({.long_waits = {barrier_wait, barrier_wait, barrier_wait}}),
              ElementsAre(Advice{"Suspect", to_string(barrier_wait) + " And 2 more such."}));
}

TEST(RealTime, IsReadBackAsItWasWritten) {
  EXPECT_EQ(real_time_from_json(to_json(everything)), everything);
  const RealTime one{.stuck_ranks = {1}};
  EXPECT_EQ(to_json(one), json({{"stuck_ranks", {1}}}));
  EXPECT_EQ(real_time_from_json(to_json(one)), one);
}

TEST(RealTime, IsWrittenAsValues) {
  const json wait = to_json(everything)["long_waits"][1];
  EXPECT_EQ(wait["ranks"], json({1, 2, 3}));
  EXPECT_EQ(wait["location"], "train.py:3");
  EXPECT_EQ(wait["call_site"]["file"], "/home/me/train.py");
  EXPECT_EQ(wait["waited_ns"], 20'399'000'000);
  EXPECT_EQ(wait["timeout_ns"], 10'000'000'000);
  EXPECT_EQ(wait["late_rank"], 4);
  EXPECT_EQ(wait["late_location"]["line"], 5);
}

TEST(RealTime, ErrorsNameTheField) {
  json saved = to_json(everything);
  saved["long_waits"][1]["timeout_ns"] = 1.5;
  try {
    real_time_from_json(saved);
    FAIL() << "half a nanosecond was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), StartsWith("long_waits[1]: field timeout_ns is 1.5; "));
  }
}

}  // namespace
}  // namespace gang::harness
