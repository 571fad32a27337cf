#include "harness/conductor/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/environment.h"
#include "gang/error.h"
#include "harness/conductor/interrupt.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

// Each interpreter once, although folders of PATH may be links to each other.
std::vector<std::string> pythons() {
  const EnvironmentVariables variables = process_environment();
  const auto path = variables.find("PATH");
  std::istringstream folders(path == variables.end() ? "/usr/bin:/bin" : path->second);
  std::vector<std::string> found;
  std::set<fs::path> known;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    std::error_code error;
    const fs::path real = fs::canonical(fs::path(folder), error);
    if (!error && ::access(python.c_str(), X_OK) == 0 && known.insert(real).second)
      found.push_back(python.string());
  }
  return found;
}

// Not by std::system, which ignores interrupts meanwhile.
bool can_import(const std::string& python, const std::string& module) {
  std::array<std::string, 3> texts = {
      python, "-c",
      fmt::format("import importlib.util as u, sys; sys.exit(u.find_spec('{}') is None)", module)};
  std::array<char*, 4> words = {texts[0].data(), texts[1].data(), texts[2].data(), nullptr};
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&quiet, standard, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, python.c_str(), &quiet, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  if (error != 0) return false;
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  Interrupt::check(fmt::format("a Python that can import {}", module));
  return status == 0;
}

}  // namespace

std::string find_python(const std::string& given, const std::string& module) {
  if (!given.empty()) return given;
  const std::vector<std::string> all = pythons();
  for (const std::string& python : all)
    if (module.empty() || can_import(python, module)) return python;
  if (all.empty()) throw NotSupported("there is no python3 in PATH");
  throw NotSupported(
      fmt::format("no Python in PATH can import {} (tried {}); name one with --python", module,
                  fmt::join(all, ", ")));
}

std::string find_packages() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = binary.parent_path();
  // As installed: bin/ and share/gangsim/python; in a build tree: build/PRESET/tools.
  for (const char* place : {"../share/gangsim/python", "../../../harness/python"}) {
    const fs::path packages = (folder / place).lexically_normal();
    if (fs::exists(packages / "gangsim" / "__init__.py", error)) return packages.string();
  }
  throw NotSupported(
      fmt::format("the Python package gangsim is not installed beside {}", binary.string()));
}

}  // namespace gang::harness
