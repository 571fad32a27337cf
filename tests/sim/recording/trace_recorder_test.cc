#include "sim/recording/trace_recorder.h"

#include <functional>
#include <set>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::uint64_t digest_of(SimulationOptions options, const RankProgram& program) {
  options.world_size = 4;
  return run(options, program).trace.digest;
}

// Sums, started ones, a child, a broadcast, messages and sleeps; differs by rank.
void mixed_program(SimulatedRank& rank) {
  Gang& root = *rank.root();
  count_members(root);
  std::vector<float> large(100, 1.0F);
  Work work = root.start_all_reduce(view(large), ReduceOperation::max);
  rank.runtime().sleep_for(Duration(100 * (4 - rank.rank())));
  work.wait();
  const auto pair = root.split({.color = rank.rank() % 2, .key = -rank.rank()});
  pair->barrier();
  std::int32_t value = rank.rank();
  if (pair->rank() == 0)
    pair->send(view_of(value), 1);
  else
    pair->recv(view_of(value));
  root.broadcast(view_of(value), 3);
}

TEST(TraceRecorder, TheDigestDoesNotDependOnWhetherEventsAreKept) {
  for (const auto scheduler : {SchedulerKind::round_robin, SchedulerKind::random})
    EXPECT_EQ(digest_of({.scheduler = scheduler, .trace = Recording::on}, mixed_program),
              digest_of({.scheduler = scheduler, .trace = Recording::off}, mixed_program));
}

TEST(TraceRecorder, EventsAreKeptOnlyWhenAsked) {
  const Report off = run(4, mixed_program);
  EXPECT_THAT(off.trace.events, IsEmpty());
  const Report on = run({.world_size = 4, .trace = Recording::on}, mixed_program);
  EXPECT_EQ(on.trace.events.front().kind, TraceEventKind::task_start);
  EXPECT_EQ(on.trace.events.back().kind, TraceEventKind::task_end);
  EXPECT_THAT(on.trace.gangs, ElementsAre("root[0-3]", "root.0[2,0]", "root.0[3,1]"));
}

TEST(TraceRecorder, EveryPostHasItsEnd) {
  const Report report = run({.world_size = 4, .trace = Recording::on}, mixed_program);
  std::map<TraceEventKind, int> counts;
  for (const TraceEvent& event : report.trace.events) ++counts[event.kind];
  EXPECT_EQ(counts[TraceEventKind::post], counts[TraceEventKind::complete]);
  EXPECT_EQ(counts[TraceEventKind::post], static_cast<int>(report.counts.rank_operations));
  EXPECT_EQ(counts[TraceEventKind::task_start], 4);
  EXPECT_EQ(counts[TraceEventKind::task_end], 4);
}

TEST(TraceRecorder, TheDigestTellsEveryFieldOfACallApart) {
  std::array<float, 8> f{};
  std::array<std::int32_t, 8> i{};
  const auto on_root = [](std::function<void(Gang&)> call) {
    return [call = std::move(call)](SimulatedRank& rank) { call(*rank.root()); };
  };
  const std::vector<RankProgram> programs = {
      on_root([](Gang&) {}),
      on_root([](Gang& g) { g.barrier(); }),
      on_root([&](Gang& g) { g.all_reduce(view(f), ReduceOperation::sum); }),
      on_root([&](Gang& g) { g.all_reduce(view(f), ReduceOperation::max); }),
      on_root([&](Gang& g) { g.all_reduce(view(i), ReduceOperation::sum); }),
      on_root([&](Gang& g) { g.all_reduce(view(f).slice(0, 7), ReduceOperation::sum); }),
      on_root([&](Gang& g) { g.broadcast(view(f), 0); }),
      on_root([&](Gang& g) { g.broadcast(view(f), 1); }),
      on_root([](Gang& g) {
        std::array<float, 8> own{};  // of each rank: an output in flight
        g.start_broadcast(view(own), 1).wait();
      }),
      on_root([&](Gang& g) {
        g.broadcast(view(f), 1);
        g.barrier();
      }),
  };
  std::set<std::uint64_t> digests;
  for (const RankProgram& program : programs) digests.insert(digest_of({}, program));
  EXPECT_EQ(digests.size(), programs.size());
}

TEST(TraceRecorder, TheDigestTellsTagsAndTimesApart) {
  std::set<std::uint64_t> digests;
  for (const int tag : {0, 1, 2})
    for (const auto time : {Duration(0), Duration(1), Duration(1 << 24), Duration(1 << 25)})
      digests.insert(digest_of({}, [tag, time](SimulatedRank& rank) {
        std::int32_t value = 0;
        rank.runtime().sleep_for(time);
        if (rank.rank() == 0) rank.root()->send(view_of(value), 1, tag);
        if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, tag);
      }));
  EXPECT_EQ(digests.size(), 12U);
}

}  // namespace
}  // namespace gang::sim
