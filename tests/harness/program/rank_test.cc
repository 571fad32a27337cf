#include "harness/program/rank.h"

#include <set>

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/fault_file.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

TEST(Rank, IsSmall) { EXPECT_LE(sizeof(Rank), 64U); }

TEST(Rank, HasTheSameRandomStreamsOnEveryBackend) {
  const Program program{.name = "draw", .description = "", .run = [](Rank& rank) {
                          rank.output("drawn", rank.random_stream("data")());
                        }};
  const RunSpecification specification{.program = "draw", .world_size = 1, .options = {.seed = 5}};
  RunSpecification on_fake = specification;
  on_fake.backend = BackendKind::fake;
  EXPECT_EQ(run(program, specification).outputs.digest, run(program, on_fake).outputs.digest);
}

TEST(Rank, DrawsDifferentNumbersOnEveryRankAndForEveryName) {
  std::set<std::uint64_t> drawn;
  const Program program{.name = "draw", .description = "", .run = [&drawn](Rank& rank) {
                          drawn.insert(rank.random_stream("data")());
                          drawn.insert(rank.random_stream("noise")());
                        }};
  run(program, {.program = "draw", .world_size = 16});
  EXPECT_EQ(drawn.size(), 32U);
}

TEST(Rank, NotesAreKeptBesideTheResults) {
  const auto run_with = [](const std::string& note) {
    const Program program{.name = "note", .description = "", .run = [note](Rank& rank) {
                            if (note.empty() || rank.rank() != 1) return;
                            rank.note("not this");
                            rank.note(note);
                          }};
    return run(program, {.program = "note", .world_size = 3});
  };
  EXPECT_EQ(run_with("this").notes, (std::vector<std::string>{"", "this", ""}));
  EXPECT_TRUE(run_with("").notes.empty());
  EXPECT_EQ(run_with("this").outputs.digest, run_with("").outputs.digest);
}

TEST(Rank, KnowsWhereItIs) {
  const Program program{.name = "place", .description = "", .run = [](Rank& rank) {
                          if (rank.root()->rank() != rank.rank() || rank.world_size() != 4 ||
                              rank.root()->size() != 4) {
                            rank.wrong_result("The rank is lost.");
                          }
                          rank.runtime().sleep_for(std::chrono::seconds{1});
                        }};
  const RunResult result = run(program, {.program = "place", .world_size = 4});
  EXPECT_TRUE(result.holds());
  EXPECT_EQ(result.report.virtual_time, std::chrono::seconds{1});
}

TEST(Rank, RefusesAnOutputThatIsNotContiguous) {
  const Program program{.name = "strided", .description = "", .run = [](Rank& rank) {
                          std::vector<float> values(6);
                          std::int64_t shape[] = {3, 2};
                          std::int64_t strides[] = {1, 3};
                          DLTensor tensor{};
                          tensor.data = values.data();
                          tensor.device = {kDLCPU, 0};
                          tensor.ndim = 2;
                          tensor.dtype = {kDLFloat, 32, 1};
                          tensor.shape = shape;
                          tensor.strides = strides;
                          rank.output("transposed", TensorView::from_dlpack(tensor));
                        }};
  const RunResult result = run(program, {.program = "strided", .world_size = 1});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("is not contiguous"));
}

TEST(Rank, OnAnotherGangItIsTheSameIncarnation) {
  std::vector<std::pair<int, int>> seen;
  const Program program{.name = "again", .description = "", .run = [&seen](Rank& rank) {
                          const Rank on_the_same_gang{rank, rank.root()};
                          seen.emplace_back(rank.incarnation(), on_the_same_gang.incarnation());
                          try {
                            rank.root()->barrier();
                          } catch (const GangError&) {
                          }
                        }};
  run(program,
      {.program = "again",
       .world_size = 2,
       .faults = load_faults(R"(fault = [{kind = "restart", ranks = [1], delay = "1ms"}])")},
      {.settles = false});
  EXPECT_THAT(seen, testing::Contains(std::pair{1, 1}));
}

TEST(Rank, DrawsOtherNumbersWithAnotherSeed) {
  const auto drawn = [](std::uint64_t seed) {
    std::uint64_t number = 0;
    const Program program{.name = "draw", .description = "", .run = [&number](Rank& rank) {
                            number = rank.random_stream("data")();
                          }};
    run(program, {.program = "draw", .world_size = 1, .options = {.seed = seed}});
    return number;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Rank, OnAnotherGangItHasTheSameRuntimeAndSimulation) {
  for (const BackendKind backend : {BackendKind::sim, BackendKind::fake}) {
    const Program program{.name = "again", .description = "", .run = [](Rank& rank) {
                            Rank other{rank, rank.root()};
                            EXPECT_EQ(&other.runtime(), &rank.runtime());
                            EXPECT_EQ(other.simulated(), rank.simulated());
                          }};
    EXPECT_TRUE(run(program, {.program = "again", .world_size = 1, .backend = backend}).holds());
  }
}

TEST(Rank, HasASecondRootInSimulationOnly) {
  const auto with = [](BackendKind backend) {
    bool has_second = false;
    const Program program{.name = "roots", .description = "", .run = [&](Rank& rank) {
                            const auto second = rank.second_root();
                            has_second = second != nullptr;
                            if (!second) return;
                            EXPECT_NE(second, rank.root());
                            EXPECT_EQ(second->size(), rank.root()->size());
                            second->close();
                          }};
    EXPECT_TRUE(run(program, {.program = "roots", .world_size = 1, .backend = backend}).holds());
    return has_second;
  };
  EXPECT_TRUE(with(BackendKind::sim));
  EXPECT_FALSE(with(BackendKind::fake));
}

TEST(Rank, KnowsOfFaultsAndEndsThem) {
  std::vector<bool> fired;
  Duration slow{0};
  Duration afterwards{0};
  const Program program{.name = "slow", .description = "", .run = [&](Rank& rank) {
                          fired.push_back(rank.faults_have_fired());
                          rank.root()->barrier();
                          fired.push_back(rank.faults_have_fired());
                          const TimePoint middle = rank.runtime().now();
                          slow = middle - TimePoint{0};
                          rank.stop_faults();
                          rank.root()->barrier();
                          afterwards = rank.runtime().now() - middle;
                        }};
  run(program,
      {.program = "slow",
       .world_size = 1,
       .faults = load_faults(R"(fault = [{kind = "slow", delay = "1s"}])")},
      {.settles = false});
  EXPECT_THAT(fired, testing::ElementsAre(false, true));
  EXPECT_GE(slow, std::chrono::seconds(1));
  EXPECT_EQ(afterwards, Duration(0));
}

}  // namespace
}  // namespace gang::harness
