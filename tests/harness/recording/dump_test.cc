#include "harness/recording/dump.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/recording/dump_writer.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

// An entry as PyTorch 2.6 writes it, as JSON.
std::string entry(std::string_view name, int number, std::string_view more = "",
                  std::string_view sizes = "[[4]]") {
  return fmt::format(
      R"({{"record_id": {1}, "pg_id": 0, "process_group": ["0", "default_pg"],
 "collective_seq_id": {1}, "p2p_seq_id": {1}, "op_id": {1}, "profiling_name": "{0}",
 "time_created_ns": 100, "input_sizes": {3}, "output_sizes": {3}, "input_dtypes": ["Float"],
 "output_dtypes": ["Float"], "state": "completed", "is_p2p": {4}, "retired": true{2}}})",
      name, number, more, sizes, name.find(' ') != name.npos);
}

std::string dump_of(std::string_view entries) {
  return fmt::format(
      R"({{"version": "2.4", "pg_config": {{"0": {{"name": "0", "desc": "default_pg",
 "ranks": "[0, 1, 2]"}}}}, "pg_status": {{"0": {{"last_enqueued_collective": 9}}}},
 "entries": [{}]}})",
      entries);
}

std::string error_of(const std::string& bytes) {
  CallTable calls;
  try {
    read_dump(bytes, calls);
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(Dump, ReadsGroupsAndCalls) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:all_reduce", 5)), calls);
  EXPECT_EQ(dump.version, "2.4");
  ASSERT_EQ(dump.groups.size(), 1U);
  EXPECT_EQ(dump.groups[0], (DumpedGroup{"0", "default_pg", {0, 1, 2}, 9}));
  ASSERT_EQ(dump.calls.size(), 1U);
  EXPECT_EQ(dump.calls[0].record, 5U);
  EXPECT_EQ(dump.calls[0].sequence, 5U);
  EXPECT_EQ(dump.calls[0].state, DumpedState::completed);
  EXPECT_TRUE(dump.calls[0].has_state);
  const Collective& call = calls[dump.calls[0].call];
  EXPECT_EQ(call.kind, OperationKind::all_reduce);
  EXPECT_EQ(call.shape, Shape::vector(4));
  EXPECT_EQ(call.reduce_operation, unknown_reduce_operation);
  EXPECT_EQ(to_string(call), "all_reduce #0 f32[4]");
}

TEST(Dump, TheSmallerOfInputAndOutputFixesTheSize) {
  CallTable calls;
  const std::string gather =
      R"({"record_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1,
 "p2p_seq_id": 0, "profiling_name": "nccl:_all_gather_base", "input_sizes": [[2, 3]],
 "output_sizes": [[6, 3]], "input_dtypes": ["Half"], "output_dtypes": ["Half"],
 "state": "started", "is_p2p": false})";
  const Dump dump = read_dump(dump_of(gather), calls);
  EXPECT_EQ(to_string(calls[dump.calls[0].call]), "all_gather #0 f16[2,3]");
}

TEST(Dump, OfInputAndOutputOfOneSizeTheInputIsTold) {
  CallTable calls;
  const std::string reduction =
      R"({"record_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1,
 "profiling_name": "nccl:all_reduce", "input_sizes": [[2, 3]], "output_sizes": [[6]],
 "input_dtypes": ["Half"], "output_dtypes": ["Float"], "state": "started", "is_p2p": false})";
  const Dump dump = read_dump(dump_of(reduction), calls);
  EXPECT_EQ(to_string(calls[dump.calls[0].call]), "all_reduce #0 f16[2,3]");
}

TEST(Dump, TheFirstFrameOutsideTorchIsThePlace) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:broadcast", 1, R"(, "frames": [
 {"name": "broadcast", "filename": "/usr/lib/python3/dist-packages/torch/distributed/c10d.py",
  "line": 2000}, {"name": "step", "filename": "/home/me/train.py", "line": 41},
 {"name": "main", "filename": "/home/me/main.py", "line": 7}])")),
                              calls);
  EXPECT_EQ(to_string(calls[dump.calls[0].call].call_site), "train.py:41");
}

TEST(Dump, FramesThatAreNoLineOfAProgramAreNotThePlace) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:broadcast", 1, R"(, "frames": [
 {"filename": "??", "line": 0}, {"filename": "<string>", "line": 1},
 {"filename": "/home/me/lost.py", "line": -1},
 {"filename": "/home/me/mytorch/train.py", "line": 41}])")),
                              calls);
  EXPECT_EQ(to_string(calls[dump.calls[0].call].call_site), "train.py:41");
}

TEST(Dump, GloosStateSaysNothing) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("gloo:all_reduce", 1)), calls);
  EXPECT_FALSE(dump.calls[0].has_state);
  EXPECT_FALSE(dump.calls[0].is_in_stream);
}

TEST(Dump, MessagesNameTheirPeersInTheGroup) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:send 1->2", 1) + "," + entry("nccl:recv 1<-0", 2)), calls);
  ASSERT_EQ(dump.calls.size(), 2U);
  EXPECT_TRUE(dump.calls[0].is_message);
  EXPECT_EQ(to_string(calls[dump.calls[0].call]), "send f32[4] to rank 2");
  EXPECT_EQ(to_string(calls[dump.calls[1].call]), "recv f32[4] from rank 0");
}

TEST(Dump, HalfAnArrowLeadsToNobody) {
  for (const std::string peer : {"0>1-", "1-", "1<", "->", "1-2"})
    EXPECT_THAT(error_of(dump_of(entry("nccl:send " + peer, 1))),
                HasSubstr(fmt::format("'{}' does not say to whom", peer)));
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:recv 1<", 1)), calls);
  EXPECT_EQ(calls[dump.calls.at(0).call].peer, any_rank);
}

TEST(Dump, CollectivesMadeAsOneAreOneCall) {
  CallTable calls;
  const Dump dump = read_dump(
      dump_of(entry("nccl:all_reduce", 3) + "," + entry("nccl:all_reduce", 3, "", "[[5]]") + "," +
              entry("nccl:coalesced", 3, "", "[]") + "," + entry("nccl:all_reduce", 4)),
      calls);
  ASSERT_EQ(dump.calls.size(), 2U);
  EXPECT_EQ(to_string(calls[dump.calls[0].call]), "all_reduce #0 f32[9]");
  EXPECT_EQ(dump.calls[1].sequence, 4U);
}

TEST(Dump, EveryGroupOfCollectivesMadeAsOneIsOneCall) {
  CallTable calls;
  std::string entries;
  for (const int number : {3, 4, 5})
    entries += entry("nccl:all_reduce", number) + "," + entry("nccl:all_reduce", number) + "," +
               entry("nccl:coalesced", number, "", "[]") + (number == 5 ? "" : ",");
  const Dump dump = read_dump(dump_of(entries), calls);
  ASSERT_EQ(dump.calls.size(), 3U);
  for (const DumpedCall& call : dump.calls) EXPECT_EQ(calls[call.call].count, 8);
}

TEST(Dump, AnOperationThatIsNotKnownKeepsItsName) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:new_window", 3)), calls);
  EXPECT_EQ(calls[dump.calls[0].call].label, "new_window");
}

TEST(Dump, TheEndOfCallsThatAreGoneStandsForThem) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:coalesced", 3, "", "[]")), calls);
  ASSERT_EQ(dump.calls.size(), 1U);
  EXPECT_EQ(calls[dump.calls[0].call].kind, OperationKind::barrier);
  EXPECT_EQ(calls[dump.calls[0].call].label, "coalesced");
}

TEST(Dump, BehindTheirEndAnotherCallBegins) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:all_reduce", 3) + "," + entry("nccl:coalesced", 3, "", "[]") +
                        "," + entry("nccl:all_reduce", 3)),
                calls);
  EXPECT_EQ(dump.calls.size(), 2U);
}

TEST(Dump, TheEndOfMessagesMadeAsOneIsNoCall) {
  CallTable calls;
  std::string end = entry("nccl:coalesced", 5, "", "[]");
  const std::string flag = R"("is_p2p": false)";
  end.replace(end.find(flag), flag.size(), R"("is_p2p": true)");
  const Dump dump = read_dump(
      dump_of(entry("nccl:send 1->2", 5) + "," + entry("nccl:recv 1<-0", 5) + "," + end), calls);
  ASSERT_EQ(dump.calls.size(), 2U);
  EXPECT_TRUE(dump.calls[1].is_message);
}

TEST(Dump, MessagesAndCollectivesOfOneNumberAreDifferentCalls) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:send 1->2", 5) + "," + entry("nccl:all_reduce", 5)), calls);
  ASSERT_EQ(dump.calls.size(), 2U);
  EXPECT_EQ(to_string(calls[dump.calls[0].call]), "send f32[4] to rank 2");
  EXPECT_EQ(calls[dump.calls[1].call].count, 4);
}

TEST(Dump, GroupsAreToldApartByNameAndDescription) {
  CallTable calls;
  std::string other = entry("nccl:all_reduce", 2);
  other.replace(other.find("default_pg"), std::string("default_pg").size(), "mesh_tp");
  const Dump dump = read_dump(dump_of(entry("nccl:all_reduce", 1) + "," + other), calls);
  ASSERT_EQ(dump.groups.size(), 2U);
  EXPECT_EQ(dump.calls[1].group, 1U);
  EXPECT_EQ(dump.groups[1].description, "mesh_tp");
}

TEST(Dump, AGroupNeedsNoDescription) {
  CallTable calls;
  const Dump dump = read_dump(R"({"version": "2.4", "pg_config": {"7": {"ranks": "[0, 1]"}},
 "entries": [{"record_id": 0, "process_group": ["7"], "collective_seq_id": 1,
 "profiling_name": "nccl:barrier", "state": "completed"}]})",
                              calls);
  ASSERT_EQ(dump.groups.size(), 1U);
  EXPECT_EQ(dump.groups[0], (DumpedGroup{"7", "undefined", {0, 1}, std::nullopt}));
  EXPECT_EQ(dump.calls.at(0).group, 0U);
}

TEST(Dump, RanksAreWithinTheMostOfAnyJob) {
  CallTable calls;
  const auto dump_with = [](std::int64_t rank, std::string_view ranks) {
    return fmt::format(R"({{"version": "2.4", "rank": {}, "entries": [],
 "pg_config": {{"0": {{"name": "0", "ranks": "{}"}}}}}})",
                       rank, ranks);
  };
  EXPECT_EQ(read_dump(dump_with(3, "[0, 1]"), calls).rank, 3);
  EXPECT_EQ(read_dump(dump_with(4'294'967'296, "[0, 1]"), calls).rank, std::nullopt);
  EXPECT_EQ(read_dump(dump_with(-1, "[0, 1]"), calls).rank, std::nullopt);
  EXPECT_EQ(read_dump(dump_with(most_recorded_ranks - 1, "[0, 1]"), calls).rank,
            most_recorded_ranks - 1);
  EXPECT_EQ(read_dump(dump_with(most_recorded_ranks, "[0, 1]"), calls).rank, std::nullopt);
  EXPECT_THAT(error_of(dump_with(0, fmt::format("[0, {}]", most_recorded_ranks))),
              HasSubstr("rank 1048576 of a group is out of range"));
  EXPECT_THAT(error_of(dump_with(0, "[0, -1]")), HasSubstr("rank -1 of a group is out of range"));
  EXPECT_THAT(error_of(dump_with(0, "[0, 1, 0]")), HasSubstr("the same rank twice"));
}

TEST(Dump, CountsOfAnAllToAllAreNotCompared) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:all_to_all", 1)), calls);
  EXPECT_EQ(calls[dump.calls[0].call].kind, OperationKind::all_to_all);
  EXPECT_EQ(calls[dump.calls[0].call].count, 0);
}

TEST(Dump, AListOfTensorsIsOneRowOfAllItsElements) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:all_reduce", 1, "", "[[4], [2, 3]]")), calls);
  EXPECT_EQ(calls[dump.calls[0].call].shape, Shape::vector(10));
}

TEST(Dump, WhereAllFramesAreOfTorchTheFirstIsThePlace) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:broadcast", 1, R"(, "frames": [
 {"name": "broadcast", "filename": "/usr/lib/torch/distributed/c10d.py", "line": 20},
 {"name": "spawn", "filename": "/usr/lib/torch/multiprocessing/spawn.py", "line": 90}])")),
                              calls);
  EXPECT_EQ(to_string(calls[dump.calls[0].call].call_site), "c10d.py:20");
}

// What gangsim's own dumps say besides.
std::string own(std::string_view operation, std::int64_t tag = 7, int count = 4) {
  return fmt::format(
      R"(, "gangsim": {{"operation": "{}", "sequence": 8, "count": {}, "peer": 0, "tag": {},
 "is_blocking": true, "is_in_stream": false}})",
      operation, count, tag);
}

TEST(Dump, OwnDumpsSayMore) {
  CallTable calls;
  const Dump dump = read_dump(dump_of(entry("nccl:recv 1<-0", 2, own("recv"))), calls);
  const Collective& call = calls[dump.calls[0].call];
  EXPECT_EQ(call.tag, 7);
  EXPECT_TRUE(call.blocking);
  EXPECT_EQ(dump.calls[0].sequence, 8U);
  EXPECT_FALSE(dump.calls[0].is_in_stream);
  EXPECT_THAT(error_of(dump_of(entry("nccl:recv 1<-0", 2, own("barrier")))),
              HasSubstr("not an operation of such an entry"));
  for (const std::string_view other : {"batch", "shrink", "send"})
    EXPECT_THAT(error_of(dump_of(entry("nccl:all_reduce", 2, own(other)))),
                HasSubstr("not an operation of such an entry"));
}

TEST(Dump, OwnDumpsHaveNumbersThatACallMayHave) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:recv 1<-0", 2, own("recv", 2'147'483'647))), calls);
  EXPECT_EQ(calls[dump.calls[0].call].tag, 2'147'483'647);
  for (const std::int64_t tag : {2'147'483'648, -2'147'483'649})
    EXPECT_THAT(error_of(dump_of(entry("nccl:recv 1<-0", 2, own("recv", tag)))),
                HasSubstr(fmt::format("field tag is {}, which is out of range", tag)));
}

TEST(Dump, OwnCallsWithoutTensorsHaveNoShape) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:all_reduce", 2, own("create_gang", 0, 0), "[[0]]")), calls);
  EXPECT_EQ(calls[dump.calls[0].call].kind, OperationKind::create_gang);
  EXPECT_EQ(calls[dump.calls[0].call].shape, Shape());
}

TEST(Dump, SaysWhichFieldOfWhichEntryIsWrong) {
  EXPECT_EQ(error_of(R"({"version": 1, "pages": []})"),
            "not a Flight Recorder dump: fields version and entries are missing");
  EXPECT_EQ(error_of(dump_of(R"({"record_id": 1})")), "entry 0: field process_group is missing");
  EXPECT_THAT(error_of(dump_of(entry("nccl:all_reduce", 1) + R"(,{"record_id": "x"})")),
              HasSubstr("entry 1: field record_id is a text; must be a number"));
  EXPECT_THAT(error_of(dump_of(entry("nccl:all_reduce", 1, "", "[[-4]]"))),
              HasSubstr("entry 0: a tensor's size is not a number of 0 or more"));
  EXPECT_THAT(error_of(dump_of(entry("nccl:send 1", 1))), HasSubstr("does not say to whom"));
  EXPECT_THAT(error_of(dump_of(entry("nccl:send 1->2x", 1))), HasSubstr("does not say to whom"));
}

TEST(Dump, AbsurdSizesSaturate) {
  CallTable calls;
  const Dump dump = read_dump(
      dump_of(entry("nccl:all_reduce", 1, "", "[[1152921504606846976, 1152921504606846976]]")),
      calls);
  EXPECT_EQ(calls[dump.calls[0].call].count, std::numeric_limits<std::int64_t>::max());
}

TEST(Dump, SizesThatFitAreKept) {
  CallTable calls;
  const Dump dump =
      read_dump(dump_of(entry("nccl:all_reduce", 1, "", "[[4611686018427387903, 2]]")), calls);
  EXPECT_EQ(calls[dump.calls[0].call].count, std::numeric_limits<std::int64_t>::max() - 1);
}

TEST(Dump, AListThatIsSharedOverAndOverIsRefused) {
  // input_sizes is one list of 20,000 lists, and 20,000 entries refer to it.
  Job job(1);
  const auto group = job.group("default_pg", {0});
  job.call(0, group, OperationKind::all_reduce);
  std::string bytes = "\x80\x02";
  const auto text = [](std::string_view value) {
    return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') +
           std::string(value);
  };
  bytes += "}(" + text("version") + text("2.4") + text("x") + "](";
  for (int i = 0; i < 20'000; ++i) bytes += "]";
  bytes += "eq" + std::string(1, '\0') + text("entries") + "](";
  std::string one = "}(" + text("record_id") + "K\x01" + text("process_group") + text("0") +
                    text("collective_seq_id") + "K\x01" + text("profiling_name") +
                    text("nccl:all_reduce") + text("state") + text("completed") +
                    text("input_sizes") + "h" + std::string(1, '\0') + "u";
  for (int i = 0; i < 20'000; ++i) bytes += one;
  bytes += "eu.";
  EXPECT_THAT(error_of(bytes), HasSubstr("refers to the same values too often"));
}

// Whatever bytes it gets, the reader answers with a dump or with one error.
TEST(Dump, SurvivesDamage) {
  Job job(2);
  const auto group = job.group("default_pg", {0, 1});
  for (int i = 0; i < 20; ++i) job.call(0, group, OperationKind::all_reduce, {.line = 41});
  job.call(0, group, OperationKind::send, {.peer = 1});
  const std::string pickle = to_pickle(job.dump(0), job.table());
  const std::string json = dump_of(entry("nccl:all_reduce", 1) + "," + entry("nccl:send 1->2", 2));
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (const std::string& whole : {pickle, json}) {
    for (int i = 0; i < 20'000; ++i) {
      std::string bytes = whole;
      for (std::size_t damage = 0; damage <= i % 4U; ++damage)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      if (i % 3 == 0) bytes.resize(random() % bytes.size());
      if (i % 5 == 0) bytes.insert(random() % (bytes.size() + 1), bytes.substr(0, random() % 64));
      refused += error_of(bytes).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 10'000U);
  EXPECT_LT(refused, 40'000U);
}

TEST(Dump, APickleThatEndsAnywhereIsCutOff) {
  Job job(1);
  job.call(0, job.group("default_pg", {0}), OperationKind::barrier);
  const std::string whole = to_pickle(job.dump(0), job.table());
  EXPECT_EQ(error_of(whole), "");
  for (std::size_t size = 2; size < whole.size(); ++size)
    EXPECT_THAT(error_of(whole.substr(0, size)), HasSubstr("it is cut off at byte")) << size;
}

}  // namespace
}  // namespace gang::harness
