#include "harness/conductor/rest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
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

std::string tasks_of(const RankProcess& process) {
  return fmt::format("/proc/{}/task", process.id);
}

// The beginning of a file of /proc; empty if it cannot be read.
std::string proc_text(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// None if it is in no call, or runs. `thread`: its folder.
std::optional<SystemCall> system_call_of(const std::string& thread) {
  std::istringstream text(proc_text(thread + "/syscall"));
  SystemCall call;
  if (!(text >> call.number) || call.number < 0) return std::nullopt;
  for (std::uint64_t& argument : call.arguments)
    if (!(text >> std::hex >> argument)) return std::nullopt;
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

// Whether it waits for a lock of whatever kind, or sleeps until a time that it knows.
bool waits_or_sleeps(const SystemCall& call) noexcept {
  return call.number == SYS_futex || is_sleep(call.number, call.arguments[0]);
}

// Whether it waits, for others or for some time: not for a file, which comes by itself, and not for
// what is sent to it, which may be our first answer.
bool is_idle(const SystemCall& call) noexcept {
  constexpr std::array waits = {SYS_epoll_pwait, SYS_ppoll,
#ifdef SYS_poll
                                SYS_poll, SYS_epoll_wait,
#endif
                                SYS_pselect6};
  return waits_or_sleeps(call) || std::ranges::find(waits, call.number) != waits.end();
}

bool is_of(const Caller& caller, pid_t thread) noexcept {
  return static_cast<pid_t>(caller.hello.thread) == thread;
}

// Whether the thread has sent what we answer later.
bool awaits_answer(const RankProcess& process, pid_t thread) {
  return std::ranges::any_of(process.callers, [thread](const auto& caller) {
    return is_of(*caller, thread) && (caller->awaits_answer || caller->connection.has_frame());
  });
}

bool is_asked_by_us(const RankProcess& process, pid_t thread) {
  return process.watcher && is_of(*process.watcher, thread);
}

// What the status of a thread says of it.
struct WaitStatus {
  char state = 0;                // as /proc names it: R runs, S sleeps, D waits for a disk
  std::uint64_t waits = 0;       // how often it has waited so far
  bool catches_signals = false;  // that come by themselves: from a timer, or as a child ends
};

std::optional<WaitStatus> wait_status_of(const std::string& thread) {
  std::istringstream words(proc_text(thread + "/status"));
  WaitStatus status;
  int found = 0;
  for (std::string word; words >> word;) {
    if (word == "State:") words >> status.state;
    const bool is_mask = word == "SigCgt:";
    if (!is_mask && word != "voluntary_ctxt_switches:" && word != "nonvoluntary_ctxt_switches:")
      continue;
    std::uint64_t number = 0;
    words >> (is_mask ? std::hex : std::dec) >> number;
    if (is_mask)
      status.catches_signals = ((number >> (SIGALRM - 1) | number >> (SIGCHLD - 1)) & 1) != 0;
    else
      status.waits += number;
    ++found;
  }
  return found == 3 ? std::optional(status) : std::nullopt;
}

struct WaitingThread {
  pid_t id = 0;
  std::uint64_t waits = 0;
  Stillness is = Stillness::none;

  friend bool operator==(const WaitingThread&, const WaitingThread&) = default;
};

Stillness stillness_of_thread(const std::string& path, const RankProcess& process, pid_t thread) {
  const std::optional<SystemCall> call = system_call_of(path);
  if (!call) return Stillness::none;
  if (waits_for_thread(*call)) return Stillness::at_rest;
  if (receives(*call) && (awaits_answer(process, thread) || is_asked_by_us(process, thread)))
    return Stillness::at_rest;
  return is_idle(*call) ? Stillness::dozing : Stillness::none;
}

// All threads of the process; of one that is several ranks, those of this rank that have called.
std::vector<pid_t> threads_of(const RankProcess& process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (auto entry = std::filesystem::directory_iterator(tasks_of(process), gone);
       !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
    const auto thread = static_cast<pid_t>(std::stol(entry->path().filename()));
    const auto is_it = [thread](const auto& caller) { return is_of(*caller, thread); };
    if (!process.is_shared || std::ranges::any_of(process.callers, is_it))
      threads.push_back(thread);
  }
  if (gone) threads.clear();
  return threads;
}

// All of these threads, if all of them wait; otherwise none.
std::vector<WaitingThread> waiting_threads(const RankProcess& process) {
  std::vector<WaitingThread> threads;
  for (const pid_t id : threads_of(process)) {
    const std::string path = fmt::format("{}/{}", tasks_of(process), id);
    const std::optional<WaitStatus> status = wait_status_of(path);
    WaitingThread thread{.id = id, .is = stillness_of_thread(path, process, id)};
    // One that is being woken is still shown in its system call until it runs, but not as asleep.
    if (!status || status->state != 'S' || thread.is == Stillness::none) return {};
    if (status->catches_signals) thread.is = Stillness::dozing;
    thread.waits = status->waits;
    threads.push_back(thread);
  }
  return threads;
}

}  // namespace

ThreadLook look_at(const RankProcess& process, pid_t thread) {
  const std::optional<WaitStatus> status =
      wait_status_of(fmt::format("{}/{}", tasks_of(process), thread));
  if (!status) return {};
  const bool works = status->state == 'R' || status->state == 'D';
  return {.activity = works ? Activity::works : Activity::waits, .waits = status->waits};
}

bool sleeps(const RankProcess& process, pid_t thread) {
  const pid_t id = thread == 0 ? process.id : thread;
  const std::optional<SystemCall> call =
      system_call_of(fmt::format("{}/{}", tasks_of(process), id));
  return call && is_sleep(call->number, call->arguments[0]);
}

Stillness stillness_of(const RankProcess& process, pid_t thread) {
  if (process.id == 0 || process.has_ended) return Stillness::none;
  const pid_t first = thread == 0 ? process.id : thread;
  const std::optional<SystemCall> call =
      system_call_of(fmt::format("{}/{}", tasks_of(process), first));
  if (!call || !(waits_or_sleeps(*call) || receives(*call))) return Stillness::none;
  // One that was seen to wait may since have been woken by one that was seen later. If none has
  // waited anew, all waited at once, between the two looks.
  const std::vector<WaitingThread> before = waiting_threads(process);
  if (before.empty() || before != waiting_threads(process)) return Stillness::none;
  const auto is_at_rest = [](const WaitingThread& one) { return one.is == Stillness::at_rest; };
  if (!process.is_shared && std::ranges::all_of(before, is_at_rest)) return Stillness::at_rest;
  const bool is_a_call_open = std::ranges::any_of(
      before, [&](const WaitingThread& one) { return awaits_answer(process, one.id); });
  return waits_or_sleeps(*call) && is_a_call_open ? Stillness::dozing : Stillness::none;
}

}  // namespace gang::harness
