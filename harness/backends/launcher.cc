#include "harness/backends/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace gang::harness {
namespace {

using Clock = std::chrono::steady_clock;

// The first byte that a process writes: whether its body has returned or thrown.
constexpr char returned = 'r';
constexpr char threw = 't';

[[noreturn]] void throw_system_error(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader is gone
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string run_body(const std::function<std::string(int rank)>& body, int rank) {
  try {
    return returned + body(rank);
  } catch (const std::exception& error) {
    return threw + std::string(error.what());
  }
}

// One process and the pipe through which it answers. Kills and reaps it unless it has ended.
class Child {
 public:
  Child(int rank, const std::function<std::string(int rank)>& body) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw_system_error("a pipe for a rank");
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) {
      const int error = errno;
      ::close(pipe[0]);
      ::close(pipe[1]);
      errno = error;
      throw_system_error("a process for a rank");
    }
    if (process_ == 0) be_child(parent, pipe[1], [&] { return run_body(body, rank); });
    ::close(pipe[1]);
    descriptor_ = pipe[0];
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, -1)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        said_(std::move(other.said_)) {}
  Child& operator=(Child&&) = delete;

  ~Child() {
    kill();
    reap();
  }

  int descriptor() const noexcept { return descriptor_; }
  bool is_talking() const noexcept { return descriptor_ >= 0; }

  // Reads what has arrived. Whether that was the end.
  bool read_some() {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(descriptor_, buffer.data(), buffer.size());
    if (got > 0) said_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) return false;
    ::close(std::exchange(descriptor_, -1));
    return true;
  }

  // Whether it has been stopped since the last call.
  bool has_stopped() const noexcept {
    siginfo_t what{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &what, WSTOPPED | WNOHANG) == 0 &&
           what.si_pid == process_;
  }

  void go_on() const noexcept { ::kill(process_, SIGCONT); }

  void kill() noexcept {
    if (process_ > 0) ::kill(process_, SIGKILL);
    if (is_talking()) ::close(std::exchange(descriptor_, -1));
  }

  // After its end.
  ProcessEnd end(const std::string& killed_because) {
    const int status = reap();
    if (!killed_because.empty()) return {.result = "", .death = killed_because};
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      return {.result = "",
              .death = fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal)),
              .signal = signal};
    }
    if (said_.empty())
      return {.result = "", .death = fmt::format("ended with exit status {}", WEXITSTATUS(status))};
    if (said_.front() == threw) return {.result = "", .death = "failed: " + said_.substr(1)};
    return {.result = said_.substr(1), .death = ""};
  }

 private:
  template <typename Answer>
  [[noreturn]] static void be_child(pid_t parent, int descriptor, const Answer& answer) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent died before that
    ::signal(SIGPIPE, SIG_IGN);
    write_all(descriptor, answer());
    std::cout.flush();
    std::fflush(nullptr);
    ::_exit(0);
  }

  int reap() noexcept {
    int status = 0;
    const pid_t process = std::exchange(process_, -1);
    if (process > 0)
      while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
      }
    return status;
  }

  pid_t process_ = -1;
  int descriptor_ = -1;
  std::string said_;
};

// The time `duration` from now; none if that is never.
std::optional<Clock::time_point> end_of(Duration duration) {
  if (duration >= std::chrono::hours(24 * 365)) return std::nullopt;
  return Clock::now() + duration;
}

// Reads from all processes until they have ended, or until the time of the last ones is over.
class Gathering {
 public:
  Gathering(std::vector<Child>& children, const ProcessLimits& limits)
      : children_(children),
        limits_(limits),
        is_stopped_(children.size()),
        end_(end_of(limits.in_all)) {}

  // Whether the time for all is over, not only that for the last ones.
  bool is_over_for_all() const { return is_over(end_); }

  // Returns which ranks have not ended.
  std::vector<bool> run() {
    std::vector<bool> is_late(children_.size());
    for (auto open = open_descriptors(); !open.empty(); open = open_descriptors()) {
      const int ready = ::poll(open.data(), open.size(), milliseconds_left());
      if (ready < 0 && errno != EINTR) throw_system_error("waiting for ranks");
      if (ready > 0) read_from(open);
      continue_stopped();
      if (is_over(deadline_) || is_over(end_)) break;
    }
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
      is_late[rank] = children_[rank].is_talking();
    return is_late;
  }

 private:
  static bool is_over(const std::optional<Clock::time_point>& deadline) {
    return deadline && Clock::now() >= *deadline;
  }

  std::vector<pollfd> open_descriptors() const {
    std::vector<pollfd> open;
    for (const Child& child : children_)
      if (child.is_talking()) open.push_back({child.descriptor(), POLLIN, 0});
    return open;
  }

  void read_from(const std::vector<pollfd>& open) {
    for (const pollfd& one : open) {
      if (one.revents == 0) continue;
      for (Child& child : children_)
        if (child.descriptor() == one.fd && child.read_some()) start_clock();
    }
  }

  // Continues stopped processes once no other process is running; their time begins then.
  void continue_stopped() {
    bool is_any_stopped = false;
    bool is_any_at_work = false;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      if (!children_[rank].is_talking()) continue;
      if (children_[rank].has_stopped()) is_stopped_[rank] = true;
      (is_stopped_[rank] ? is_any_stopped : is_any_at_work) = true;
    }
    if (!is_any_stopped || is_any_at_work) return;
    if (limits_.may_go_on && !limits_.may_go_on()) return;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      if (children_[rank].is_talking()) children_[rank].go_on();
      is_stopped_[rank] = false;
    }
    deadline_.reset();
    start_clock();
  }

  void start_clock() {
    if (!deadline_) deadline_ = end_of(limits_.grace);
  }

  // A stopped process sends nothing, so it is polled for.
  int milliseconds_left() const {
    constexpr std::int64_t between_looks = 50;
    const auto never = Clock::time_point::max();
    const auto next = std::min(deadline_.value_or(never), end_.value_or(never));
    if (next == never) return between_looks;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, between_looks));
  }

  std::vector<Child>& children_;
  const ProcessLimits& limits_;
  std::vector<bool> is_stopped_;
  std::optional<Clock::time_point> end_;       // of all
  std::optional<Clock::time_point> deadline_;  // of those that are left
};

}  // namespace

std::vector<ProcessEnd> run_processes(int count, const std::function<std::string(int rank)>& body,
                                      const ProcessLimits& limits) {
  // Each copy would write what is still in a buffer.
  std::cout.flush();
  std::fflush(nullptr);
  std::vector<Child> children;
  children.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) children.emplace_back(rank, body);
  Gathering gathering(children, limits);
  const std::vector<bool> is_late = gathering.run();
  const std::string late =
      gathering.is_over_for_all()
          ? fmt::format("had not ended after {}, and was killed", gang::to_string(limits.in_all))
          : fmt::format("had not ended {} after the first rank, and was killed",
                        gang::to_string(limits.grace));
  for (std::size_t rank = 0; rank < children.size(); ++rank)
    if (is_late[rank]) children[rank].kill();
  std::vector<ProcessEnd> ends;
  for (std::size_t rank = 0; rank < children.size(); ++rank)
    ends.push_back(children[rank].end(is_late[rank] ? late : ""));
  return ends;
}

}  // namespace gang::harness
