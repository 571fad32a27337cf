#include "sim/further_runs/message_race.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The message race of a program that leaves its result in `result`, found by forced runs.
std::optional<Finding> race_of(const SimulationOptions& options, const RankProgram& program,
                               const std::int32_t& result) {
  const Report report = run(options, program);
  EXPECT_TRUE(report.holds()) << to_string(report);
  const std::int32_t usual = result;
  for (const RaceCandidate& candidate : report.race_candidates) {
    const Report forced = run(forcing_options(options, candidate), program);
    if (auto finding = message_race(candidate, forced, result != usual)) return finding;
  }
  return std::nullopt;
}

// Ranks 1 and 2 send their rank to rank 0.
void send_rank(SimulatedRank& rank) {
  std::int32_t value = rank.rank();
  rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("race.cc", 3));
}

TEST(MessageRace, AResultThatDependsOnTheSenderIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        std::int32_t other = 0;
        rank.root()->recv(view_of(result), any_rank, 0, {}, CallSite::at("race.cc", 5));
        rank.root()->recv(view_of(other));
      },
      result);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "message_race");
  EXPECT_THAT(finding->ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(finding->location, "race.cc:5");
  EXPECT_EQ(finding->message,
            "Rank 0 received from any source at race.cc:5 and took the message of rank 1, sent at "
            "race.cc:3.");
  EXPECT_EQ(finding->detail,
            "It could also take that of rank 2, sent at race.cc:3: in a run where it did, the "
            "outputs differ.");
}

TEST(MessageRace, AResultThatDoesNotIsNone) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        std::int32_t one = 0;
        std::int32_t other = 0;
        rank.root()->recv(view_of(one));
        rank.root()->recv(view_of(other));
        result = one + other;
      },
      result);
  EXPECT_FALSE(finding) << to_string(*finding);
}

TEST(MessageRace, AMessageThatComesAfterTheReceiveIsNone) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        std::int32_t other = 0;
        if (rank.rank() == 1) send_rank(rank);
        if (rank.rank() == 0) rank.root()->recv(view_of(result));
        rank.root()->barrier();
        if (rank.rank() == 2) send_rank(rank);
        if (rank.rank() == 0) rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_FALSE(finding) << to_string(*finding);
}

TEST(MessageRace, ADeadlockThatDependsOnTheSenderIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(result), 2);
      },
      result);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->detail, HasSubstr("the run ends with participant_missing"));
}

TEST(MessageRace, AMessageThatComesLaterButIndependentlyIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        std::int32_t other = 0;
        if (rank.rank() == 2) rank.runtime().sleep_for(1s);
        if (rank.rank() > 0) return send_rank(rank);
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_TRUE(finding);
}

}  // namespace
}  // namespace gang::sim
