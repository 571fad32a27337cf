#include "sim/engine/context_ends.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct BarrierAtEnd {
  Gang& gang;
  ~BarrierAtEnd() { gang.barrier(); }
};

void barrier_that_must_not_throw(Gang& gang) noexcept { gang.barrier(); }

// Ranks 0 to 2 of 4 call `body`, which waits for all.
void expect_left_behind(LeftBehindBy by, const std::function<void(SimulatedRank&)>& body) {
  for (const ContextKind context : all_contexts()) {
    const Report report = run({.world_size = 4, .context = context}, [&body](SimulatedRank& rank) {
      if (rank.rank() < 3) body(rank);
    });
    EXPECT_EQ(report.outcome, Outcome::deadlock);
    EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
    EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1, 2));
    ASSERT_EQ(report.left_behind.size(), 3U);
    EXPECT_EQ(report.left_behind[1], (LeftBehind{.rank = 1, .by = by}));
    EXPECT_THAT(to_string(report), HasSubstr("Leaks"));
  }
}

TEST(ContextEnds, AContextBlockedInADestructorIsLeftBehind) {
  expect_left_behind(LeftBehindBy::unwinding,
                     [](SimulatedRank& rank) { const BarrierAtEnd at_end{*rank.root()}; });
}

TEST(ContextEnds, AContextBlockedInANoexceptFunctionIsLeftBehind) {
  expect_left_behind(LeftBehindBy::unwinding,
                     [](SimulatedRank& rank) { barrier_that_must_not_throw(*rank.root()); });
}

TEST(ContextEnds, AContextThatCatchesEverythingAndTriesAgainIsLeftBehind) {
  expect_left_behind(LeftBehindBy::swallowing, [](SimulatedRank& rank) {
    for (;;) {
      try {
        rank.root()->barrier();
        return;
      } catch (...) {  // NOLINT(bugprone-empty-catch)
      }
    }
  });
}

TEST(ContextEnds, AContextThatOnlyLocksIsLeftBehind) {
  for (const ContextKind context : all_contexts()) {
    const auto mutex_of = std::make_shared<std::vector<std::unique_ptr<RuntimeMutex>>>(1);
    const Report report =
        run({.world_size = 1, .context = context}, [mutex_of](SimulatedRank& rank) {
          (*mutex_of)[0] = rank.runtime().make_mutex();
          RuntimeMutex& mutex = *(*mutex_of)[0];
          mutex.lock();
          const auto thread = rank.runtime().start_thread("waiting", [&mutex] {
            for (;;) {  // for a flag that nobody sets
              try {
                mutex.lock();
                mutex.unlock();
              } catch (...) {  // NOLINT(bugprone-empty-catch)
              }
            }
          });
          float value = 0;
          rank.root()->recv(view_of(value), 0);
        });
    EXPECT_EQ(report.outcome, Outcome::deadlock);
    EXPECT_THAT(
        report.left_behind,
        ElementsAre(LeftBehind{.rank = 0, .context = "waiting", .by = LeftBehindBy::swallowing}));
    mutex_of->clear();
  }
}

TEST(ContextEnds, ABoundedLoopThatCatchesEverythingIsUnwound) {
  const Report report = run(2, [](SimulatedRank& rank) {
    for (int i = 0; i < 5000; ++i) {
      try {
        if (rank.rank() == 0) rank.root()->barrier();
      } catch (...) {  // NOLINT(bugprone-empty-catch)
      }
    }
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(report.left_behind, IsEmpty());
}

TEST(ContextEnds, BuffersOfWorksThatAreLeftBehindMayBeTouchedAgain) {
  std::vector<float> values(100'000, 1);
  const Report report = run(2, [&values](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_all_reduce(view(values), ReduceOperation::sum);
    barrier_that_must_not_throw(*rank.root());
  });
  EXPECT_EQ(report.left_behind.size(), 1U);
  values[50'000] = 2;
  EXPECT_EQ(values[50'000], 2);
}

}  // namespace
}  // namespace gang::sim
