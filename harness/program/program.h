// A gang program: what each rank runs, as a value.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/output.h"
#include "harness/program/parameter.h"
#include "harness/program/rank.h"

namespace gang::harness {

// A program for any backend: a name, a line for people, and what each rank does.
//
//   Program{"train", "one data-parallel step", train}
//
// is enough; the rest has defaults. A value: copies share the functions' state.
struct Program {
  using Run = std::function<void(Rank&)>;

  // Checks the outputs of all ranks (data kept) of a run that completed. A text says what is wrong
  // and becomes the finding wrong_result.
  using Check = std::function<std::optional<std::string>(const Outputs&)>;

  // Throws InvalidArgument if the program cannot run like this (sizes that do not divide, ...): bad
  // input, reported before any rank starts.
  using Validate = std::function<void(int world_size, const ParameterValues&)>;

  std::string name;
  std::string description;
  Run run;
  std::vector<Parameter> parameters = {};
  Check check = nullptr;
  Validate validate = nullptr;
  int default_world_size = 8;
  std::string source = {};  // of an interpreted program, for the fingerprint; else empty

  // Its own options of a run, by name ("execution"), as in a scenario file.
  std::map<std::string, std::string> options = {};

  // The finding that a program which is wrong on purpose gives; else empty.
  std::string finding = {};
};

// The program called `name`. Throws InvalidArgument that lists the names and suggests the nearest.
const Program& find_program(const std::vector<Program>& programs, std::string_view name);

// Tells programs, and versions of one, apart: covers the name, the parameters and `source`. (Not
// the code of a C++ program: replay finds where that differs.)
std::uint64_t fingerprint(const Program& program);

}  // namespace gang::harness
