// Asks the command line in a test.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/commands/command_line.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/text/text_layout.h"
#include "tests/temporary_directory.h"

namespace gang::harness {

struct Answer {
  int status = 0;
  std::string out;
  std::string err;
};

// `variables` are the environment.
inline Answer ask(const std::vector<std::string>& arguments,
                  const EnvironmentVariables& variables = {}) {
  CommandLine command_line{.binary = "gangsim",
                           .description = "",
                           .programs = with_faulty_programs(all_programs()),
                           .commands = make_standard_commands([&variables] { return variables; }),
                           .listings = make_standard_listings()};
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str(), err.str()};
}

// The columns of the longest line.
inline std::size_t width_of(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);)
    width = std::max(width, sim::column_count(line));
  return width;
}

// A file in the tests' temporary directory.
inline std::string temporary(const std::string& name) { return test::temporary_directory() + name; }

// A program file of the tests.
inline std::string program_file(const std::string& name) {
  std::string path = GANGSIM_SOURCE_DIR "/tests/programs/";
  return path.append(name);
}

}  // namespace gang::harness
