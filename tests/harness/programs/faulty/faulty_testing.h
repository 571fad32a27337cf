// Asks the programs of one file in a test.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/program_source.h"
#include "harness/programs/faulty/all_faulty_programs.h"

namespace gang::harness {

// A run of `faulty` with its own options; `world_size` 0: its default.
inline RunResult run_faulty(const FaultyProgram& faulty, bool is_fixed = false,
                            int world_size = 0) {
  const Program program = to_program(faulty);
  RunSpecification specification = find_program_source({program}, program.name).specification;
  if (is_fixed) specification.parameters["fixed"] = "true";
  if (world_size != 0) specification.world_size = world_size;
  return run(program, specification);
}

inline const FaultyProgram& find_faulty(const std::vector<FaultyProgram>& programs,
                                        const std::string& name) {
  for (const FaultyProgram& faulty : programs)
    if (faulty.name == name) return faulty;
  throw std::out_of_range(name);
}

// The sentences of the only finding of a program.
inline std::string message_of(const std::vector<FaultyProgram>& programs, const std::string& name) {
  const RunResult result = run_faulty(find_faulty(programs, name));
  return result.report.findings.size() == 1 ? result.report.findings.front().message
                                            : "not one finding";
}

// In larger worlds than the default one each has its finding and its twin has none.
inline void expect_alike_in_larger_worlds(const std::vector<FaultyProgram>& programs) {
  EXPECT_FALSE(programs.empty());
  for (const FaultyProgram& faulty : programs) {
    SCOPED_TRACE(faulty.name);
    for (const int factor : {2, 3}) {
      const int world_size = factor * faulty.default_world_size;
      const RunResult corrected = run_faulty(faulty, true, world_size);
      EXPECT_TRUE(corrected.holds()) << to_string(corrected);
      const RunResult wrong = run_faulty(faulty, false, world_size);
      if (faulty.shown_in == ShownIn::some_schedules && wrong.holds()) continue;
      ASSERT_FALSE(wrong.report.findings.empty());
      for (const sim::Finding& finding : wrong.report.findings)
        EXPECT_EQ(finding.id, faulty.finding) << to_string(wrong);
    }
  }
}

}  // namespace gang::harness
