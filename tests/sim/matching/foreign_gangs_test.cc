#include "sim/matching/foreign_gangs.h"

#include <chrono>

#include "gang/error.h"
#include "gang/root_gang.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::ThrowsMessage;

// A backend of a simulated world, and how its ranks run.
struct Kind {
  SimulatedBackend backend;
  ContextKind context;
};

class ForeignGangsOn : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam().backend == SimulatedBackend::gloo && !gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
    if (GetParam().context == ContextKind::fiber && !has_fibers())
      GTEST_SKIP() << "runs without sanitizers, which do not follow fibers";
  }

  SimulationOptions options() const {
    return {.world_size = 2, .context = GetParam().context, .backend = GetParam().backend};
  }
};

TEST_P(ForeignGangsOn, AGangThatOutlivesItsRunRefusesToBeUsed) {
  std::vector<std::shared_ptr<Gang>> kept(2);
  const Report report = run(options(), [&kept](SimulatedRank& rank) {
    const auto child = rank.root()->split({.color = 0});
    child->barrier();
    kept[static_cast<std::size_t>(rank.rank())] = rank.rank() == 0 ? rank.root() : child;
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  std::int32_t value = 1;
  for (const std::shared_ptr<Gang>& gang : kept) {
    const auto refused = ThrowsMessage<InvalidOperation>(
        HasSubstr(gang->name() + " was used after the end of its simulation"));
    EXPECT_THAT([&] { gang->barrier(); }, refused);
    EXPECT_THAT([&] { gang->split({.color = 0}); }, refused);
    EXPECT_THAT([&] { gang->start_all_reduce(view_of(value), ReduceOperation::sum); }, refused);
    EXPECT_THAT([&] { gang->shrink(); }, refused);
    EXPECT_THAT([&] { gang->abort(); }, refused);
    gang->close();
    EXPECT_TRUE(gang->is_closed());
  }
}

TEST_P(ForeignGangsOn, AWorkThatOutlivesItsRunRefusesToBeWaitedFor) {
  std::int32_t value = 1;
  std::int32_t received = 0;
  std::vector<Work> kept;
  std::vector<std::shared_ptr<Gang>> gangs(2);
  const Report report = run(options(), [&](SimulatedRank& rank) {
    gangs[static_cast<std::size_t>(rank.rank())] = rank.root();
    if (rank.rank() == 1) return;
    kept.push_back(rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum));
    kept.push_back(rank.root()->start_recv(view_of(received), 1));
    rank.root()->split({.color = 0});  // no other rank arrives
  });
  EXPECT_FALSE(report.holds());
  for (Work& work : kept) {
    EXPECT_THROW(work.wait(), Error);
    EXPECT_THROW(work.wait(std::chrono::seconds(1)), Error);
  }
  kept.clear();
}

INSTANTIATE_TEST_SUITE_P(Backends, ForeignGangsOn,
                         testing::Values(Kind{SimulatedBackend::gloo, ContextKind::fiber},
                                         Kind{SimulatedBackend::gloo, ContextKind::thread},
                                         Kind{SimulatedBackend::gloo, ContextKind::parallel},
                                         Kind{SimulatedBackend::nccl, ContextKind::fiber},
                                         Kind{SimulatedBackend::nccl, ContextKind::parallel}),
                         [](const auto& tested) {
                           return std::string(tested.param.backend == SimulatedBackend::gloo
                                                  ? "gloo"
                                                  : "nccl") +
                                  "_" + std::string(to_string(tested.param.context));
                         });

}  // namespace
}  // namespace gang::sim
