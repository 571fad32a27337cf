// Runs the text of a program file in a test.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "harness/program_file/program_source.h"
#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness::program_file {

inline RunResult run_text(std::string_view text, const RunRecording& recording = {}) {
  const std::string path = test::temporary_directory() + "suspect.toml";
  OutputFile{"file", path}.commit(text);
  const ProgramSource source = find_program_source({}, path);
  return run(source.program, source.specification, recording);
}

}  // namespace gang::harness::program_file
