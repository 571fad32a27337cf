#include "gang/recording/dump_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gang
