// Processes of a job: this test's own executable, started again for each rank.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>


namespace gang::test {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Starts this executable as a worker that dies with this process; it runs the tests that `filter`
// selects.
inline pid_t start_worker(const std::string& filter, const Variables& variables) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::execl("/proc/self/exe", "worker", ("--gtest_filter=" + filter).c_str(), "--gtest_brief=1",
          nullptr);
  ::_exit(127);
}

// The exit status of each; 1000 plus the signal for those that were killed.
inline std::vector<int> wait_for(const std::vector<pid_t>& workers) {
  std::vector<int> statuses;
  for (const pid_t worker : workers) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    statuses.push_back(WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
  }
  return statuses;
}

inline Variables environment_of(int rank, int size, std::uint16_t port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

}  // namespace gang::test
