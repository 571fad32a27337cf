#include "gang/recording/dump_writer.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/recording/dump_fields.h"
#include "gang/recording/pickle_writer.h"

namespace gang {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(DumpWriter, WritesWhatTorchfrtraceReads) {
  CallTable calls;
  Dump dump{.rank = 1, .version = "2.4"};
  dump.groups = {{.name = "root", .description = "default_pg", .ranks = {0, 1}}};
  dump.calls = {{.call = calls.index_of({.kind = OperationKind::barrier}, "train.py")}};
  const std::string bytes = to_pickle(dump, calls);
  EXPECT_THAT(bytes, StartsWith("\x80\x02}("));
  EXPECT_THAT(bytes, HasSubstr("nccl:all_reduce"));  // it knows no barrier
  EXPECT_THAT(bytes, HasSubstr("[0, 1]"));
  EXPECT_THAT(bytes, HasSubstr("train.py"));
  EXPECT_EQ(bytes.back(), '.');
}

// What a PickleWriter adds for `write`, without the frame.
template <typename Write>
std::string pickled(const Write& write) {
  PickleWriter writer;
  write(writer);
  const std::string bytes = writer.take();
  return bytes.substr(2, bytes.size() - 3);
}

std::string field(std::string_view key, std::int64_t value) {
  return pickled([=](PickleWriter& out) { out.text(key), out.number(value); });
}
std::string field(std::string_view key, std::string_view value) {
  return pickled([=](PickleWriter& out) { out.text(key), out.text(value); });
}
std::string flag(std::string_view key, bool value) {
  return pickled([=](PickleWriter& out) { out.text(key), out.flag(value); });
}
// A list of one tensor's extents.
std::string sizes(std::string_view key, std::int64_t extent) {
  return pickled([=](PickleWriter& out) {
    out.text(key);
    out.begin_list();
    out.begin_list();
    out.number(extent);
    out.end_list();
    out.end_list();
  });
}

// The numbers of 4 bytes that follow `key`.
std::vector<std::string> numbers_of(const std::string& bytes, std::string_view key) {
  const std::string name = pickled([key](PickleWriter& out) { out.text(key); });
  std::vector<std::string> numbers;
  for (std::size_t at = bytes.find(name); at != bytes.npos; at = bytes.find(name, at + 1))
    numbers.push_back(bytes.substr(at + name.size(), 5));
  return numbers;
}

class DumpWriterTest : public testing::Test {
 protected:
  DumpWriterTest() {
    dump.version = "2.4";
    dump.rank = 6;
    dump.groups = {{.name = "tp", .description = "mesh_tp", .ranks = {4, 6}}};
  }

  DumpedCall& add(const Collective& call) {
    const bool is_message = is_point_to_point(call.kind);
    dump.calls.push_back({.record = dump.calls.size(),
                          .call = calls.index_of(call, "train.py"),
                          .is_message = is_message});
    return dump.calls.back();
  }

  std::string bytes() const { return to_pickle(dump, calls); }

  CallTable calls;
  Dump dump;
};

TEST_F(DumpWriterTest, WritesWhatACallSays) {
  add({.kind = OperationKind::all_reduce,
       .reduce_operation = ReduceOperation::max,
       .blocking = true,
       .count = 3,
       .label = "step 3",
       .shape = Shape{3}});
  for (const std::string& part :
       {field("rank", 6), field("operation", "all_reduce"), field("reduce_operation", "max"),
        field("count", 3), field("label", "step 3"), flag("is_blocking", true),
        flag("retired", false), flag("is_p2p", false), sizes("input_sizes", 3)})
    EXPECT_THAT(bytes(), HasSubstr(part));
  dump.calls[0].state = DumpedState::completed;
  EXPECT_THAT(bytes(), HasSubstr(flag("retired", true)));
}

TEST_F(DumpWriterTest, WritesWhenACallWasWaitedFor) {
  DumpedCall& call = add({.kind = OperationKind::barrier});
  EXPECT_THAT(bytes(), testing::Not(HasSubstr("waited"))) << "not known";
  call.has_waits = true;
  EXPECT_THAT(bytes(),
              HasSubstr(pickled([](PickleWriter& out) { out.text("waited"), out.none(); })));
  call.waited = 3;
  EXPECT_THAT(bytes(), HasSubstr(field("waited", 3)));
}

TEST_F(DumpWriterTest, WritesTheWholeTensorsOfGathersAndScatters) {
  add({.kind = OperationKind::reduce_scatter, .count = 3, .shape = Shape{3}});
  EXPECT_THAT(bytes(), HasSubstr(sizes("input_sizes", 6)));
  EXPECT_THAT(bytes(), HasSubstr(sizes("output_sizes", 3)));
  dump.calls.clear();
  add({.kind = OperationKind::all_gather, .count = 3, .shape = Shape{3}});
  EXPECT_THAT(bytes(), HasSubstr(sizes("input_sizes", 3)));
  EXPECT_THAT(bytes(), HasSubstr(sizes("output_sizes", 6)));
}

TEST_F(DumpWriterTest, BothEndsOfAMessageHaveItsNumberAndNoOtherCallHas) {
  for (int i = 0; i < 2; ++i)
    add({.kind = OperationKind::send, .peer = 0, .count = 3, .shape = Shape{3}}).sequence = 7;
  const std::string sent = bytes();
  EXPECT_THAT(sent, HasSubstr("nccl:send 1->0")) << "ranks of the group";
  EXPECT_THAT(sent, HasSubstr(field("sequence", 7)));
  dump.rank = 4;
  dump.calls.clear();
  for (int i = 0; i < 2; ++i)
    add({.kind = OperationKind::recv, .peer = 1, .count = 3, .shape = Shape{3}});
  add({.kind = OperationKind::send, .peer = 1, .count = 3, .shape = Shape{3}});
  const std::vector<std::string> sends = numbers_of(sent, "p2p_seq_id");
  const std::vector<std::string> receives = numbers_of(bytes(), "p2p_seq_id");
  ASSERT_EQ(receives.size(), 3U);
  EXPECT_EQ(sends, (std::vector{receives[0], receives[1]}));
  EXPECT_EQ((std::set<std::string>{receives.begin(), receives.end()}).size(), 3U);
}

TEST_F(DumpWriterTest, WithoutCallsThereIsAnEntryThatIsNone) {
  EXPECT_THAT(bytes(), HasSubstr(field("operation", dump_fields::no_operation)));
}

}  // namespace
}  // namespace gang
