#include "harness/text/output_file.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path{test::temporary_directory()} /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator{directory_}, {}));
  }

  std::filesystem::path directory_;
};

TEST_F(OutputFileTest, AppearsWholeAtCommit) {
  OutputFile file{"--json", path("out.json")};
  EXPECT_FALSE(std::filesystem::exists(path("out.json")));
  file.commit("{}\n");
  EXPECT_EQ(read_file("file", path("out.json")), "{}\n");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, LeavesTheOldFileIfItIsAbandoned) {
  OutputFile{"--json", path("out.json")}.commit("old");
  {
    const OutputFile abandoned{"--json", path("out.json")};
  }
  EXPECT_EQ(read_file("file", path("out.json")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, LeavesNothingBehindIfTheProcessIsKilled) {
  const int probe = ::open(directory_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "needs a file system with files that have no name";
  ::close(probe);
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputFile file{"--json", path("out.json")};
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, StandardOutputGetsTheFileAndNothingElse) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  OutputFile file{"--json", "-"};
  std::puts("for people");
  std::cout << "of a stream\n";
  file.commit("{}\n");
  std::puts("afterwards");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{}\nafterwards\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "for people\nof a stream\n");
}

TEST_F(OutputFileTest, StandardOutputIsGivenBackIfItIsAbandoned) {
  testing::internal::CaptureStdout();
  {
    const OutputFile abandoned{"--json", "-"};
  }
  std::puts("afterwards");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "afterwards\n");
}

TEST_F(OutputFileTest, ReplacesTheTargetOfALink) {
  OutputFile{"--json", path("target")}.commit("old");
  std::filesystem::create_symlink(path("target"), path("link"));
  OutputFile{"--json", path("link")}.commit("new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_file("file", path("target")), "new");
}

TEST_F(OutputFileTest, FailsEarlyIfTheDirectoryIsMissing) {
  EXPECT_THAT([this] { OutputFile("--json", path("absent/out.json")); },
              ThrowsMessage<InvalidArgument>(
                  testing::AllOf(HasSubstr("--json "), HasSubstr("No such file"))));
}

TEST_F(OutputFileTest, NoticesAFullDevice) {
  EXPECT_THAT([] { OutputFile("--trace", "/dev/full").commit("x"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("No space left")));
}

TEST_F(OutputFileTest, WritesDevicesInPlace) {
  OutputFile{"--json", "/dev/null"}.commit("x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, ReadFileNamesWhatAndWhy) {
  EXPECT_THAT([this] { read_file("schedule file", path("absent")); },
              ThrowsMessage<InvalidArgument>(
                  testing::AllOf(HasSubstr("schedule file"), HasSubstr("No such file"))));
  EXPECT_THROW(read_file("program file", directory_), InvalidArgument);
}

TEST_F(OutputFileTest, EveryoneMayReadTheResult) {
  OutputFile{"--json", path("out.json")}.commit("{}");
  using std::filesystem::perms;
  const perms all = std::filesystem::status(path("out.json")).permissions();
  EXPECT_EQ(all & (perms::owner_all | perms::group_all | perms::others_all),
            perms::owner_read | perms::owner_write | perms::group_read | perms::others_read);
}

TEST_F(OutputFileTest, TwoMayBeWrittenAtATime) {
  OutputFile first{"--json", path("out.json")};
  OutputFile second{"--json", path("out.json")};
  first.commit("first");
  second.commit("second");
  EXPECT_EQ(read_file("file", path("out.json")), "second");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, StandardOutputThatIsAFileIsWrittenToAndNotReplaced) {
  testing::internal::CaptureStdout();
  std::puts("before");
  std::fflush(stdout);
  OutputFile{"--json", "/dev/stdout"}.commit("{}\n");
  std::puts("afterwards");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before\n{}\nafterwards\n");
}

TEST_F(OutputFileTest, AFolderHasItsFilesByName) {
  for (const char* name : {"b.json", "a.json", "c.txt"})
    OutputFile{"--json", path(name)}.commit("{}");
  std::filesystem::create_directory(path("d.json"));
  EXPECT_THAT(json_files_of(directory_),
              testing::ElementsAre(directory_ / "a.json", directory_ / "b.json"));
}

TEST_F(OutputFileTest, NothingIsLeftOfALongerTargetOfALink) {
  OutputFile{"--json", path("target")}.commit("longer");
  std::filesystem::create_symlink(path("target"), path("link"));
  OutputFile{"--json", path("link")}.commit("new");
  EXPECT_EQ(read_file("file", path("target")), "new");
}

TEST_F(OutputFileTest, CanBeMoved) {
  auto first = std::make_unique<OutputFile>("--json", path("out.json"));
  OutputFile second(std::move(*first));
  first.reset();
  second.commit("{}");
  EXPECT_EQ(read_file("file", path("out.json")), "{}");
}

TEST_F(OutputFileTest, AFileWithTheNameOfTheTemporaryOneStays) {
  const std::string taken = path("out.json") + fmt::format(".{}.0", ::getpid());
  OutputFile{"--json", taken}.commit("of another process");
  OutputFile{"--json", path("out.json")}.commit("{}");
  EXPECT_EQ(read_file("file", path("out.json")), "{}");
  EXPECT_EQ(read_file("file", taken), "of another process");
}

TEST_F(OutputFileTest, AFolderThatComesInBetweenStays) {
  {
    OutputFile file{"--json", path("out.json")};
    std::filesystem::create_directories(path("out.json") + "/within");
    EXPECT_THROW(file.commit("{}"), InvalidArgument);
  }
  EXPECT_TRUE(std::filesystem::exists(path("out.json") + "/within"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, TheOrderInWhichFilesWereMadeDoesNotMatter) {
  for (const char* name : {"c", "a", "f", "b", "e", "d"})
    OutputFile{"--json", path(name) + ".json"}.commit("{}");
  std::string names;
  for (const std::filesystem::path& file : json_files_of(directory_)) names += file.stem();
  EXPECT_EQ(names, "abcdef");
}

}  // namespace
}  // namespace gang::harness
