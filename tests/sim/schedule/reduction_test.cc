#include "sim/schedule/reduction.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/collective.h"
#include "sim/schedule/replay_scheduler.h"

namespace gang::sim {
namespace {

// What the contexts of a program do: an access to one object in each step.
using Steps = std::vector<std::vector<Access>>;

Access write_to(StepKey object) { return {.mode = AccessMode::write, .object = object}; }
Access read(StepKey object) { return {.mode = AccessMode::read, .object = object}; }

// Runs `steps` once, as `guide` says.
void run_all_steps(const Steps& steps, Guide& guide) {
  guide.begin_run(static_cast<int>(steps.size()));
  std::vector<std::size_t> done(steps.size(), 0);
  RunnableSet runnable;
  for (TaskId task = 0; task < steps.size(); ++task) runnable.insert(task);
  TaskId task = no_task;
  try {
    while (!runnable.empty()) {
      task = guide.choose(runnable, task);
      guide.access(steps[task][done[task]]);
      if (++done[task] == steps[task].size()) runnable.remove(task);
    }
    // The end of the last step.
  } catch (const ScheduleDivergence&) {
  }
}

void learn(Reduction& reduction, const Guide& guide) {
  Reversals reversals;
  reduction.learn(guide, reversals);
}

// The number of runs that go to their ends, and of those that are cut short.
std::pair<std::uint64_t, std::uint64_t> explore(const Steps& steps, Reduction& reduction) {
  Guide guide;
  while (auto beginning = reduction.next()) {
    guide.begin(*std::move(beginning), reduction.known());
    run_all_steps(steps, guide);
    learn(reduction, guide);
    EXPECT_FALSE(reduction.has_diverged());
    EXPECT_FALSE(reduction.is_too_large());
  }
  return {reduction.classes(), reduction.cut()};
}

std::pair<std::uint64_t, std::uint64_t> explore(const Steps& steps) {
  Reduction reduction;
  return explore(steps, reduction);
}

std::uint64_t classes_of(const Steps& steps) { return explore(steps).first; }

TEST(Reduction, BegunForAnotherProgramIsAsNew) {
  const Steps three{{write_to(1)}, {write_to(1)}, {write_to(1)}};
  const Steps two{{write_to(1), read(2)}, {write_to(1)}, {read(2)}};
  Reduction reduction;
  EXPECT_EQ(explore(three, reduction).first, 6U);
  reduction.begin_another();
  EXPECT_EQ(reduction.classes() + reduction.cut() + reduction.contests(), 0U);
  EXPECT_FALSE(reduction.decisive());
  EXPECT_EQ(explore(two, reduction), explore(two));
  reduction.begin_another();
  ASSERT_TRUE(reduction.next());  // is never learned
  reduction.begin_another();
  EXPECT_EQ(explore(three, reduction), explore(three));
}

TEST(Reduction, StepsThatCommuteAreRunOnce) {
  EXPECT_EQ(classes_of({{write_to(1), write_to(1)}, {write_to(2), write_to(2)}, {write_to(3)}}), 1);
  EXPECT_EQ(classes_of({{read(1)}, {read(1)}, {read(1)}}), 1);
}

TEST(Reduction, StepsThatDoNotCommuteAreRunInEveryOrder) {
  EXPECT_EQ(classes_of({{write_to(1)}, {write_to(1)}}), 2);
  EXPECT_EQ(classes_of({{write_to(1)}, {write_to(1)}, {write_to(1)}}), 6);
  EXPECT_EQ(classes_of({{write_to(1), write_to(1)}, {write_to(1), write_to(1)}}), 6);
  EXPECT_EQ(classes_of({{write_to(1)}, {read(1)}, {read(1)}}), 4);
}

TEST(Reduction, IndependentContestsMultiply) {
  EXPECT_EQ(classes_of({{write_to(1)}, {write_to(1)}, {write_to(2)}, {write_to(2)}}), 4);
  EXPECT_EQ(classes_of({{write_to(1), write_to(2)}, {write_to(1)}, {write_to(2)}}), 4);
}

// The example of the paper's section 2: a writer and n readers of a variable each, which the writer
// then reads, too.
TEST(Reduction, ALongChainIsNotTakenForMany) {
  EXPECT_EQ(classes_of({{write_to(1)}, {write_to(2), read(1)}, {write_to(3), read(1)}}), 4);
}

// In which order the accesses come that do not commute.
using Class = std::set<std::pair<std::pair<TaskId, std::size_t>, std::pair<TaskId, std::size_t>>>;

// Adds the class of each interleaving that begins with `made`, a context for each step.
void add_classes(const Steps& steps, std::vector<TaskId>& made, std::set<Class>& classes) {
  std::vector<std::size_t> done(steps.size(), 0);
  std::vector<std::pair<TaskId, std::size_t>> order;
  for (const TaskId task : made) order.emplace_back(task, done[task]++);
  bool is_over = true;
  for (TaskId task = 0; task < steps.size(); ++task) {
    if (done[task] == steps[task].size()) continue;
    is_over = false;
    made.push_back(task);
    add_classes(steps, made, classes);
    made.pop_back();
  }
  if (!is_over) return;
  Class found;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Access& first = steps[order[i].first][order[i].second];
      const Access& second = steps[order[j].first][order[j].second];
      const bool is_write = first.mode == AccessMode::write || second.mode == AccessMode::write;
      if (first.object == second.object && is_write) found.emplace(order[i], order[j]);
    }
  classes.insert(std::move(found));
}

// Random programs of two to four contexts that make one to three steps each. Some runs are cut
// short, as what could follow has been seen; those are no classes.
TEST(Reduction, RunsEachClassToItsEndOnce) {
  std::minstd_rand random(1);
  const auto draw = [&random](unsigned most) { return random() / 7 % most; };
  std::uint64_t cut = 0;
  for (int i = 0; i < 300; ++i) {
    Steps steps(2 + draw(3));
    for (auto& of_task : steps)
      for (unsigned left = 1 + draw(steps.size() == 4 ? 2 : 3); left > 0; --left)
        of_task.push_back(draw(2) == 0 ? write_to(1 + draw(3)) : read(1 + draw(3)));
    std::set<Class> classes;
    std::vector<TaskId> made;
    add_classes(steps, made, classes);
    const auto [run, given_up] = explore(steps);
    EXPECT_EQ(run, classes.size()) << i;
    cut += given_up;
  }
  EXPECT_GT(cut, 0U);
}

TEST(Reduction, SaysWhatTheLastRunDecidedOtherwise) {
  Guide guide;
  Reduction reduction;
  const Steps steps{{{.mode = AccessMode::write, .rank = 0, .object = 1}},
                    {{.mode = AccessMode::write, .rank = 1, .object = 1}}};
  guide.begin(reduction.next().value(), reduction.known());
  EXPECT_FALSE(reduction.decisive());
  run_all_steps(steps, guide);
  learn(reduction, guide);
  const Beginning other = reduction.next().value();
  ASSERT_TRUE(reduction.decisive());
  EXPECT_EQ(reduction.decisive()->first.rank, 0);
  EXPECT_EQ(reduction.decisive()->second.rank, 1);
  EXPECT_NE(reduction.undecided(), other.choices);
}

TEST(Reduction, UsesTheMemoryOfAnotherBeginning) {
  Guide guide;
  Reduction reduction;
  Beginning beginning{.choices = {7, 8}, .sleeping = {{.context = 7}}, .branch = &guide};
  ASSERT_TRUE(reduction.next(beginning));
  EXPECT_TRUE(beginning.choices.empty() && beginning.sleeping.empty());
  EXPECT_EQ(beginning.branch, nullptr);
  Beginning former{.choices = {9}};
  guide.begin(Beginning(former), reduction.known());
  guide.begin(std::move(beginning), reduction.known());
  EXPECT_EQ(beginning.choices, former.choices);  // NOLINT(bugprone-use-after-move): what it gets
  run_all_steps({{write_to(1)}, {write_to(1)}}, guide);
  learn(reduction, guide);
  ASSERT_TRUE(reduction.next(beginning));
  EXPECT_EQ(beginning.choices.size(), 1U);
  ASSERT_EQ(beginning.sleeping.size(), 1U);
  EXPECT_NE(beginning.sleeping.front().context, beginning.choices.front());
}

TEST(Reduction, NoticesAProgramThatDoesNotRepeatItself) {
  Guide guide;
  Reduction reduction;
  guide.begin(reduction.next().value(), reduction.known());
  run_all_steps({{write_to(1)}, {write_to(1)}}, guide);
  learn(reduction, guide);
  guide.begin(reduction.next().value(), reduction.known());
  run_all_steps({{write_to(1)}, {write_to(1)}, {write_to(1)}}, guide);
  learn(reduction, guide);
  EXPECT_TRUE(reduction.has_diverged());
  EXPECT_FALSE(reduction.next());
}

TEST(Reduction, SaysWhereAProgramDoesNotRepeatItself) {
  // Another context can run at once; the one that is to run first is not there.
  for (const Steps& otherwise :
       {Steps{{write_to(1)}, {write_to(1)}, {write_to(1)}}, Steps{{write_to(1)}}}) {
    Guide guide;
    Reduction reduction;
    guide.begin(reduction.next().value(), reduction.known());
    run_all_steps({{write_to(1)}, {write_to(1)}}, guide);
    learn(reduction, guide);
    guide.begin(reduction.next().value(), reduction.known());
    run_all_steps(otherwise, guide);
    learn(reduction, guide);
    EXPECT_EQ(reduction.diverged_at(), std::optional<std::size_t>(0));
  }
}

// Explores a program that receives from any source at mailbox 9 only in runs where context 1 comes
// before context 0.
void explore_receiving_late(Reduction& reduction, const Steps& steps) {
  Guide guide;
  while (auto beginning = reduction.next()) {
    guide.begin(*std::move(beginning), reduction.known());
    run_all_steps(steps, guide);
    const StepLog& log = guide.log();
    const auto first = std::ranges::find_if(log.choices, [&log](const StepChoice& choice) {
      return choice.chosen == log.contexts[0] || choice.chosen == log.contexts[1];
    });
    if (first != log.choices.end() && first->chosen == log.contexts[1])
      guide.notes()->knowledge.any_receives.insert({9, any_tag});
    learn(reduction, guide);
  }
}

TEST(Reduction, BeginsAnewOnceMessagesOfSeveralTurnOutToBeContested) {
  const Access send{.kind = AccessKind::message, .mode = AccessMode::write, .object = 9};
  Reduction of_two;
  explore_receiving_late(of_two, {{write_to(1)}, {write_to(1)}, {send}, {send}});
  EXPECT_EQ(of_two.restarts(), 1u);
  EXPECT_EQ(of_two.classes(), 4u);
  Reduction of_one;
  explore_receiving_late(of_one, {{write_to(1)}, {write_to(1)}, {send}});
  EXPECT_EQ(of_one.restarts(), 0u);
  EXPECT_EQ(of_one.classes(), 2u);
}

// Two contexts write one object; a run erases the keys that `erased` says, if context 1 comes first
// or not.
Reduction explored_erasing(const std::function<std::vector<StepKey>(bool)>& erased) {
  Reduction reduction;
  Guide guide;
  while (auto beginning = reduction.next()) {
    guide.begin(*std::move(beginning), reduction.known());
    run_all_steps({{write_to(1)}, {write_to(1)}}, guide);
    for (const StepKey key : erased(guide.log().choices.front().task == 1)) guide.erased(key);
    learn(reduction, guide);
  }
  return reduction;
}

TEST(Reduction, BeginsAnewOnceAKeyIsErasedThatWasThereForGood) {
  using Keys = std::vector<StepKey>;
  const Reduction late = explored_erasing([](bool is_late) { return is_late ? Keys{7} : Keys{}; });
  EXPECT_EQ(late.restarts(), 1u);
  EXPECT_EQ(late.classes(), 2u);
  EXPECT_EQ(late.known().erased_keys, (boost::container::flat_set<StepKey>{7}));
  const Reduction at_once = explored_erasing([](bool) { return Keys{7}; });
  EXPECT_EQ(at_once.restarts(), 0u);
  EXPECT_EQ(at_once.classes(), 2u);
}

TEST(Reduction, NoticesAKeyThatIsAnotherOneInEachRun) {
  StepKey next = 0;
  const Reduction reduction = explored_erasing([&](bool) { return std::vector{++next}; });
  EXPECT_TRUE(reduction.has_diverged());
  EXPECT_FALSE(reduction.diverged_at());
}

// Context 0 makes a step in each of `ways` ways, then one to object 9 in the first way only;
// context 1 writes that object.
std::uint64_t classes_with_pick(std::size_t ways) {
  std::vector<Access> all;
  for (std::size_t way = 0; way < ways; ++way) all.push_back(write_to(100 + way));
  Reduction reduction;
  Guide guide;
  RunnableSet both;
  both.insert(0);
  both.insert(1);
  while (auto beginning = reduction.next()) {
    guide.begin(*std::move(beginning), reduction.known());
    guide.begin_run(2);
    std::size_t done[2] = {};
    RunnableSet runnable = both;
    TaskId task = no_task;
    std::size_t picked = 0;
    try {
      while (!runnable.empty()) {
        task = guide.choose(runnable, task);
        const bool is_first = done[task]++ == 0;
        if (task == 0 && is_first) picked = guide.pick(all);
        if (task == 1 || (!is_first && picked == 0)) guide.access(write_to(9));
        if (task == 1 || !is_first) runnable.remove(task);
      }
    } catch (const ScheduleDivergence&) {
    }
    learn(reduction, guide);
    EXPECT_FALSE(reduction.has_diverged());
  }
  return reduction.classes();
}

TEST(Reduction, TriesAllWaysOfAPickAndWhatFollowsEach) {
  for (std::size_t ways = 2; ways <= 5; ++ways) {
    // Two orders after the first way, one after each other one.
    EXPECT_EQ(classes_with_pick(ways), 2 + (ways - 1));
  }
}

}  // namespace
}  // namespace gang::sim
