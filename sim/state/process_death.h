// How the process of a rank ended that did not end well.
#pragma once

#include <string>

namespace gang::sim {

struct ProcessDeath {
  bool was_killed = false;  // by somebody or something, not by itself
  std::string what;         // "killed by signal 9", "exited with status 3"
  std::string detail = {};  // "Killed": said once; or empty

  // "was killed by signal 9"; of more ranks than one, "were killed by signal 9".
  std::string text(bool is_of_one = true) const {
    if (!was_killed) return what;
    return (is_of_one ? "was " : "were ") + what;
  }
  std::string full_text(bool is_of_one = true) const {
    return text(is_of_one) + (detail.empty() ? "" : " (" + detail + ")");
  }
};

}  // namespace gang::sim
