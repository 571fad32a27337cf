// A .toml file: a program, or a scenario of a program by name.
#pragma once

#include <memory>
#include <string>

#include "harness/program_file/program_file.h"
#include "harness/program_file/program_source.h"

namespace gang::harness::program_file {

// What a file says. A program file has `program_file`, a scenario has `program_name`.
struct Document {
  std::shared_ptr<const ProgramFile> program_file;
  std::string program_name;
  RunSpecification specification;  // its program is the path of the file
  Expectation expectation;
  std::string source;  // the file's text
};

// Reads and parses the file at `path`. Throws InvalidArgument: file, line, column, what was found,
// what is accepted.
Document read_document(const std::string& path);

// The same of a file's text; `path` names it in errors.
Document parse_document(const std::string& path, std::string source);

}  // namespace gang::harness::program_file
