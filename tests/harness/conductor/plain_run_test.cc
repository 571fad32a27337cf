#include "harness/conductor/plain_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "harness/conductor/messages.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

// What `gangsim.output` writes for one i32.
std::string output_frame(const std::string& name, std::int32_t value) {
  FrameWriter frame(12);
  frame.text(name);
  frame.number(std::uint8_t{3});  // i32
  frame.number(std::uint64_t{1});
  frame.bytes(std::as_bytes(std::span(&value, 1)));
  const Frame bytes = frame.finish();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PlainRuns : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = gang::test::temporary_directory() + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // A shell stands in for the interpreter.
  PlainRun run(const std::string& script) {
    RankOutput output(poller_, RankSelection("none"), ignored_, ignored_);
    return run_plainly(poller_, {.python = "/bin/sh", .packages = "", .words = {script}}, 3,
                       output);
  }

  Poller poller_;
  std::ostringstream ignored_;
};

TEST_F(PlainRuns, KeepWhatEachRankLeaves) {
  const std::string frames = write("frames", output_frame("loss", 7) + output_frame("norm", 8));
  const PlainRun plain =
      run(write("copy.sh", "test \"$WORLD_SIZE\" = 3 && cp " + frames +
                               " \"$GANGSIM_OUTPUTS/$RANK\" && test -n \"$MASTER_PORT\""));
  EXPECT_EQ(plain.failure, "");
  ASSERT_EQ(plain.outputs.by_rank.size(), 3U);
  for (const auto& rank : plain.outputs.by_rank) {
    ASSERT_EQ(rank.size(), 2U);
    EXPECT_EQ(rank[1].name, "norm");
    EXPECT_EQ(rank[1].type, DataType::i32);
    EXPECT_EQ(rank[1].count, 1);
    EXPECT_EQ(rank[1].data.front(), std::byte{8});
  }
}

TEST_F(PlainRuns, EndWithTheFirstRankThatFails) {
  const PlainRun plain = run(write("fail.sh", "test \"$RANK\" != 1 || exit 3\nsleep 60"));
  EXPECT_EQ(plain.failure, "rank 1 exited with status 3");
}

TEST_F(PlainRuns, OutputsThatAreCutOffAreAnError) {
  const std::string whole = output_frame("loss", 7);
  EXPECT_THROW(read_outputs(write("cut", whole.substr(0, whole.size() - 1))), ProtocolError);
  EXPECT_THROW(read_outputs(write("short", whole.substr(0, 2))), ProtocolError);
  EXPECT_TRUE(read_outputs(gang::test::temporary_directory() + "missing").empty());
}

TEST_F(PlainRuns, RanksAreAloneOnTheirNodeAndFindTheirOwnModules) {
  const char* const path = std::getenv("PYTHONPATH");
  const std::string before = path == nullptr ? "" : path;
  ::setenv("PYTHONPATH", "/own/modules", 1);
  const PlainRun plain = run(write("environment.sh", R"(
test "$LOCAL_RANK" = "$RANK" || exit 4
case "$PYTHONPATH" in *:/own/modules) exit 0 ;; esac
exit 5)"));
  if (path == nullptr)
    ::unsetenv("PYTHONPATH");
  else
    ::setenv("PYTHONPATH", before.c_str(), 1);
  EXPECT_EQ(plain.failure, "");
}

TEST_F(PlainRuns, NothingIsLeftBehind) {
  const std::string told = gang::test::temporary_directory() + "outputs_were_in";
  run(write("tell.sh", "echo $GANGSIM_OUTPUTS > " + told + "; touch $GANGSIM_OUTPUTS/x"));
  std::string folder;
  std::getline(std::ifstream(told), folder);
  EXPECT_NE(folder, "");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(PlainRuns, OnlyOutputsAreRead) {
  const Frame frame = frame_of(ByeMessage{});
  const std::string bytes(reinterpret_cast<const char*>(frame.data()), frame.size());
  EXPECT_THROW(read_outputs(write("bye", output_frame("loss", 7) + bytes)), ProtocolError);
}

}  // namespace
}  // namespace gang::harness
