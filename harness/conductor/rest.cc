#include "harness/conductor/rest.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <linux/futex.h>

namespace gang::harness {
namespace {

// A system call that a thread is in, with its first four arguments.
struct SystemCall {
  long number = -1;
  std::uint64_t arguments[4] = {};
};

// None if it is in no call, or runs.
std::optional<SystemCall> system_call_of(const std::filesystem::path& thread) {
  std::ifstream file(thread / "syscall");
  SystemCall call;
  if (!(file >> call.number) || call.number < 0) return std::nullopt;
  for (std::uint64_t& argument : call.arguments)
    if (!(file >> std::hex >> argument)) return std::nullopt;
  return call;
}

// Whether only a thread of the same process ends it.
bool waits_for_thread(const SystemCall& call) noexcept {
  if (call.number != SYS_futex) return false;
  const std::uint64_t operation = call.arguments[1];
  const std::uint64_t command = operation & FUTEX_CMD_MASK;
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  return waits && (operation & FUTEX_PRIVATE_FLAG) != 0 && call.arguments[3] == 0;
}

bool receives(const SystemCall& call) noexcept {
  return call.number == SYS_recvfrom || call.number == SYS_recvmsg || call.number == SYS_read;
}

// Whether the thread has sent what we answer later, or is asked by us.
bool waits_for_us(const RankProcess& process, pid_t thread) {
  const auto is_it = [thread](const Caller& caller) {
    return static_cast<pid_t>(caller.hello.thread) == thread;
  };
  if (process.watcher && is_it(*process.watcher)) return true;
  return std::ranges::any_of(process.callers, [&](const auto& caller) {
    return is_it(*caller) && (caller->awaits_answer || caller->connection.has_frame());
  });
}

// How often the thread has waited so far.
std::optional<std::uint64_t> waits_so_far(const std::filesystem::path& thread) {
  std::ifstream file(thread / "status");
  std::uint64_t sum = 0;
  int found = 0;
  for (std::string word; file >> word;) {
    if (word != "voluntary_ctxt_switches:" && word != "nonvoluntary_ctxt_switches:") continue;
    std::uint64_t count = 0;
    file >> count;
    sum += count;
    ++found;
  }
  if (found != 2) return std::nullopt;
  return sum;
}

struct WaitingThread {
  pid_t id = 0;
  std::uint64_t waits = 0;

  friend bool operator==(const WaitingThread&, const WaitingThread&) = default;
};

// All threads, if all of them wait; otherwise none. `first` is looked at first.
std::vector<WaitingThread> waiting_threads(const RankProcess& process, pid_t first) {
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", process.id);
  const auto waits = [&](pid_t thread) {
    const auto call = system_call_of(tasks / std::to_string(thread));
    return call && (waits_for_thread(*call) || (receives(*call) && waits_for_us(process, thread)));
  };
  if (!waits(first)) return {};
  std::vector<WaitingThread> threads;
  std::error_code gone;
  for (auto entry = std::filesystem::directory_iterator(tasks, gone);
       !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
    WaitingThread thread{.id = static_cast<pid_t>(std::stol(entry->path().filename()))};
    const std::optional<std::uint64_t> so_far = waits_so_far(entry->path());
    if (!so_far || !waits(thread.id)) return {};
    thread.waits = *so_far;
    threads.push_back(thread);
  }
  if (gone) threads.clear();
  return threads;
}

}  // namespace

bool is_at_rest(const RankProcess& process, pid_t thread) {
  if (process.id == 0 || process.has_ended || process.is_shared) return false;
  const pid_t first = thread == 0 ? process.id : thread;
  const std::vector<WaitingThread> before = waiting_threads(process, first);
  // One that was seen to wait may since have been woken by one that was seen later. If none has
  // waited anew, all waited at once, between the two looks.
  return !before.empty() && before == waiting_threads(process, first);
}

}  // namespace gang::harness
