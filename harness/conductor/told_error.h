// What a process is told of an error.
#pragma once

#include <exception>
#include <string>

#include "harness/conductor/messages.h"

namespace gang::harness {

struct ToldError {
  Status status = Status::done;
  std::string text;
};

// Null is none.
ToldError told_error(const std::exception_ptr& error);

}  // namespace gang::harness
