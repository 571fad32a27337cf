#include "harness/text/source_tree.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

class SourceTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::weakly_canonical(fs::path(test::temporary_directory()) / "source_tree");
    fs::remove_all(root_);
    for (const char* folder : {"repository/.git", "repository/a b", "repository/c",
                               "repository/build-1", "repository/.cache"})
      fs::create_directories(root_ / folder);
    for (const char* file :
         {"outside.cc", "repository/a b/once.cc", "repository/a b/twice.cc",
          "repository/c/twice.cc", "repository/build-1/made.cc", "repository/.cache/hidden.cc"})
      std::ofstream(root_ / file).put('x');
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(SourceTreeTest, FilesOfTheRepositoryAreRelativeToIt) {
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of("../a b/once.cc"), "a%20b/once.cc");
  EXPECT_EQ(tree.uri_of((root_ / "repository/c/twice.cc").string()), "c/twice.cc");
  EXPECT_EQ(tree.uri_of((root_ / "outside.cc").string()),
            "file://" + (root_ / "outside.cc").string());
  EXPECT_EQ(tree.uri_of("sim/absent.cc"), "sim/absent.cc");
}

TEST_F(SourceTreeTest, ANameStandsForTheOnlyFileThatHasIt) {
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of("once.cc"), "a%20b/once.cc");
  EXPECT_EQ(tree.uri_of("twice.cc"), "twice.cc") << "which of the two is not known";
  EXPECT_EQ(tree.uri_of("made.cc"), "made.cc");
  EXPECT_EQ(tree.uri_of("hidden.cc"), "hidden.cc");
  tree.prefer("../a b/twice.cc");
  EXPECT_EQ(tree.uri_of("twice.cc"), "a%20b/twice.cc");
}

TEST_F(SourceTreeTest, WithoutARepositoryTheFolderIsTheRoot) {
  fs::remove_all(root_ / "repository/.git");
  // The temporary directory may be in a repository; a .git of its own is what counts.
  fs::create_directory(root_ / "repository/c/.git");
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of("twice.cc"), "twice.cc");
  EXPECT_EQ(tree.uri_of("once.cc"), "once.cc") << "it is in another tree";
}

TEST_F(SourceTreeTest, AControlCharacterIsEscapedWithTwoDigits) {
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of("a\tb/x.cc"), "a%09b/x.cc");
}

// In a linked worktree or a submodule, .git is a file.
TEST_F(SourceTreeTest, ARepositoryMayHaveAFileCalledGit) {
  fs::remove_all(root_ / "repository/.git");
  std::ofstream(root_ / "repository/.git") << "gitdir: elsewhere\n";
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of("once.cc"), "a%20b/once.cc");
}

TEST_F(SourceTreeTest, AWholePathNeedNotBeThere) {
  SourceTree tree(root_ / "repository/c");
  EXPECT_EQ(tree.uri_of((root_ / "repository/c/gone.cc").string()), "c/gone.cc");
  EXPECT_EQ(tree.uri_of("/nowhere/gone.cc"), "file:///nowhere/gone.cc");
}

TEST_F(SourceTreeTest, ThePreferenceThatWasGivenLastCounts) {
  SourceTree tree(root_ / "repository/c");
  tree.prefer("../a b/twice.cc");
  tree.prefer("twice.cc");
  EXPECT_EQ(tree.uri_of("twice.cc"), "c/twice.cc");
}

}  // namespace
}  // namespace gang::harness
