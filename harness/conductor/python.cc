#include "harness/conductor/python.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/environment.h"
#include "gang/error.h"
#include "harness/run/run_specification.h"

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

bool can_import(const std::string& python, const std::string& module) {
  const std::string command = fmt::format(
      "{} -c 'import importlib.util as u, sys; sys.exit(u.find_spec(\"{}\") is None)' "
      ">/dev/null 2>&1",
      shell_quoted(python), module);
  return std::system(command.c_str()) == 0;
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
