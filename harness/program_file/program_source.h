// Where a program comes from: the binary's own list, a program file or a scenario file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "harness/run/runner.h"

namespace gang::harness {

// What a file says must come out of its run.
struct Expectation {
  std::optional<std::string> outcome;                // "deadlock"
  std::optional<std::vector<std::string>> findings;  // their ids: which, not how many
  std::optional<std::vector<int>> ranks;             // all that they name, ascending
  std::optional<std::vector<std::string>> at;        // the calls that they point at: "a.toml:9"

  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// A program with the specification it comes with: options and parameters of its file, if any.
struct ProgramSource {
  Program program;
  RunSpecification specification;
  Expectation expectation;
};

// The program of `programs` called `name_or_path`, or the one of the file, if that ends in ".toml",
// or what was recorded in a folder of dumps or in dumps with commas between them (RetoldProgram).
// Throws InvalidArgument: no such program (lists them), or what is wrong with the file (file, line,
// column, what is accepted) or with the dumps (read_recording).
ProgramSource find_program_source(const std::vector<Program>& programs,
                                  std::string_view name_or_path);

// One sentence on where `result` is not as expected; empty where it is.
std::string unmet_expectation(const Expectation& expectation, const RunResult& result);

}  // namespace gang::harness
