#include "harness/conductor/python.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

// PATH is what the test says, until its end.
class FindPython : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* path = std::getenv("PATH")) path_ = path;
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }

  void set_path(const std::string& folders) const {
    ::setenv("PATH", (folders + ":" + path_).c_str(), 1);
  }
  void set_only_path(const std::string& folders) const { ::setenv("PATH", folders.c_str(), 1); }

  // A folder with a python3 that can import anything, or nothing.
  static std::string folder_with_python(const std::string& name, bool can_import) {
    const std::string folder = gang::test::temporary_directory() + name;
    fs::create_directories(folder);
    const std::string python = folder + "/python3";
    std::ofstream(python) << "#!/bin/sh\nexit " << (can_import ? 0 : 1) << '\n';
    fs::permissions(python, fs::perms::owner_all);
    return folder;
  }

  std::string path_;
};

TEST_F(FindPython, IsWhatIsGiven) { EXPECT_EQ(find_python("mine", "torch"), "mine"); }

TEST_F(FindPython, IsTheFirstOfPath) {
  const std::string first = folder_with_python("first", false);
  set_path(first);
  EXPECT_EQ(find_python("", ""), first + "/python3");
}

TEST_F(FindPython, IsTheFirstThatCanImport) {
  const std::string without = folder_with_python("without", false);
  const std::string with = folder_with_python("with it's", true);  // to be quoted
  set_path(without + ":" + with);
  EXPECT_EQ(find_python("", "torch"), with + "/python3");
}

TEST_F(FindPython, SaysWhatItTried) {
  const std::string without = folder_with_python("without", false);
  set_only_path(without);
  EXPECT_THAT([] { find_python("", "torch"); },
              ThrowsMessage<NotSupported>(HasSubstr(without + "/python3")));
  set_only_path(gang::test::temporary_directory());
  EXPECT_THROW(find_python("", ""), NotSupported);
}

TEST_F(FindPython, NamesAFolderOnce) {
  const std::string without = folder_with_python("once", false);
  const std::string link = gang::test::temporary_directory() + "link";
  fs::create_directory_symlink(without, link);
  set_only_path(without + ":" + without + ":" + link);
  try {
    find_python("", "torch");
    FAIL();
  } catch (const NotSupported& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("/python3"), text.rfind("/python3")) << text;
  }
}

TEST_F(FindPython, SaysThatThereIsNone) {
  set_only_path(gang::test::temporary_directory());
  EXPECT_THAT([] { find_python("", "torch"); },
              ThrowsMessage<NotSupported>("there is no python3 in PATH"));
}

TEST(FindPackages, IsTheFolderOfThePackage) {
  EXPECT_TRUE(fs::exists(find_packages() + "/gangsim/zygote.py"));
}

}  // namespace
}  // namespace gang::harness
