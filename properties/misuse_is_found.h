// Leaks and touched buffers are found where they are, and only there.
#pragma once

#include <string>
#include <vector>

#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// What one rank of an otherwise correct program does wrong.
enum class Misuse : std::uint8_t {
  drops_work,      // drops a started operation
  writes_input,    // changes an input in flight
  leaves_message,  // a buffered message that no rank receives
  throws,          // an exception leaves its program
};

struct MisuseCase {
  Misuse misuse = Misuse::drops_work;
  int world = 2;
  int rank = 0;
  int calls_before = 0;
  int count = 1;
  sim::SchedulerKind scheduler = sim::SchedulerKind::round_robin;
  std::uint64_t seed = 1;

  friend bool operator==(const MisuseCase&, const MisuseCase&) = default;
};

MisuseCase generate_misuse(Draw& draw);
std::string to_text(const MisuseCase& misuse);
std::vector<MisuseCase> shrinks(const MisuseCase& misuse);

std::vector<Property> misuse_is_found(const Subject& subject = {});

}  // namespace gang::properties
