// Members that call different operations get an error, and the odd one out is named.
#pragma once

#include <string>
#include <vector>

#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// The field of the match in which one rank's call differs.
enum class MatchField : std::uint8_t {
  operation,
  count,
  data_type,
  reduce_operation,
  root,
  label,
  blocking,
  ranks,
};

// One rank of a world differs in one field of one call, after calls that matched.
struct MismatchCase {
  MatchField field = MatchField::operation;
  OperationKind kind = OperationKind::all_reduce;
  int world = 3;
  int odd_rank = 0;
  int calls_before = 0;
  int count = 1;
  sim::SchedulerKind scheduler = sim::SchedulerKind::round_robin;
  std::uint64_t seed = 1;

  friend bool operator==(const MismatchCase&, const MismatchCase&) = default;
};

MismatchCase generate_mismatch(Draw& draw);
std::string to_text(const MismatchCase& mismatch);
std::vector<MismatchCase> shrinks(const MismatchCase& mismatch);

std::vector<Property> mismatches_are_found(const Subject& subject = {});

}  // namespace gang::properties
