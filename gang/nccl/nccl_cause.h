// Why an NCCL gang is broken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gang/error.h"

namespace gang {

struct NcclCause {
  GangErrorKind kind = GangErrorKind::aborted;
  std::vector<int> ranks_at_fault = {};
  std::string reason;

  friend bool operator==(const NcclCause&, const NcclCause&) = default;
};

// As members tell each other. None for a text that is no such note.
std::string to_note(const NcclCause& cause);
std::optional<NcclCause> parse_nccl_note(const std::string& note);

}  // namespace gang
