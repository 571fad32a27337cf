#include "tests/harness/programs/faulty/faulty_testing.h"

#include <algorithm>
#include <stdexcept>

#include "harness/program_file/program_source.h"
#include "harness/programs/faulty/faulty_program.h"

namespace gang::harness {

RunResult run_faulty(const FaultyProgram& faulty, bool is_fixed, int world_size) {
  const Program program = to_program(faulty);
  RunSpecification specification = find_program_source({program}, program.name).specification;
  if (is_fixed) specification.parameters["fixed"] = "true";
  if (world_size != 0) specification.world_size = world_size;
  return run(program, specification);
}

FaultyProgram find_faulty(FaultyFile& file, const std::string& name) {
  const std::vector<FaultyProgram> programs = file();
  const auto found = std::ranges::find(programs, name, &FaultyProgram::name);
  if (found == programs.end()) throw std::out_of_range(name);
  return *found;
}

std::string message_of(FaultyFile& file, const std::string& name) {
  const RunResult result = run_faulty(find_faulty(file, name));
  return result.report.findings.size() == 1 ? sim::full_message(result.report.findings.front())
                                            : "not one finding";
}

void expect_alike(const FaultyProgram& faulty) {
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

void expect_alike_in_larger_worlds(FaultyFile& file) {
  const std::vector<FaultyProgram> programs = file();
  EXPECT_FALSE(programs.empty());
  for (const FaultyProgram& faulty : programs) expect_alike(faulty);
}

}  // namespace gang::harness
