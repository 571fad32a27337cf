// Programs that are wrong on purpose get their finding, and correct ones get none.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/programs/faulty/faulty_program.h"
#include "harness/run/runner.h"
#include "properties/property.h"

namespace gang::properties {

// What is under test: the real programs and the real runner, unless a test plants others.
struct FaultySubject {
  std::vector<harness::FaultyProgram> faulty;
  std::vector<harness::Program> correct;
  std::function<harness::RunResult(const harness::Program&, const harness::RunSpecification&)> run;
};
FaultySubject make_faulty_subject();

// Every program under round robin and under Settings::cases / 300 random schedules, at least one
// and at most `most_schedules`.
inline constexpr std::uint64_t most_schedules = 1000;
std::vector<Property> faulty_programs(const FaultySubject& subject = make_faulty_subject());

}  // namespace gang::properties
