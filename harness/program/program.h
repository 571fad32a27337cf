// A gang program: what every rank runs, as a value.
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

  // Looks at the outputs of all ranks (data kept) of a run that completed; a text says what is
  // wrong and becomes the finding wrong_result.
  using Check = std::function<std::optional<std::string>(const Outputs&)>;

  // Throws InvalidArgument where the program cannot run so (sizes that do not divide, ...): bad
  // input, told before any rank starts.
  using Validate = std::function<void(int world_size, const ParameterValues&)>;

  std::string name;
  std::string description;
  Run run;
  std::vector<Parameter> parameters = {};
  Check check = nullptr;
  Validate validate = nullptr;
  int default_world_size = 8;
  std::string source = {};  // of an interpreted program, for the fingerprint; else empty

  // Options of a run that it comes with, by name ("execution"), as a scenario file has them.
  std::map<std::string, std::string> options = {};

  // Of a program that is wrong on purpose: the finding that it gives. Else empty.
  std::string finding = {};
};

// The program called `name`. Throws InvalidArgument that lists the names and suggests the nearest.
const Program& find_program(const std::vector<Program>& programs, std::string_view name);

// Tells programs, and versions of one, apart: covers the name, the parameters and `source`. (Code
// of a C++ program is not seen: replay finds out where it differs.)
std::uint64_t fingerprint(const Program& program);

}  // namespace gang::harness
