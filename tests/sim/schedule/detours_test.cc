#include "sim/schedule/detours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/guide.h"
#include "tests/sim/schedule/no_knowledge.h"

namespace gang::sim {
namespace {

using testing::IsEmpty;

// What the contexts of a program do: a step each.
using Steps = std::vector<std::vector<Access>>;

Access lock(StepKey object, std::uint32_t line = 0) {
  return {.kind = AccessKind::lock,
          .mode = AccessMode::write,
          .object = object,
          .site = CallSite::at("train.cc", line)};
}

// Runs `steps` once, as `guide` says.
void run_steps(const Steps& steps, Guide& guide) {
  guide.begin_run(static_cast<int>(steps.size()));
  std::vector<std::size_t> done(steps.size(), 0);
  RunnableSet runnable;
  for (TaskId task = 0; task < steps.size(); ++task) runnable.insert(task);
  for (TaskId task = no_task; !runnable.empty();) {
    task = guide.choose(runnable, task);
    guide.access(steps[task][done[task]]);
    if (++done[task] == steps[task].size()) runnable.remove(task);
  }
}

std::vector<Detour> run_with_detours(const Steps& steps, std::vector<Detour> detours,
                                     std::vector<Detour>* left = nullptr) {
  Guide guide;
  auto detour_sampler = make_detour_sampler(std::move(detours), guide.log());
  const DetourSampler& made = *detour_sampler;
  guide.sample(std::move(detour_sampler), test::no_knowledge);
  run_steps(steps, guide);
  if (left != nullptr) *left = made.left();
  return detours_of(guide.log());
}

const Steps two_by_two = {{lock(1, 10), lock(1, 11)}, {lock(1, 20), lock(1, 21)}};

TEST(Detours, ARunByItselfHasNone) { EXPECT_THAT(run_with_detours(two_by_two, {}), IsEmpty()); }

TEST(Detours, AreMadeWhereTheyAreNamed) {
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 1, .place = "train.cc:10"}, "rank 1"}};
  EXPECT_EQ(run_with_detours(two_by_two, wanted), wanted);
  const std::vector<Detour> first = {{{}, "rank 1"}};
  EXPECT_EQ(run_with_detours(two_by_two, first), first);
}

TEST(Detours, SurviveFurtherStepsOfAnotherKind) {
  Steps longer = two_by_two;
  longer[0].insert(longer[0].begin(), 3, {.kind = AccessKind::call, .object = 5});
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 1}, "rank 1"}};
  EXPECT_EQ(run_with_detours(longer, wanted), wanted);
}

TEST(Detours, ThatAreNotMetAreLeft) {
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 7}, "rank 1"}};
  std::vector<Detour> left;
  EXPECT_THAT(run_with_detours(two_by_two, wanted, &left), IsEmpty());
  EXPECT_EQ(left, wanted);
}

TEST(Detours, NameTheThreadsOfARank) {
  Guide guide;
  guide.begin(Beginning{}, test::no_knowledge);
  guide.begin_run(2);
  RunnableSet runnable;
  runnable.insert(0);
  guide.choose(runnable, no_task);
  guide.started(2, "loader");
  guide.started(3, "loader");
  const auto detour_sampler = make_detour_sampler(
      {{{.context = "rank 0", .did = "step", .number = 1}, "'loader' 2 of rank 0"}}, guide.log());
  detour_sampler->note_step({0, guide.log().contexts[0], {}});
  const std::uint64_t enabled = 0b1101;
  EXPECT_EQ(detour_sampler->choose(ContextBits({&enabled, 1})), 3u);
}

TEST(Detours, AreSaidInWords) {
  EXPECT_EQ(to_string(Detour{{}, "rank 1"}), "rank 1 runs first");
  EXPECT_EQ(
      to_string(Detour{{.context = "rank 0", .did = "lock", .number = 2, .place = "train.cc:31"},
                       "'loader' of rank 0"}),
      "after lock 2 of rank 0 (train.cc:31), 'loader' of rank 0 runs");
}

TEST(Detours, AreMadeOnce) {
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 1, .place = "train.cc:10"}, "rank 1"}};
  std::vector<Detour> left;
  run_with_detours(two_by_two, wanted, &left);
  EXPECT_THAT(left, IsEmpty());
}

TEST(Detours, NameStepsByWhatTheyDid) {
  for (const auto& [kind, did] :
       {std::pair{AccessKind::message, "send"}, std::pair{AccessKind::lock, "lock"},
        std::pair{AccessKind::try_lock, "lock"}, std::pair{AccessKind::unlock, "lock"},
        std::pair{AccessKind::wait, "condition"}, std::pair{AccessKind::notification, "condition"},
        std::pair{AccessKind::look, "test"}, std::pair{AccessKind::key, "store"},
        std::pair{AccessKind::call, "call"}}) {
    const Access access{.kind = kind, .mode = AccessMode::write, .object = 1};
    const std::vector<Detour> wanted = {{{.context = "rank 0", .did = did, .number = 1}, "rank 1"}};
    EXPECT_EQ(run_with_detours({{access, access}, {access}}, wanted), wanted) << did;
  }
}

// Two ranks start a loader each; that of rank 0 starts a reader.
TEST(Detours, NameAThreadByTheRankThatItBelongsTo) {
  Guide guide;
  guide.begin(Beginning{}, test::no_knowledge);
  guide.begin_run(2);
  const auto in_step_of = [&guide](TaskId task) {
    RunnableSet runnable;
    runnable.insert(task);
    guide.choose(runnable, no_task);
  };
  in_step_of(0);
  guide.started(2, "loader");
  in_step_of(1);
  guide.started(3, "loader");
  in_step_of(2);
  guide.started(4, "reader");
  const std::uint64_t enabled = 0b11101;
  for (const auto& [name, task] :
       {std::pair{"'loader' of rank 1", TaskId{3}}, std::pair{"'loader' of rank 0", TaskId{2}},
        std::pair{"'reader' of rank 0", TaskId{4}}})
    EXPECT_EQ(make_detour_sampler({{{}, name}}, guide.log())->choose(ContextBits({&enabled, 1})),
              task)
        << name;
}

TEST(Detours, NameAPlaceWhereItIsKnown) {
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 1}, "rank 1"}};
  const auto place_of = [&wanted](const Steps& steps) {
    const std::vector<Detour> made = run_with_detours(steps, wanted);
    return made.empty() ? "no detour" : made[0].after.place;
  };
  EXPECT_EQ(place_of(two_by_two), "train.cc:10");
  EXPECT_EQ(place_of({{lock(1), lock(1)}, {lock(1), lock(1)}}), "");
}

TEST(Detours, NameTheWayOfAPick) {
  const Access ways[] = {lock(71), lock(72), lock(73)};
  const auto run = [&ways](Guide& guide) {
    guide.begin_run(1);
    RunnableSet runnable;
    runnable.insert(0);
    guide.choose(runnable, no_task);
    guide.access(lock(1, 10));
    return guide.pick(ways);
  };
  const std::vector<Detour> wanted = {
      {{.context = "rank 0", .did = "lock", .number = 1, .place = "train.cc:10"},
       "ready kernel 3"}};
  Guide guide;
  auto sampler = make_detour_sampler(wanted, guide.log());
  const DetourSampler& made = *sampler;
  guide.sample(std::move(sampler), test::no_knowledge);
  EXPECT_EQ(run(guide), 2U);
  EXPECT_THAT(made.left(), IsEmpty());
  EXPECT_EQ(detours_of(guide.log()), wanted);
}

}  // namespace
}  // namespace gang::sim
