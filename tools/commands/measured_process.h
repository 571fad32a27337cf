// A child process, with what it cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gang::tools {

struct MeasuredProcess {
  int exit_status = 0;           // 128 + signal if it was killed
  std::string output;            // what it wrote to standard output
  std::uint64_t peak_bytes = 0;  // most resident memory
};

// Runs `arguments[0]` (looked up in PATH if it has no slash) to its end; standard error is passed
// on. Blocks. Throws gang::NotSupported if it cannot be started.
MeasuredProcess run_measured(const std::vector<std::string>& arguments);

// The same of a process that must end with status 0. Throws NotSupported, too, if it does not.
MeasuredProcess run_checked(const std::vector<std::string>& arguments);

// The directory of the running executable, without a slash at the end.
std::string executable_directory();

// The executable `name` in the first directory of `path` (separated by colons) that has it.
std::optional<std::string> find_executable(const std::string& name, const std::string& path);

}  // namespace gang::tools
