#include "tools/commands/measured_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::tools {
namespace {

[[noreturn]] void fail(const std::string& name, int error) {
  throw NotSupported(
      fmt::format("cannot run {}: {}", name, std::generic_category().message(error)));
}

// Everything that can be read until the other end closes.
std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = ::read(descriptor, buffer, sizeof buffer)) > 0 || (size < 0 && errno == EINTR))
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
  return text;
}

}  // namespace

MeasuredProcess run_measured(const std::vector<std::string>& arguments) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) fail(arguments.front(), errno);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  if (error != 0) {
    ::close(pipe_ends[0]);
    fail(arguments.front(), error);
  }

  MeasuredProcess process;
  process.output = read_all(pipe_ends[0]);
  ::close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  process.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  process.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return process;
}

MeasuredProcess run_checked(const std::vector<std::string>& arguments) {
  MeasuredProcess process = run_measured(arguments);
  if (process.exit_status == 0) return process;
  throw NotSupported(fmt::format("'{}' ended with exit status {}", fmt::join(arguments, " "),
                                 process.exit_status));
}

std::string executable_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::optional<std::string> find_executable(const std::string& name, const std::string& path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate = path.substr(begin, end - begin);
    candidate.append("/").append(name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace gang::tools
