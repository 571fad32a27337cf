#include "harness/conductor/call_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr CallSite save = CallSite::in_function("train.py\0save", 7);
constexpr CallSite main_function = CallSite::in_function("train.py\0main", 20);

StackMessage::Thread thread_of(std::uint32_t id, std::string name) {
  return {.id = id, .name = std::move(name), .frames = {save}};
}

// Processes of one rank each, unless they have the same id.
class Processes {
 public:
  RankProcess& add(pid_t id, const std::vector<std::uint32_t>& threads) {
    RankProcess& added = *processes_.emplace_back(std::make_unique<RankProcess>());
    added.id = id;
    for (const std::uint32_t thread : threads)
      added.callers.emplace_back(std::make_unique<Caller>(Descriptor()))->hello.thread = thread;
    return added;
  }

  static void watch(RankProcess& process, std::vector<StackMessage::Thread> threads) {
    process.watcher = std::make_unique<Caller>(Descriptor());
    process.watcher->stack = StackMessage{std::move(threads)};
  }

  std::vector<std::string> threads_of(const RankProcess& process) const {
    std::vector<std::string> names;
    for (const auto& thread : watched_stack(process, processes_).threads)
      names.push_back(thread.name);
    return names;
  }

 private:
  std::vector<std::unique_ptr<RankProcess>> processes_;
};

TEST(WatchedStack, OfAProcessHasAllItsThreads) {
  Processes processes;
  RankProcess& first = processes.add(8, {11});
  const RankProcess& second = processes.add(9, {12});
  Processes::watch(first, {thread_of(11, "main"), thread_of(12, "loader"), thread_of(0, "c++")});
  EXPECT_THAT(processes.threads_of(first), ElementsAre("main", "loader", "c++"));
  EXPECT_THAT(processes.threads_of(second), IsEmpty());
}

// Which of the ranks has the watcher is chance.
TEST(WatchedStack, OfARankAmongOthersInOneProcessHasTheThreadsThatCallAsThisOne) {
  Processes processes;
  RankProcess& first = processes.add(8, {11});
  const RankProcess& second = processes.add(8, {12, 13});
  const RankProcess& third = processes.add(8, {0});
  Processes::watch(first, {thread_of(10, "main"), thread_of(11, "rank 0"), thread_of(12, "rank 1"),
                           thread_of(13, "saver"), thread_of(0, "c++")});
  EXPECT_THAT(processes.threads_of(first), ElementsAre("rank 0"));
  EXPECT_THAT(processes.threads_of(second), ElementsAre("rank 1", "saver"));
  EXPECT_THAT(processes.threads_of(third), IsEmpty());
}

TEST(WatchedStack, OfARanksOwnWatcherIsKeptWhereNoThreadIsKnownToCall) {
  Processes processes;
  RankProcess& first = processes.add(8, {11});
  RankProcess& second = processes.add(8, {12});
  Processes::watch(first, {thread_of(0, "first")});
  Processes::watch(second, {thread_of(0, "second")});
  EXPECT_THAT(processes.threads_of(first), ElementsAre("first"));
  EXPECT_THAT(processes.threads_of(second), ElementsAre("second"));
}

TEST(WatchedStack, OfAProcessThatNeverJoinedIsEmpty) {
  Processes processes;
  Processes::watch(processes.add(0, {}), {thread_of(1, "main")});
  EXPECT_THAT(processes.threads_of(processes.add(0, {})), IsEmpty());
}

TEST(AddStack, NamesThreadsWhereThereAreSeveral) {
  sim::BlockedCall blocked;
  add_stack({{{.id = 1, .name = "main", .frames = {save, main_function}}}}, blocked, false);
  EXPECT_THAT(blocked.call_stack, ElementsAre(SourceLocation{"train.py", 7, "save"},
                                              SourceLocation{"train.py", 20, "main"}));
  sim::BlockedCall other;
  add_stack({{thread_of(1, "main"), thread_of(2, "loader")}}, other, false);
  EXPECT_THAT(
      other.call_stack,
      ElementsAre(SourceLocation{.function = "main:"}, SourceLocation{"train.py", 7, "save"},
                  SourceLocation{.function = "loader:"}, SourceLocation{"train.py", 7, "save"}));
}

TEST(AddStack, SaysWhereARankIsThatIsOutsideOfCallsOrNowhere) {
  const StackMessage stack{{thread_of(1, "main")}};
  const SourceLocation elsewhere{"train.py", 3, ""};
  for (const auto& [known, is_outside, expected] :
       {std::tuple{elsewhere, false, 3U}, std::tuple{elsewhere, true, 7U},
        std::tuple{SourceLocation(), false, 7U}}) {
    sim::BlockedCall blocked;
    blocked.location = known;
    add_stack(stack, blocked, is_outside);
    EXPECT_EQ(blocked.location.line, expected);
    add_stack({}, blocked, is_outside);
    EXPECT_EQ(blocked.location.line, expected);
  }
}

}  // namespace
}  // namespace gang::harness
