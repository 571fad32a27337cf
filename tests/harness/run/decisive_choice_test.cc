#include "harness/run/decisive_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

sim::EverySchedule search_that_found() {
  return {.decisive = sim::Contest{}, .holds_otherwise = true};
}

TEST(DecisiveChoice, IsNoneWhereNothingElseCouldHaveCome) {
  EXPECT_EQ(decisive_choice_of(sim::EverySchedule{}), std::nullopt);
  EXPECT_EQ(to_text(std::nullopt), "");
}

TEST(DecisiveChoice, SaysWhatHappensOtherwise) {
  sim::EverySchedule every = search_that_found();
  EXPECT_EQ(otherwise_text(*decisive_choice_of(every)), "Decided the other way, the run holds.");
  every.holds_otherwise = false;
  EXPECT_EQ(otherwise_text(*decisive_choice_of(every)), "Decided the other way, it fails, too.");
  every.holds_otherwise.reset();
  EXPECT_EQ(otherwise_text(*decisive_choice_of(every)), "");
}

TEST(DecisiveChoice, ShowsBothWays) {
  sim::EverySchedule every = search_that_found();
  EXPECT_THAT(to_text(decisive_choice_of(every)), testing::EndsWith("the run holds.\n"));
  every.continuations = {{.deeds = {{"7", "calls"}}, .end = "a"}, {.end = "b"}};
  EXPECT_THAT(to_text(decisive_choice_of(every)), HasSubstr("holds.\n\n  rank  as found"));
}

TEST(DecisiveChoice, ComesBackFromJson) {
  sim::EverySchedule every = search_that_found();
  EXPECT_EQ(decisive_choice_from_json(to_json(*decisive_choice_of(every))),
            decisive_choice_of(every));
  every.holds_otherwise.reset();
  every.continuations = {{.deeds = {{"7", "calls"}}, .further = 3, .end = "a"}, {.end = "b"}};
  EXPECT_EQ(decisive_choice_from_json(to_json(*decisive_choice_of(every))),
            decisive_choice_of(every));
  EXPECT_THROW(decisive_choice_from_json({{"text", 3}}), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
