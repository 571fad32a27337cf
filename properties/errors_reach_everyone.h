// When one rank fails, every member gets an error and no survivor hangs.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

enum class Failure : std::uint8_t {
  throws,  // an exception leaves the rank's program
  aborts,  // the rank aborts its gang and continues
};

// One rank of a program fails before one of its steps.
struct FailureCase {
  GangProgram program;
  Failure failure = Failure::throws;
  int rank = 0;  // modulo the world
  int step = 0;  // modulo the steps

  int failing_rank() const noexcept { return rank % program.world; }
  std::size_t failing_step() const noexcept {
    return static_cast<std::size_t>(step) % program.steps.size();
  }
  friend bool operator==(const FailureCase&, const FailureCase&) = default;
};

FailureCase generate_failure(Draw& draw);
std::string to_text(const FailureCase& failure);
std::vector<FailureCase> shrinks(const FailureCase& failure);

std::vector<Property> errors_reach_everyone(const Subject& subject = {});

}  // namespace gang::properties
