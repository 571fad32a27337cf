// One call of a program file: "dp all_reduce sum f32[1024]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/data_type.h"
#include "gang/duration.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "harness/program_file/expression.h"
#include "harness/program_file/token.h"

namespace gang::harness::program_file {

// A tensor in a call: its type and extents.
struct TensorText {
  DataType type = DataType::f32;
  std::vector<Expression> extents;
};

// Where a call says that it stands, if it does.
struct OtherPlace {
  std::string file;
  std::uint32_t line = 0;
};

// What a rank does. Only the fields that the action and the operation use are set.
struct Call {
  enum class Action : std::uint8_t {
    operation,  // on a gang
    wait,       // for each of `works`
    wait_any,   // for one of them
    test,
    sleep,
    yield,
    fail,         // throws an exception with `label`
    end_program,  // "return"
    abort_gang,
    close_gang,
  };

  Action action = Action::operation;
  Place place;
  std::string gang;
  OperationKind operation = OperationKind::barrier;
  bool starts = false;             // the start_ form
  std::vector<std::string> works;  // a start_ form's name for its work; none: dropped
  TensorText tensor;
  ReduceOperation reduce_operation = ReduceOperation::sum;
  std::optional<Expression> peer;   // root, destination, source; none: any rank, or root 0
  std::optional<Expression> tag;    // none: any tag
  std::optional<Expression> count;  // objects of broadcast_objects
  // create_gang: its ranks; all_gather: elements by rank, or none if all give as many.
  std::vector<Expression> by_rank;
  std::optional<Expression> color;  // split; none: no color
  std::optional<Expression> key;
  std::string created;               // create_gang, split: the name of the new gang
  std::vector<Call> batch;           // sends and receives
  std::string label;                 // of a throw: what it says
  std::optional<Duration> duration;  // of a sleep; otherwise the timeout
  bool names_all_missing = false;    // monitored_barrier

  OtherPlace other_place;

  // Valid as long as the call.
  CallSite site() const noexcept {
    return other_place.file.empty() ? CallSite::at(place.file, place.line)
                                    : CallSite::at(other_place.file.c_str(), other_place.line);
  }
};

// Parses one call. `place` is that of the first character of `line`.
// Throws InvalidArgument: file, line, column, what was expected, what was found.
Call parse_call(std::string_view line, const Place& place);

}  // namespace gang::harness::program_file
