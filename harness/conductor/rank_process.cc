#include "harness/conductor/rank_process.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace gang::harness {
namespace {

bool is_asleep(const std::filesystem::path& thread) {
  std::ifstream file(thread / "syscall");
  long number = -1;
  std::uint64_t first = 0;
  return (file >> number >> std::hex >> first) && is_sleep(number, first);
}

std::filesystem::path tasks_of(pid_t process) { return fmt::format("/proc/{}/task", process); }

// The state and the processor ticks of a thread, as /proc shows them.
struct ThreadStatus {
  char state = 'S';
  std::uint64_t ticks = 0;
};

std::optional<ThreadStatus> status_of(const std::filesystem::path& thread) {
  std::ifstream file(thread / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The second field is a name in parentheses, which may hold anything. The third is the state, the
  // 14th and 15th are the ticks in user and kernel mode.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  ThreadStatus status;
  fields >> status.state;
  std::string skipped;
  for (int i = 4; i < 14; ++i) fields >> skipped;
  std::uint64_t user = 0;
  std::uint64_t kernel = 0;
  if (!(fields >> user >> kernel)) return std::nullopt;
  status.ticks = user + kernel;
  return status;
}

// Adds what the threads of a process use, and the processes that it has started, as it may wait for
// those. Returns false if the process is gone.
bool add_use(pid_t process, ProcessorUse& use) {
  const std::string asking = std::to_string(::syscall(SYS_gettid));
  bool has_threads = false;
  std::error_code gone;
  for (auto entry = std::filesystem::directory_iterator(tasks_of(process), gone);
       !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
    const std::optional<ThreadStatus> status = status_of(entry->path());
    if (!status) continue;
    has_threads = true;
    // In a test, ranks are threads of this process. The one that asks is none of them.
    if (entry->path().filename() == asking) continue;
    use.ticks += status->ticks;
    // One that waits for a processor is as busy as one that has it.
    use.is_busy = use.is_busy || status->state == 'R' || status->state == 'D';
    std::ifstream children(entry->path() / "children");
    for (pid_t child = 0; children >> child;) add_use(child, use);
  }
  return has_threads;
}

}  // namespace

bool is_sleep(long system_call, std::uint64_t first_argument) noexcept {
  if (system_call == SYS_nanosleep || system_call == SYS_clock_nanosleep) return true;
#ifdef SYS_select
  if (system_call == SYS_select) return first_argument == 0;
#endif
  return system_call == SYS_pselect6 && first_argument == 0;
}

void RankProcess::begin_call(Caller& caller, const CallSite& call_site) {
  const auto since = std::exchange(caller.outside_since, caller.spoke_at);
  gangs.note_outside({.begin = since - caller.ahead,
                      .end = caller.spoke_at - caller.ahead,
                      .call_site = call_site});
}

std::optional<sim::ProcessDeath> death_of(const RankProcess& process) {
  if (!process.wait_status || *process.wait_status == 0) return std::nullopt;
  const int status = *process.wait_status;
  if (WIFSIGNALED(status))
    return sim::ProcessDeath{.was_killed = true,
                             .what = fmt::format("killed by signal {}", WTERMSIG(status)),
                             .detail = ::strsignal(WTERMSIG(status))};
  return sim::ProcessDeath{.what = fmt::format("exited with status {}", WEXITSTATUS(status))};
}

sim::Finding finding_of(FindingMessage message) {
  sim::Finding finding;
  finding.id = std::move(message.id);
  finding.message = std::move(message.message);
  finding.ranks = std::move(message.ranks);
  if (message.call_site.line() != 0) finding.location = location_of(message.call_site);
  return finding;
}

std::optional<ProcessorUse> processor_use(pid_t process, pid_t thread) {
  ProcessorUse use;
  if (!add_use(process, use)) return std::nullopt;
  use.is_sleeping = is_asleep(tasks_of(process) / std::to_string(thread == 0 ? process : thread));
  return use;
}

}  // namespace gang::harness
