#include "sim/schedule/sampler.h"

#include <cmath>
#include <memory>
#include <vector>

#include "sim/schedule/guide.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr int sections = 16;

// A writer counts to 16; a checker looks as often as `at` says. Fails if each look finds what is in
// `at`, for which some steps of the two have to come in one order.
RankProgram fails_if_looks_find(std::vector<int> at) {
  return [at = std::move(at)](SimulatedRank& rank) {
    Runtime& runtime = rank.runtime();
    const auto mutex = runtime.make_mutex();
    int written = 0;
    std::vector<int> found;
    const auto writer = runtime.start_thread("writer", [&] {
      for (int i = 0; i < sections; ++i) {
        const std::scoped_lock lock(*mutex);
        ++written;
      }
    });
    const auto checker = runtime.start_thread("checker", [&] {
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::scoped_lock lock(*mutex);
        found.push_back(written);
      }
    });
    writer->join();
    checker->join();
    if (found == at) throw std::runtime_error("found");
  };
}

class Sampled {
 public:
  explicit Sampled(RankProgram program) : program_(std::move(program)) {
    const KnownContests nothing;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      run_with(make_pct_sampler(seed, 1, nothing), nothing);
      known_.learn(guide_->log());
    }
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      run_with(make_pct_sampler(seed, 1, known_), known_);
      known_.measure(guide_->log());
    }
  }

  const KnownContests& known() const noexcept { return known_; }

  int found_by_pct(int depth, int runs) {
    int found = 0;
    for (int seed = 1; seed <= runs; ++seed)
      found += run_with(make_pct_sampler(static_cast<std::uint64_t>(seed), depth, known_), known_);
    return found;
  }
  int found_by_pos(int runs) {
    int found = 0;
    for (int seed = 1; seed <= runs; ++seed)
      found += run_with(make_pos_sampler(static_cast<std::uint64_t>(seed), known_), known_);
    return found;
  }
  int found_by_chance(int runs) const {
    int found = 0;
    for (int seed = 1; seed <= runs; ++seed)
      found += !run({.world_size = 1,
                     .seed = static_cast<std::uint64_t>(seed),
                     .scheduler = SchedulerKind::random},
                    program_)
                    .holds();
    return found;
  }

 private:
  bool run_with(std::unique_ptr<Sampler> sampler, const KnownContests& known) {
    guide_->sample(std::move(sampler), known.knowledge());
    return !run({.world_size = 1, .scheduler = SchedulerKind::guided, .guide = guide_}, program_)
                .holds();
  }

  RankProgram program_;
  std::shared_ptr<Guide> guide_ = std::make_shared<Guide>();
  KnownContests known_;
};

// What the bound promises of so many runs, less three standard deviations.
double promised(double bound, int runs) {
  return runs * bound - 3 * std::sqrt(runs * bound * (1 - bound));
}

TEST(PctSampler, FindsABugOfDepth2AtItsRateWhereChanceDoesNot) {
  Sampled sampled(fails_if_looks_find({sections - 1}));
  constexpr int runs = 3000;
  const double bound = pct_bound(2, sampled.known());
  EXPECT_EQ(sampled.known().contexts(), 3u);
  EXPECT_EQ(sampled.known().steps(), sections + 1u);
  EXPECT_GT(promised(bound, runs), 30);
  EXPECT_GE(sampled.found_by_pct(2, runs), promised(bound, runs));
  EXPECT_LE(sampled.found_by_chance(runs), 10);
}

TEST(PctSampler, FindsABugOfDepth3AtItsRateWhereChanceDoesNot) {
  Sampled sampled(fails_if_looks_find({sections - 3, sections - 3, sections}));
  constexpr int runs = 40'000;
  const double bound = pct_bound(3, sampled.known());
  EXPECT_GT(promised(bound, runs), 8);
  EXPECT_GE(sampled.found_by_pct(3, runs), promised(bound, runs));
  EXPECT_LE(sampled.found_by_chance(runs), 5);
}

TEST(PctSampler, ADepthThatIsTooSmallFindsNothing) {
  Sampled sampled(fails_if_looks_find({sections - 3, sections - 3, sections}));
  EXPECT_EQ(sampled.found_by_pct(1, 200), 0);
}

TEST(PosSampler, FindsMoreThanChance) {
  Sampled sampled(fails_if_looks_find({sections - 1}));
  constexpr int runs = 3000;
  EXPECT_GT(sampled.found_by_pos(runs), 2 * sampled.found_by_chance(runs));
}

}  // namespace
}  // namespace gang::sim
