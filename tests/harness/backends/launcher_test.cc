#include "harness/backends/launcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

TEST(RunProcesses, GivesWhatEachReturnsInOrder) {
  const auto ends = run_processes(
      5, [](int rank) { return std::string(static_cast<std::size_t>(rank) * 100'000, 'x'); }, 10s);
  ASSERT_EQ(ends.size(), 5U);
  for (std::size_t rank = 0; rank < 5; ++rank) {
    EXPECT_TRUE(ends[rank].has_returned()) << ends[rank].death;
    EXPECT_EQ(ends[rank].result.size(), rank * 100'000);
  }
}

TEST(RunProcesses, EachIsAProcessOfItsOwn) {
  const auto ends = run_processes(2, [](int) { return std::to_string(::getpid()); }, 10s);
  EXPECT_NE(ends[0].result, ends[1].result);
  EXPECT_NE(ends[0].result, std::to_string(::getpid()));
}

TEST(RunProcesses, SaysHowOneDied) {
  const auto ends = run_processes(
      4,
      [](int rank) -> std::string {
        if (rank == 1) ::raise(SIGABRT);
        if (rank == 2) throw std::runtime_error("out of paper");
        if (rank == 3) ::_exit(7);
        return "well";
      },
      10s);
  EXPECT_EQ(ends[0].result, "well");
  EXPECT_THAT(ends[1].death, HasSubstr("was killed by signal 6 (Aborted)"));
  EXPECT_EQ(ends[2].death, "failed: out of paper");
  EXPECT_EQ(ends[3].death, "ended with exit status 7");
}

TEST(RunProcesses, OneThatDoesNotEndIsKilled) {
  const auto began = std::chrono::steady_clock::now();
  const auto ends = run_processes(
      2,
      [](int rank) {
        if (rank == 1) std::this_thread::sleep_for(1000s);
        return std::string();
      },
      100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
  EXPECT_TRUE(ends[0].has_returned());
  EXPECT_EQ(ends[1].death, "had not ended 100 ms after the first rank, and was killed");
}

TEST(RunProcesses, AStoppedProcessContinuesWhenAllOthersHaveEnded) {
  const auto ends = run_processes(
      3,
      [](int rank) {
        if (rank == 1) ::kill(::getpid(), SIGSTOP);
        if (rank == 2) std::this_thread::sleep_for(100ms);
        return std::string("well");
      },
      10s);
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.result, "well") << end.death;
}

// Together longer than the grace after the first.
TEST(RunProcesses, AStoppedProcessHasItsTimeFromWhenItContinues) {
  const auto ends = run_processes(
      3,
      [](int rank) {
        if (rank == 1) ::kill(::getpid(), SIGSTOP);
        if (rank != 0) std::this_thread::sleep_for(1200ms);
        return std::string("well");
      },
      2s);
  for (const ProcessEnd& end : ends) EXPECT_EQ(end.result, "well") << end.death;
}

TEST(RunProcesses, AllOfThemMayHaveSoLongOnly) {
  const auto ends = run_processes(
      1,
      [](int) {
        std::this_thread::sleep_for(1000s);
        return std::string();
      },
      ProcessLimits{.in_all = 100ms});
  EXPECT_EQ(ends[0].death, "had not ended after 100 ms, and was killed");
}

TEST(RunProcesses, AStoppedProcessContinuesWhenAllowed) {
  int asked = 0;
  const auto ends = run_processes(
      1,
      [](int) {
        ::kill(::getpid(), SIGSTOP);
        return std::string("well");
      },
      ProcessLimits{.in_all = 60s, .may_go_on = [&asked] { return ++asked > 2; }});
  EXPECT_EQ(ends[0].result, "well") << ends[0].death;
  EXPECT_EQ(asked, 3);
}

// Whether a process of this number exists and is not just waiting to be reaped.
bool is_alive(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  return static_cast<bool>(status >> number >> name >> state) && state != "Z" && state != "X";
}

TEST(RunProcesses, NoneOutlivesItsParentHoweverThatEnds) {
  const std::string folder = test::temporary_directory();
  const auto note = [&folder](int rank) { return folder + "rank" + std::to_string(rank); };
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    run_processes(
        2,
        [&note](int rank) -> std::string {
          std::ofstream(note(rank)) << ::getpid() << '\n';
          std::this_thread::sleep_for(1000s);
          return {};
        },
        1000s);
    ::_exit(0);
  }
  std::vector<pid_t> ranks;
  while (ranks.size() < 2) {
    pid_t process = 0;
    if (std::ifstream(note(static_cast<int>(ranks.size()))) >> process) ranks.push_back(process);
  }
  EXPECT_TRUE(is_alive(ranks[0]) && is_alive(ranks[1]));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (is_alive(ranks[0]) || is_alive(ranks[1])) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "a rank has outlived its parent";
    std::this_thread::sleep_for(5ms);
  }
}

TEST(RunProcesses, SaysTheSignalThatKilledOne) {
  const auto ends = run_processes(
      2,
      [](int rank) -> std::string {
        if (rank == 1) ::raise(SIGKILL);
        return "";
      },
      10s);
  EXPECT_TRUE(ends[0].has_returned()) << "nothing, but it has returned";
  EXPECT_EQ(ends[0].signal, 0);
  EXPECT_EQ(ends[1].signal, SIGKILL);
  EXPECT_EQ(ends[1].result, "");
}

TEST(RunProcesses, WhatThisProcessHasNotWrittenYetIsWrittenOnce) {
  const std::string path = test::temporary_directory() + "buffered";
  const pid_t process = ::fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    if (std::freopen(path.c_str(), "w", stdout) == nullptr) ::_exit(1);
    std::cout << "before\n";
    std::fputs("and\n", stdout);
    run_processes(
        2,
        [](int rank) {
          if (rank == 1) std::cout << "a rank\n";
          return std::string();
        },
        10s);
    std::cout.flush();
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::waitpid(process, nullptr, 0);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "before\nand\na rank\n");
}

TEST(RunProcesses, AStoppedProcessHasTheGraceAnewAndNoMore) {
  const auto ends = run_processes(
      2,
      [](int rank) {
        if (rank == 1) {
          ::kill(::getpid(), SIGSTOP);
          std::this_thread::sleep_for(1000s);
        }
        return std::string();
      },
      200ms);
  EXPECT_EQ(ends[1].death, "had not ended 200 ms after the first rank, and was killed");
}

TEST(RunProcesses, AProcessMayStopAgain) {
  const auto ends = run_processes(
      1,
      [](int) {
        ::kill(::getpid(), SIGSTOP);
        ::kill(::getpid(), SIGSTOP);
        return std::string("well");
      },
      20s);
  EXPECT_EQ(ends[0].result, "well") << ends[0].death;
}

}  // namespace
}  // namespace gang::harness
