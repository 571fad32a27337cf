// Why a gang of processes is broken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gang/error.h"

namespace gang {

class StoreError;

struct GangCause {
  GangErrorKind kind = GangErrorKind::aborted;
  std::vector<int> ranks_at_fault = {};
  std::string reason;
  bool is_wanted = false;  // by this rank: no reason for its watchdog to act

  friend bool operator==(const GangCause&, const GangCause&) = default;
};

// What members meet in failed them.
GangCause cause_of(const StoreError& error);

// As members tell each other; `is_wanted` is nobody else's. None for a text that is no such note.
std::string to_note(const GangCause& cause);
std::optional<GangCause> parse_note(const std::string& note);

}  // namespace gang
