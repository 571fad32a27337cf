#include "harness/program_file/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Call parse(std::string_view line) { return parse_call(line, {"suspect.toml", 6, 1}); }

TEST(ParseCall, ReadsAReduction) {
  const Call call = parse("dp all_reduce sum f32[1024]");
  EXPECT_EQ(call.action, Call::Action::operation);
  EXPECT_EQ(call.gang, "dp");
  EXPECT_EQ(call.operation, OperationKind::all_reduce);
  EXPECT_EQ(call.reduce_operation, ReduceOperation::sum);
  EXPECT_EQ(call.tensor.type, DataType::f32);
  EXPECT_FALSE(call.starts);
  EXPECT_EQ(to_string(call.site()), "suspect.toml:6");
}

TEST(ParseCall, ReadsRootsTagsAndLabels) {
  EXPECT_EQ(parse("tp broadcast f32[8] root world - 1").peer->evaluate({.world = 4}), 3);
  const Call send = parse("root send f32[4] to 1 tag 3 label \"step 1\"");
  EXPECT_EQ(send.peer->evaluate({}), 1);
  EXPECT_EQ(send.tag->evaluate({}), 3);
  EXPECT_EQ(send.label, "step 1");
}

TEST(ParseCall, ReadsReceivesFromAnyRankAndOfAnyTag) {
  EXPECT_FALSE(parse("root recv f32[4] from any tag 3").peer);
  EXPECT_FALSE(parse("root recv f32[4] from 0 tag any").tag);
  EXPECT_EQ(parse("root recv f32[4] from rank-1").peer->evaluate({.rank = 5}), 4);
  EXPECT_EQ(parse("root recv f32[4]").tag->evaluate({}), 0);
}

TEST(ParseCall, ReadsStartedOperations) {
  const Call call = parse("a = root start all_reduce max u8[2, 3]");
  EXPECT_TRUE(call.starts);
  EXPECT_EQ(call.works, std::vector<std::string>{"a"});
  EXPECT_EQ(call.tensor.extents.size(), 2U);
  EXPECT_TRUE(parse("root start barrier").works.empty());
  EXPECT_EQ(parse("wait a, b").works, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse("wait a timeout 5 ms").duration, std::chrono::milliseconds{5});
  EXPECT_EQ(parse("wait_any a b").action, Call::Action::wait_any);
  EXPECT_EQ(parse("test a").action, Call::Action::test);
}

TEST(ParseCall, ReadsOtherStatements) {
  EXPECT_EQ(parse("sleep 5 ms").duration, std::chrono::milliseconds{5});
  EXPECT_EQ(parse("throw \"out of paper\"").label, "out of paper");
  EXPECT_EQ(parse("return").action, Call::Action::end_program);
  EXPECT_EQ(parse("yield").action, Call::Action::yield);
  EXPECT_EQ(parse("tp abort").action, Call::Action::abort_gang);
  EXPECT_EQ(parse("tp close").action, Call::Action::close_gang);
}

TEST(ParseCall, ReadsNewGangs) {
  const Call created = parse("root create_gang [0, world - 1] as ends");
  EXPECT_EQ(created.by_rank.size(), 2U);
  EXPECT_EQ(created.created, "ends");
  const Call split = parse("root split color rank%2 key -rank as half");
  EXPECT_EQ(split.color->evaluate({.rank = 3}), 1);
  EXPECT_EQ(split.key->evaluate({.rank = 3}), -3);
  EXPECT_FALSE(parse("root split color none as empty").color);
}

TEST(ParseCall, ReadsBatches) {
  const Call call = parse("root batch send f32[4] to 1, recv f32[4] from 1 tag 2");
  ASSERT_EQ(call.batch.size(), 2U);
  EXPECT_EQ(call.batch[0].operation, OperationKind::send);
  EXPECT_EQ(call.batch[1].tag->evaluate({}), 2);
}

TEST(ParseCall, ReadsEveryOperation) {
  for (const OperationKind kind : all_operation_kinds) {
    std::string line = "root " + std::string{to_string(kind)};
    if (reduces(kind)) line += " sum";
    if (has_tensor(kind)) line += " f32[8]";
    if (kind == OperationKind::send) line += " to 0";
    if (kind == OperationKind::batch) line += " recv f32[8]";
    if (kind == OperationKind::create_gang) line += " [0] as g";
    if (kind == OperationKind::split) line += " color 0 as g";
    EXPECT_EQ(parse(line).operation, kind) << line;
  }
}

struct CallCase {
  const char* line;
  const char* message;
};

class BadCall : public testing::TestWithParam<CallCase> {};

TEST_P(BadCall, IsRejectedWithItsPlaceAndWhatWasExpected) {
  EXPECT_THAT([] { parse(GetParam().line); },
              ThrowsMessage<InvalidArgument>(HasSubstr(GetParam().message)))
      << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    ParseCall, BadCall,
    testing::Values(
        CallCase{
            "",
            "suspect.toml:6:1: expected a gang, wait, test, sleep, throw or return, found the end"},
        CallCase{"dp all_redcue sum f32[8]",
                 "6:4: operation 'all_redcue' is unknown (did you mean"},
        CallCase{"dp all_reduce add f32[8]", "6:15: reduce operation 'add' is unknown"},
        CallCase{"dp all_reduce sum f33[8]", "6:19: data type 'f33' is unknown"},
        CallCase{"dp all_reduce sum", "expected a tensor, such as f32[1024], found the end"},
        CallCase{"dp all_reduce", "expected a reduce operation, found the end"},
        CallCase{"dp all_reduce sum f32", "expected '[', found the end"},
        CallCase{"dp all_reduce sum f32[4k]", "found '4k'"},
        CallCase{"dp all_reduce sum f32[8] root 1",
                 "6:26: expected label \"TEXT\", timeout DURATION, at \"FILE:LINE\" or the end, "
                 "found 'root'"},
        CallCase{"dp barrier barrier",
                 "6:12: expected label \"TEXT\", timeout DURATION, at \"FILE:LINE\" or the end, "
                 "found 'barrier'"},
        CallCase{"root barrier at \"a.cc:12x\"", "is not a place"},
        CallCase{"root all_reduce sum f32[1,1,1,1,1,1,1,1,1]", "expected ']'"},
        CallCase{"root send f32[4]", "expected 'to'"},
        CallCase{"root send f32[4] to any", "found 'any'"},
        CallCase{"a = root barrier", "6:1: only a started operation can have a name"},
        CallCase{"root start monitored_barrier", "has no start form"},
        CallCase{"root start broadcast_objects", "has no start form"},
        CallCase{"root create_gang [0]", "expected 'as', found the end"},
        CallCase{"root batch barrier", "expected send or recv, found 'barrier'"},
        CallCase{"sleep soon", "duration is 'soon'"},
        CallCase{"throw oops", "expected a quoted string, found 'oops'"},
        CallCase{"test", "name of a started"},
        CallCase{"return 3", "expected the end, found '3'"}));

TEST(ParseCall, ATensorMayHaveEightDimensions) {
  EXPECT_EQ(parse("root all_reduce sum f32[1,1,1,1,1,1,1,1]").tensor.extents.size(), 8U);
}

TEST(ParseCall, AWorkMayBeNamedLikeAStatement) {
  EXPECT_EQ(parse("wait = root start barrier").works, std::vector<std::string>{"wait"});
}

TEST(ParseCall, ReadsCountsPlacesAndWhetherAllMissingRanksAreNamed) {
  EXPECT_EQ(parse("root all_gather f32[4] counts [1, 2, rank]").by_rank.size(), 3U);
  EXPECT_TRUE(parse("root monitored_barrier all").names_all_missing);
  EXPECT_FALSE(parse("root monitored_barrier").names_all_missing);
  const Call call = parse("root barrier at \"C:/a.cc:12\"");
  EXPECT_EQ(call.other_place.file, "C:/a.cc");
  EXPECT_EQ(call.other_place.line, 12U);
  EXPECT_EQ(parse("wait a b timeout 5ms").works.size(), 2U);
}

}  // namespace
}  // namespace gang::harness::program_file
