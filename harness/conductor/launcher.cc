#include "harness/conductor/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/environment.h"
#include "gang/error.h"
#include "harness/conductor/interrupt.h"

namespace gang::harness {
namespace {

Descriptor pidfd_of(pid_t process) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

// What a started process gets.
struct Start {
  const std::vector<std::string>& words;
  const ProcessEnvironment& environment;  // added to that of this process
  int out = STDOUT_FILENO;
  int err = STDERR_FILENO;
  int kept = -1;  // a descriptor that it inherits
  // Out of reach of the terminal: an interrupt is the conductor's, and there is no input.
  bool is_in_background = false;
  // The system ends it with the thread that started it, and only the main thread lives as long as
  // this process. What another thread starts, such as a rank's, is left to the janitor.
  bool ends_with_starter = ::getpid() == ::gettid();
};

// Runs in the new process, between fork and exec: only what is safe there.
[[noreturn]] void become(const Start& start, char* const* words, char* const* environment,
                         pid_t parent, int failure) {
  if (start.ends_with_starter) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (start.out != STDOUT_FILENO) ::dup2(start.out, STDOUT_FILENO);
  if (start.err != STDERR_FILENO) ::dup2(start.err, STDERR_FILENO);
  if (start.kept >= 0) ::fcntl(start.kept, F_SETFD, 0);
  if (start.is_in_background) {
    ::setpgid(0, 0);
    if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0)
      if (::isatty(STDIN_FILENO) != 0) ::dup2(nothing, STDIN_FILENO);
  }
  ::execvpe(words[0], words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

// Throws InvalidArgument if the command cannot be started.
pid_t start_process(const Start& start) {
  EnvironmentVariables variables = process_environment();
  for (const auto& [name, value] : start.environment) variables[name] = value;
  std::vector<std::string> texts;
  texts.reserve(variables.size());
  for (const auto& [name, value] : variables) texts.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::vector<char*> words;
  for (const std::string& word : start.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  std::array<int, 2> failure{};
  if (::pipe2(failure.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "a pipe for a process");
  const Descriptor failed(failure[0]);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "a process");
  if (process == 0) become(start, words.data(), environment.data(), parent, failure[1]);
  ::close(failure[1]);
  int error = 0;
  if (::read(failed.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(process, nullptr, 0);
    throw InvalidArgument(
        fmt::format("cannot start {}: {}", start.words.front(), std::strerror(error)));
  }
  return process;
}

void end_process(pid_t process) noexcept {
  if (process <= 0) return;
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

std::vector<std::string> words_for(const PythonProgram& program,
                                   const std::vector<std::string>& own) {
  if (program.is_plain) {
    std::vector<std::string> words = program.words;
    words.insert(words.begin(), program.python);
    return words;
  }
  std::vector<std::string> words = {program.python, program.packages + "/gangsim/zygote.py"};
  words.insert(words.end(), own.begin(), own.end());
  if (program.with_torch) words.emplace_back("--torch");
  words.emplace_back("--");
  words.insert(words.end(), program.words.begin(), program.words.end());
  return words;
}

// What all processes of a run have in their environment, and no others.
std::string mark_of(const ProcessEnvironment& environment) {
  const auto socket = environment.find(socket_variable);
  return socket == environment.end() ? "" : fmt::format("{}={}", socket->first, socket->second);
}

// The script, or the module of -m.
const std::string& name_of(const PythonProgram& program) {
  const bool is_module = program.words.size() > 1 && program.words.front() == "-m";
  return program.words[is_module ? 1 : 0];
}

}  // namespace

std::vector<std::string> words_for_threads(const PythonProgram& program, int world_size) {
  return words_for(program, {"--threads", std::to_string(world_size)});
}

// -- A command --

CommandLauncher::CommandLauncher(Poller& poller, const std::vector<std::string>& words,
                                 const ProcessEnvironment& environment)
    : offspring_(mark_of(environment)), poller_(poller), name_(words.front()) {
  process_ = start_process({.words = words, .environment = environment});
  ended_by_ = pidfd_of(process_);
  poller_.add(ended_by_.get(), [this] {
    ::waitpid(process_, &status_, 0);
    poller_.remove(ended_by_.get());
    process_ = 0;
  });
}

CommandLauncher::~CommandLauncher() {
  poller_.remove(ended_by_.get());
  if (process_ == 0) return;
  // Launchers end their workers when they are told to; the ranks have ended already.
  ::kill(process_, SIGTERM);
  for (int i = 0; i < 50; ++i) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0) return;
    ::usleep(20'000);
  }
  end_process(process_);
}

bool CommandLauncher::await_end(Duration limit) {
  const auto begun = std::chrono::steady_clock::now();
  while (status_ < 0 && std::chrono::steady_clock::now() - begun < limit)
    poller_.poll(std::chrono::milliseconds(100));
  return status_ == 0;
}

std::string CommandLauncher::why_none_can_come() const {
  if (status_ < 0) return "";
  return WIFSIGNALED(status_)
             ? fmt::format("{} was killed by signal {}", name_, WTERMSIG(status_))
             : fmt::format("{} exited with status {}", name_, WEXITSTATUS(status_));
}

// -- Forks of one process --

ForkLauncher::ForkLauncher(Poller& poller, const PythonProgram& program,
                           const ProcessEnvironment& environment, Events events)
    : offspring_(mark_of(environment)), poller_(poller), events_(std::move(events)) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket pair");
  control_ = Descriptor(sockets[0]);
  Descriptor theirs(sockets[1]);
  process_ =
      start_process({.words = words_for(program, {"--control", std::to_string(theirs.get())}),
                     .environment = environment,
                     .kept = theirs.get(),
                     .is_in_background = true});
  theirs.close();  // so that its end is heard of
  poller_.add(control_.get(), [this] { hear(); });
  await_ready(name_of(program));
}

ForkLauncher::~ForkLauncher() {
  poller_.remove(control_.get());
  end_process(process_);
}

void ForkLauncher::await_ready(const std::string& program) {
  try {
    while (!is_ready_ && error_.empty()) {
      poller_.poll(std::chrono::milliseconds(100));
      Interrupt::check(fmt::format("the imports of {}", program));
    }
  } catch (const Interrupted&) {
    end_process(std::exchange(process_, 0));
    throw;
  }
  if (error_.empty()) return;
  end_process(std::exchange(process_, 0));
  poller_.remove(control_.get());
  throw InvalidArgument(error_);
}

void ForkLauncher::hear() {
  std::string message(65536, '\0');
  const ssize_t got = ::recv(control_.get(), message.data(), message.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    poller_.remove(control_.get());
    error_ = "the process that starts the ranks has ended";
    for (const pid_t rank : std::exchange(ranks_, {})) events_.ended(rank, SIGKILL);  // with it
    return;
  }
  message.resize(static_cast<std::size_t>(got));
  handle(message);
}

void ForkLauncher::handle(const std::string& message) {
  const nlohmann::json json = nlohmann::json::parse(message);
  if (json.contains("ready")) is_ready_ = true;
  if (json.contains("error")) error_ = json["error"].get<std::string>();
  if (json.contains("forked")) {
    const int rank = json["forked"].get<int>();
    const pid_t process = json["pid"].get<pid_t>();
    ranks_.insert(process);
    former_.erase(process);
    if (late_[rank] > 0) {
      --late_[rank];
      former_.insert(process);
      ::kill(process, SIGKILL);
    } else {
      launched_.insert(process);
      --awaited_[rank];
      events_.started(rank, process);
    }
  }
  if (json.contains("exited")) {
    ranks_.erase(json["exited"].get<pid_t>());
    events_.ended(json["exited"].get<pid_t>(), json["status"].get<int>());
  }
}

void ForkLauncher::begin_run() {
  for (const auto& [rank, forks] : awaited_) late_[rank] += forks;
  awaited_.clear();
  former_.merge(launched_);
  launched_.clear();
}

bool ForkLauncher::is_of_earlier_run(int rank, pid_t process) {
  // What it said of its forks comes in their order.
  while (late_[rank] > 0 && error_.empty()) {
    pollfd ready{.fd = control_.get(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 100);
    hear();
  }
  return former_.contains(process);
}

void ForkLauncher::launch(int rank, const ProcessEnvironment& environment,
                          RankOutput::Pipes pipes) {
  const std::string text = nlohmann::json{{"fork", rank}, {"environment", environment}}.dump();
  iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  const std::array<int, 2> descriptors = {pipes.out.get(), pipes.err.get()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof descriptors);
  ++awaited_[rank];
  ::sendmsg(control_.get(), &message, MSG_NOSIGNAL);  // its end is heard of
}

std::string ForkLauncher::why_none_can_come() const { return error_; }

// -- Separate interpreters --

SpawnLauncher::SpawnLauncher(Poller& poller, PythonProgram program, ProcessEnvironment environment,
                             Events events)
    : offspring_(mark_of(environment)),
      poller_(poller),
      program_(std::move(program)),
      environment_(std::move(environment)),
      events_(std::move(events)) {}

SpawnLauncher::~SpawnLauncher() {
  for (const auto& [process, ended_by] : processes_) {
    poller_.remove(ended_by.get());
    end_process(process);
  }
}

void SpawnLauncher::launch(int rank, const ProcessEnvironment& environment,
                           RankOutput::Pipes pipes) {
  ProcessEnvironment all = environment_;
  all.insert(environment.begin(), environment.end());
  const pid_t process = start_process({.words = words_for(program_, {"--rank"}),
                                       .environment = all,
                                       .out = pipes.out.get(),
                                       .err = pipes.err.get(),
                                       .is_in_background = true});
  Descriptor& ended_by = processes_[process] = pidfd_of(process);
  poller_.add(ended_by.get(), [this, process] { reap(process); });
  events_.started(rank, process);
}

void SpawnLauncher::reap(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  poller_.remove(processes_.at(process).get());
  processes_.erase(process);
  events_.ended(process, status);
}

}  // namespace gang::harness
