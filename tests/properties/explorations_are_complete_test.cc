#include "properties/explorations_are_complete.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// Explores, but hands on only what `hands_on` says of the runs, numbered from 0.
Explore choosy(std::function<int(int)> hands_on) {
  return [hands_on](const sim::SimulationOptions& options, const sim::RunAgain& again,
                    const sim::ScheduleRan& ran) {
    int number = 0;
    return sim::run_every_schedule(options, again, [&](const sim::ExploredRun& run) {
      bool goes_on = true;
      for (int i = hands_on(number++); i > 0; --i) goes_on = ran(run) && goes_on;
      return goes_on;
    });
  };
}

constexpr const char* laws_that_catch_it[] = {"every_interleaving_is_like_one_run",
                                              "faults_are_choices_like_others",
                                              "buffers_leave_the_same_choices",
                                              "random_schedules_end_no_otherwise",
                                              "random_schedules_with_a_fault_end_no_otherwise",
                                              "random_schedules_with_buffers_end_no_otherwise"};

TEST(ExplorationsAreComplete, OnTheSimulator) { expect_hold(explorations_are_complete(), 4000); }

TEST(ExplorationsAreComplete, AClassThatIsSkippedIsCaught) {
  const auto laws = explorations_are_complete(choosy([](int number) { return number != 1; }));
  for (const char* law : laws_that_catch_it) expect_caught(laws, law);
}

TEST(ExplorationsAreComplete, AClassThatIsRepeatedIsCaught) {
  const auto laws =
      explorations_are_complete(choosy([](int number) { return number == 1 ? 2 : 1; }));
  for (const char* law : laws_that_catch_it) expect_caught(laws, law);
}

TEST(ExplorationsAreComplete, AProofFromTheFirstRunIsCaught) {
  const auto laws = explorations_are_complete(choosy([](int number) { return number == 0; }));
  for (const char* law : laws_that_catch_it) expect_caught(laws, law);
}

}  // namespace
}  // namespace gang::properties
