#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(ExploreCommand, SaysWhatItHasCovered) {
  const std::string saved = temporary("held.toml");
  const Answer answer = ask({"explore", "data_parallel_step", "--world", "8", "--faults",
                             "production", "--schedules", "100", "--save", saved});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("SAMPLED  data_parallel_step, seeds 1 to 100\n"));
  EXPECT_THAT(answer.out, HasSubstr("  100 runs, "));
  EXPECT_THAT(answer.out, HasSubstr("\n  crash "));
  EXPECT_THROW(read_file("file", saved), InvalidArgument) << "nothing to save";
}

TEST(ExploreCommand, ProvesWithOneScheduleWhatCannotComeOtherwise) {
  const Answer answer = ask({"explore", "ring", "--world", "64"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("PROVED  ring, 1 schedule"));
}

TEST(ExploreCommand, SavesTheScheduleOfAFailureThatReplayRepeats) {
  for (const std::string program : {"first_come", "lost_wakeup", "lock_order"}) {
    const std::string saved = temporary("found.json");
    const Answer answer = ask({"explore", program, "--world", "4", "--save", saved});
    EXPECT_EQ(answer.status, 1) << answer.out << answer.err;
    EXPECT_THAT(answer.out, testing::StartsWith("FOUND  " + program + ", schedule "));
    EXPECT_THAT(answer.out, HasSubstr("Decisive: "));
    EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim replay " + saved));
    EXPECT_EQ(ask({"replay", saved}).status, 1);
  }
}

TEST(ExploreCommand, SavesARandomFailureAsAScenarioThatRunReplays) {
  const std::string saved = temporary("found.toml");
  const Answer answer =
      ask({"explore", "first_come", "--strategy", "random", "--schedules", "200", "--save", saved});
  EXPECT_EQ(answer.status, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("FOUND  first_come, seed "));
  EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim run " + saved));
  const Answer again = ask({"run", saved});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, testing::Not(HasSubstr("Unexpected")));
}

TEST(ExploreCommand, RefusesWhatItCannotDo) {
  EXPECT_EQ(ask({"explore", "ring", "--schedules", "0"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--jobs", "0"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--context", "parallel"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--budget", "0s"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--strategy", "exhaustive", "--faults", "light"}).status, 2);
  const Answer strategy = ask({"explore", "ring", "--strategy", "lucky"});
  EXPECT_EQ(strategy.status, 2);
  EXPECT_THAT(strategy.err, HasSubstr("'lucky'; must be one of: auto, exhaustive, random"));
  const Answer answer = ask({"explore", "ring", "--faults", "heavy"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("fault plan 'heavy' is unknown"));
}

}  // namespace
}  // namespace gang::harness
