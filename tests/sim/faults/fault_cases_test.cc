#include "sim/faults/fault_cases.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Look = std::function<SeenFault(const Fault&)>;

std::string text_of(const FaultPlan& drawn) {
  std::string text;
  for (const Fault& fault : drawn.faults) text += (text.empty() ? "" : "; ") + to_string(fault);
  return text;
}

// The cases, if runs show what `look` says of each of their faults.
std::vector<std::string> cases_of(const FaultPlan& plan, int world_size, const Look& look) {
  EXPECT_EQ(why_not_listed(plan), "");
  FaultCases cases(plan, world_size);
  std::vector<std::string> all;
  while (const std::optional<FaultPlan> drawn = cases.next()) {
    EXPECT_NO_THROW(check_drawn(*drawn));
    EXPECT_EQ(draw(*drawn, 1, world_size).faults, drawn->faults);
    all.push_back(text_of(*drawn));
    std::vector<SeenFault> seen;
    for (const Fault& fault : drawn->faults) seen.push_back(look(fault));
    cases.learn(seen);
    if (all.size() > 1000) break;
  }
  return all;
}

// Every rank makes `operations` operations, of all ranks.
Look after(std::uint64_t operations) {
  return [operations](const Fault& fault) {
    return SeenFault{.has_fired = fault.trigger.operation->least < operations};
  };
}

FaultTrigger at(std::uint64_t least, std::uint64_t most, FaultMoment moment = FaultMoment::before) {
  return {.operation = Between<std::uint64_t>(least, most), .moment = moment};
}

TEST(FaultCases, WhatIsFixedIsOneCase) {
  EXPECT_THAT(cases_of({.faults = {{.ranks = {1}, .trigger = at(2, 2)}}}, 4, after(9)),
              ElementsAre("crash of rank 1 before operation 2"));
  EXPECT_THAT(cases_of({}, 4, after(9)), ElementsAre(""));
}

TEST(FaultCases, EveryRankMayBeTheVictim) {
  EXPECT_THAT(
      cases_of({.faults = {{.trigger = at(0, 0)}}}, 3, after(9)),
      ElementsAre("crash of rank 0 before operation 0", "crash of rank 1 before operation 0",
                  "crash of rank 2 before operation 0"));
  EXPECT_THAT(
      cases_of({.faults = {{.random_ranks = 2, .trigger = at(0, 0)}}}, 3, after(9)),
      ElementsAre("crash of ranks 0-1 before operation 0", "crash of ranks 0,2 before operation 0",
                  "crash of ranks 1-2 before operation 0"));
  EXPECT_THAT(
      cases_of({.faults = {{.random_nodes = 1, .trigger = at(0, 0)}}, .ranks_per_node = 2}, 3,
               after(9)),
      ElementsAre("crash of ranks 0-1 before operation 0", "crash of rank 2 before operation 0"));
}

TEST(FaultCases, WhatMayStayAwayDoesSoFirst) {
  EXPECT_THAT(
      cases_of({.faults = {{.ranks = {0}, .chance = 0.1, .trigger = at(0, 0)}}}, 2, after(9)),
      ElementsAre("", "crash of rank 0 before operation 0"));
  EXPECT_THAT(cases_of({.faults = {{.ranks = {0}, .chance = 0, .trigger = at(0, 0)}}}, 2, after(9)),
              ElementsAre(""));
}

// The third, which never happens, shows that there is none further on.
TEST(FaultCases, OperationsAreCountedUpForAsLongAsThereAreSoMany) {
  EXPECT_THAT(
      cases_of({.faults = {{.ranks = {0}, .trigger = at(0, 1000)}}}, 2, after(2)),
      ElementsAre("crash of rank 0 before operation 0", "crash of rank 0 before operation 1",
                  "crash of rank 0 before operation 2"));
}

TEST(FaultCases, AnyWitnessOfADeathInsideMayGetTheError) {
  const Look look = [](const Fault& fault) {
    return SeenFault{.has_fired = true,
                     .witnesses = fault.trigger.moment == FaultMoment::inside
                                      ? std::vector<int>{1, 2}
                                      : std::vector<int>{}};
  };
  const FaultPlan plan{
      .faults = {{.ranks = {0}, .trigger = at(4, 4, FaultMoment::any), .notice = Duration(1s)}}};
  EXPECT_THAT(cases_of(plan, 3, look),
              ElementsAre("crash of rank 0 before operation 4, noticed after 1 s",
                          "crash of rank 0 inside operation 4, noticed after 1 s, its operation "
                          "completes",
                          "crash of rank 0 inside operation 4, noticed after 1 s, error at rank 1",
                          "crash of rank 0 inside operation 4, noticed after 1 s, error at rank 2",
                          "crash of rank 0 inside operation 4, noticed after 1 s, error at ranks "
                          "1-2",
                          "crash of rank 0 after operation 4, noticed after 1 s"));
}

TEST(FaultCases, WhoGetsTheErrorStaysAsPlanned) {
  const Look look = [](const Fault&) { return SeenFault{.has_fired = true, .witnesses = {1, 2}}; };
  const FaultPlan plan{.faults = {{.ranks = {0},
                                   .trigger = at(4, 4, FaultMoment::inside),
                                   .notice = Duration(1s),
                                   .error_at = {{2}}}}};
  EXPECT_THAT(
      cases_of(plan, 3, look),
      ElementsAre("crash of rank 0 inside operation 4, noticed after 1 s, error at rank 2"));
}

TEST(FaultCases, SeveralFaultsComeAboutInEveryCombination) {
  const FaultPlan plan{
      .faults = {
          {.ranks = {0}, .trigger = at(0, 9)},
          {.kind = FaultKind::watchdog_abort, .ranks = {1}, .chance = 0.5, .trigger = at(0, 1)}}};
  const std::vector<std::string> all = cases_of(plan, 2, after(2));
  EXPECT_EQ(all.size(), 9U);  // 3 places of the crash; none or 2 of the abort
  EXPECT_EQ(all.front(), "crash of rank 0 before operation 0");
  EXPECT_EQ(all.back(),
            "crash of rank 0 before operation 2; watchdog_abort of rank 1 before operation 1");
}

TEST(FaultCases, WhatIsLeftToChanceCannotBeListed) {
  const auto why = [](const Fault& fault) { return why_not_listed(FaultPlan{.faults = {fault}}); };
  EXPECT_THAT(why_not_listed({.selection = FaultSelection::picked}), HasSubstr("picked"));
  EXPECT_EQ(why({.trigger = {.probability = 0.5}}), "fault 1, crash, happens with a probability");
  EXPECT_THAT(why({.trigger = {.while_rank = 1}}), HasSubstr("another rank"));
  EXPECT_THAT(why({.kind = FaultKind::drop_message}), HasSubstr("messages"));
  EXPECT_THAT(why({.kind = FaultKind::corrupt_result}), Not(IsEmpty()));
  EXPECT_THAT(why({.notice = Between<Duration>(Duration(1s), Duration(2s))}), HasSubstr("range"));
  EXPECT_THAT(why({.kind = FaultKind::slow, .delay = Duration(1s)}), IsEmpty());
}

}  // namespace
}  // namespace gang::sim
