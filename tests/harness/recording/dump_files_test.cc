#include "harness/recording/dump_files.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/recording/dump_writer.h"
#include "tests/harness/recording/recording_testing.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A new folder with a dump of each rank that `job` has.
std::string folder_of(Job& job, const std::string& name) {
  const std::string folder = test::temporary_directory() + name;
  std::filesystem::create_directories(folder);
  for (NamedDump& dump : job.dumps())
    std::ofstream(folder + "/nccl_trace_rank_" + std::to_string(dump.rank))
        << to_pickle(dump.dump, job.table());
  return folder;
}

Job three_ranks() {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce, {.line = 7});
  return job;
}

std::string error_of(const std::vector<std::string>& paths) {
  try {
    read_recording(paths);
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(DumpFiles, ReadsAFolderAndLeavesOtherFilesAlone) {
  Job job = three_ranks();
  const std::string folder = folder_of(job, "whole");
  write(folder + "/log_7.txt", "all is well");
  write(folder + "/config.json", R"({"world": 8})");
  EXPECT_TRUE(has_dumps(folder));
  EXPECT_FALSE(has_dumps(folder + "/log_7.txt"));
  const Recording recording = read_recording({folder});
  EXPECT_EQ(recording.world_size(), 3);
  EXPECT_EQ(recording.ranks[2].calls.size(), 1U);
  EXPECT_EQ(to_string(recording.evidence), "as recorded");
}

TEST(DumpFiles, ReadsAListOfFiles) {
  Job job = three_ranks();
  const std::string folder = folder_of(job, "list");
  const Recording recording =
      read_recording({folder + "/nccl_trace_rank_0", folder + "/nccl_trace_rank_2"});
  EXPECT_THAT(recording.evidence.missing, ElementsAre(1));
}

TEST(DumpFiles, ADumpThatIsCutOffIsMissing) {
  Job job = three_ranks();
  const std::string folder = folder_of(job, "cut_dump");
  std::filesystem::resize_file(folder + "/nccl_trace_rank_1", 100);
  const Recording recording = read_recording({folder});
  EXPECT_THAT(recording.evidence.missing, ElementsAre(1));
  ASSERT_EQ(recording.evidence.notes.size(), 1U);
  EXPECT_THAT(recording.evidence.notes[0],
              StartsWith("dump nccl_trace_rank_1: it is cut off at byte 100"));
}

TEST(DumpFiles, OneLineSaysWhatIsWrong) {
  const std::string folder = test::temporary_directory() + "wrong";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(error_of({folder}), folder + " has no dump of a Flight Recorder");
  EXPECT_THAT(error_of({folder + "/none"}), HasSubstr("No such file"));
  using std::string_literals::operator""s;
  write(folder + "/rank_0",
        "\x80\x02"
        "cposix\nsystem\nX\x02\0\0\0id\x85R."s);
  EXPECT_EQ(error_of({folder}), "dump " + folder +
                                    "/rank_0: opcode GLOBAL ('c') at byte 2 would run code; "
                                    "nothing was run");
  write(folder + "/rank_0", "\x80\x02}.");
  EXPECT_THAT(error_of({folder}), HasSubstr("not a Flight Recorder dump"));
  write(folder + "/rank_0", "\x80\x02}(X");
  EXPECT_THAT(error_of({folder}), HasSubstr("it is cut off at byte 5"));
}

TEST(DumpFiles, TheRankIsWhatTheDumpSaysOrTheLastNumberOfItsName) {
  Job job(1);
  job.group("default_pg", {0, 1, 2, 3, 4, 5});
  const std::string folder = test::temporary_directory() + "names";
  std::filesystem::create_directories(folder);
  const std::string bytes = to_pickle(job.dump(0), job.table());
  write(folder + "/job7_rank_5.pkl", bytes);
  EXPECT_FALSE(read_recording({folder}).ranks[5].is_missing);
  job.dump(0).rank = 4;
  write(folder + "/job7_rank_5.pkl", to_pickle(job.dump(0), job.table()));
  EXPECT_FALSE(read_recording({folder}).ranks[4].is_missing);
  write(folder + "/trace", bytes);
  EXPECT_THAT(error_of({folder + "/trace"}), HasSubstr("its name does not end in its rank"));
}

TEST(DumpFiles, DumpsThatAreCutOffAreToldInTheOrderOfTheirNames) {
  Job job = three_ranks();
  const std::string folder = folder_of(job, "cut_dumps");
  for (const std::string rank : {"2", "0", "1"})
    std::filesystem::resize_file(folder + "/nccl_trace_rank_" + rank, 100);
  EXPECT_THAT(error_of({folder}), StartsWith("dump " + folder + "/nccl_trace_rank_0: it is cut"));
  write(folder + "/nccl_trace_rank_1", to_pickle(job.dump(1), job.table()));
  EXPECT_THAT(
      read_recording({folder}).evidence.notes,
      ElementsAre(StartsWith("dump nccl_trace_rank_0:"), StartsWith("dump nccl_trace_rank_2:")));
}

TEST(DumpFiles, ADumpIsKnownByItsForm) {
  const std::string path = test::temporary_directory() + "form_3.json";
  write(path, R"(  {"version": "2.4", "pg_config": {}})");
  EXPECT_TRUE(has_dumps(path));
  write(path, R"(a log about "entries")");
  EXPECT_FALSE(has_dumps(path));
}

TEST(DumpFiles, ADumpHasARankAndASizeThatAJobMayHave) {
  Job job(1);
  job.group("default_pg", {0});
  const std::string beyond = test::temporary_directory() + "rank_1048576";
  write(beyond, to_pickle(job.dump(0), job.table()));
  EXPECT_THAT(error_of({beyond}), HasSubstr("its name does not end in its rank"));
  const std::string large = test::temporary_directory() + "rank_0";
  write(large, "\x80\x02");
  std::filesystem::resize_file(large, most_dump_bytes + 1);
  EXPECT_THAT(error_of({large}), HasSubstr("must be at most 268435456"));
  std::filesystem::remove(large);
}

TEST(DumpFiles, SeveralPathsAreCalledByTheirNumber) {
  EXPECT_EQ(name_of_dumps({"a/first/"}), "first");
  EXPECT_EQ(name_of_dumps({"a/first", "a/second"}), "2 dumps");
}

}  // namespace
}  // namespace gang::harness
