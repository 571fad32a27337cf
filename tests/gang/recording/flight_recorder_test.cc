#include "gang/recording/flight_recorder.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "gang/operation.h"
#include "gang/recording/recording_gang.h"
#include "tests/temporary_directory.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;

std::string new_folder(const std::string& name) {
  const std::string folder = test::temporary_directory() + name;
  std::filesystem::remove_all(folder);
  return folder;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is in the dump as soon as there is one; a file appears whole.
std::string wait_for_dump(const std::string& path) {
  for (int i = 0; i < 1000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(10ms);
  return text_of(path);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(FlightRecorder, WritesOnASignal) {
  const std::string folder = new_folder("signal");
  const auto recorder =
      std::make_shared<FlightRecorder>(FlightRecorderOptions{.folder = folder, .rank = 3});
  EXPECT_EQ(recorder->path(), folder + "/nccl_trace_rank_3");
  const auto gang = std::make_shared<RecordingGang>(make_fake_gang({.size = 2}), recorder);
  gang->barrier({.label = "before the signal"});
  EXPECT_FALSE(std::filesystem::exists(recorder->path()));
  std::raise(SIGUSR1);
  EXPECT_TRUE(has(wait_for_dump(recorder->path()), "before the signal"));
}

TEST(FlightRecorder, WritesWhenACallIsOverdue) {
  const std::string folder = new_folder("overdue");
  FlightRecorder recorder({.folder = folder});
  const auto gang = recorder.add_gang({.name = "root", .root_ranks = {0}, .size = 1});
  Operation late;
  late.timeout = 1ms;
  late.collective.label = "too late";
  recorder.begin(gang, late);
  EXPECT_TRUE(has(wait_for_dump(recorder.path()), "too late"));
}

TEST(FlightRecorder, WritesWhenAGangBreaks) {
  FlightRecorder recorder({.folder = new_folder("broken")});
  const auto gang = recorder.add_gang({.name = "root", .root_ranks = {0}, .size = 1});
  recorder.note_broken(gang);
  EXPECT_TRUE(std::filesystem::exists(recorder.path()));
}

TEST(FlightRecorder, WritesAtTheEnd) {
  const std::string folder = new_folder("end");
  make_recorded(make_fake_gang({}), {.folder = folder})->barrier();
  EXPECT_TRUE(has(text_of(folder + "/nccl_trace_rank_0"), "returned"));
  try {
    const auto gang = make_recorded(make_fake_gang({}), {.folder = folder});
    throw std::runtime_error("the program fails");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(has(text_of(folder + "/nccl_trace_rank_0"), "failed"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(FlightRecorder, AFolderThatCannotBeMadeIsBadInput) {
  EXPECT_THROW(FlightRecorder({.folder = "/proc/nowhere"}), InvalidArgument);
}

TEST(FlightRecorder, WhatReturnsWhileAnExceptionLeavesHasNotFailed) {
  const std::string folder = new_folder("unwinding");
  struct RecordsAtTheEnd {
    const std::string& folder;
    ~RecordsAtTheEnd() { make_recorded(make_fake_gang({}), {.folder = folder})->barrier(); }
  };
  try {
    const RecordsAtTheEnd cleanup{folder};
    throw std::runtime_error("the program fails");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(has(text_of(folder + "/nccl_trace_rank_0"), "returned"));
}

TEST(FlightRecorder, MakesTheFoldersOnTheWay) {
  const std::string folder = new_folder("nested") + "/job/7";
  make_recorded(make_fake_gang({}), {.folder = folder})->barrier();
  EXPECT_TRUE(std::filesystem::exists(folder + "/nccl_trace_rank_0"));
}

}  // namespace
}  // namespace gang
