#include "gang/error_file.h"

#include <ctime>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "tests/gang/store/temporary_folder.h"

namespace gang {
namespace {

using nlohmann::json;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ErrorFile, HasTheFormThatTorchrunReads) {
  const json content = json::parse(to_error_file_text({.type = "gang::GangError",
                                                       .message = "rank 2 failed",
                                                       .call_stack = "train.cc:41",
                                                       .unix_seconds = 1'700'000'000}));
  EXPECT_EQ(content, json::parse(R"({"message": {
      "message": "gang::GangError: rank 2 failed",
      "extraInfo": {"py_callstack": "train.cc:41", "timestamp": "1700000000"}}})"));
}

TEST(ErrorFile, WithoutACallStackShowsTheSentence) {
  const json content = json::parse(to_error_file_text({.message = "lost"}));
  EXPECT_EQ(content["message"]["message"], "lost");
  EXPECT_EQ(content["message"]["extraInfo"]["py_callstack"], "lost");
}

TEST(ErrorFile, IsJsonForAnyMessage) {
  const std::string message("\"quoted\"\n\0\xff\xc3", 13);
  EXPECT_TRUE(json::accept(to_error_file_text({.type = "T", .message = message})));
}

TEST(ErrorFile, DescribesAnExceptionByItsType) {
  const InvalidArgument error("the reason");
  const WorkerFailure failure = describe_failure(error);
  EXPECT_EQ(failure.type, "gang::InvalidArgument");
  EXPECT_EQ(failure.message, "the reason");
  EXPECT_NEAR(static_cast<double>(failure.unix_seconds), static_cast<double>(std::time(nullptr)),
              60);
}

TEST(ErrorFile, IsWrittenCompletelyAndReplacesAnEarlierOne) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("error.json");
  EXPECT_EQ(write_error_file(path, {.message = "first"}), "");
  EXPECT_EQ(write_error_file(path, {.message = "second"}), "");
  EXPECT_EQ(text_of(path), to_error_file_text({.message = "second"}));
  const auto files = std::filesystem::directory_iterator(path.parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing else is left";
}

TEST(ErrorFile, IsNotWrittenWithoutAPath) {
  EXPECT_EQ(write_error_file({}, {.message = "lost"}), "");
}

TEST(ErrorFile, SaysWhyItWasNotWritten) {
  EXPECT_THAT(write_error_file("/no/such/folder/error.json", {.message = "lost"}),
              testing::StartsWith("could not write the error file '/no/such/folder/error.json': "));
}

}  // namespace
}  // namespace gang
