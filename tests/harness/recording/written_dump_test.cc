#include <limits>

#include <gtest/gtest.h>

#include "gang/recording/dump_writer.h"
#include "gang/recording/pickle_writer.h"
#include "harness/recording/dump.h"
#include "harness/recording/pickle_reader.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

TEST(WrittenDump, WhatItWritesIsReadBack) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  const auto tp = job.group("tp", {1, 0});
  job.call(1, root, OperationKind::all_reduce, {.count = 1024, .line = 41});
  job.call(1, tp, OperationKind::all_gather, {.state = started, .line = 42});
  job.call(1, tp, OperationKind::reduce_scatter);
  job.call(1, root, OperationKind::broadcast, {.peer = 2});
  job.call(1, root, OperationKind::barrier);
  job.call(1, root, OperationKind::gather, {.peer = 3});
  job.call(1, tp, OperationKind::send, {.peer = 1, .sequence = 1'000'000'000});
  job.call(1, tp, OperationKind::recv, {.peer = 1, .sequence = 1'000'000'000});
  Dump& dump = job.dump(1);
  dump.calls[0].has_waits = dump.calls[1].has_waits = true;
  dump.calls[1].waited = 5;
  dump.rank = 1;
  dump.end = ProgramEnd::returned;
  for (DumpedGroup& group : dump.groups) group.last_enqueued = 7;
  CallTable calls;
  const std::string bytes = to_pickle(dump, job.table());
  const Dump again = read_dump(bytes, calls);
  EXPECT_EQ(again.rank, 1);
  EXPECT_EQ(again.end, ProgramEnd::returned);
  EXPECT_EQ(again.version, "2.4");
  EXPECT_EQ(again.groups, dump.groups);
  ASSERT_EQ(again.calls.size(), dump.calls.size());
  for (std::size_t i = 0; i < dump.calls.size(); ++i) {
    DumpedCall expected = dump.calls[i];
    const Collective& call = job.table()[expected.call];
    const Collective& read = calls[again.calls[i].call];
    EXPECT_EQ(to_string(read), to_string(call));
    EXPECT_EQ(read.count, call.count);
    EXPECT_EQ(read.peer, call.peer);
    EXPECT_EQ(to_string(read.call_site), to_string(call.call_site));
    expected.call = again.calls[i].call;
    EXPECT_EQ(again.calls[i], expected) << to_string(call);
  }
}

TEST(WrittenDump, ADumpWithoutCallsHasAnEntryThatIsNone) {
  Job job(2);
  job.group("default_pg", {0, 1});
  Dump& dump = job.dump(1);
  dump.rank = 1;
  CallTable calls;
  const std::string bytes = to_pickle(dump, job.table());
  EXPECT_NE(bytes.find("nccl:all_reduce"), bytes.npos);
  const Dump again = read_dump(bytes, calls);
  EXPECT_TRUE(again.calls.empty());
  EXPECT_EQ(again.groups.size(), 1U);
}

TEST(WrittenDump, EveryNumberComesBack) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> numbers = {0,
                                             -1,
                                             255,
                                             256,
                                             2147483647,
                                             2147483648,
                                             -2147483648LL,
                                             -2147483649LL,
                                             Limits::min(),
                                             Limits::max()};
  PickleWriter writer;
  writer.begin_list();
  for (const std::int64_t number : numbers) writer.number(number);
  writer.flag(true);
  writer.none();
  writer.end_list();
  const std::string bytes = writer.take();
  const ValueTree tree = read_pickle(bytes);
  const auto items = tree.items(tree.root());
  ASSERT_EQ(items.size(), numbers.size() + 2);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(std::get<std::int64_t>(items[i]), numbers[i]);
  EXPECT_TRUE(std::get<bool>(items[numbers.size()]));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(items.back()));
}

}  // namespace
}  // namespace gang::harness
