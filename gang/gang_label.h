// What a gang is called in reports.
#pragma once

#include <compare>
#include <string>

namespace gang {

// A gang's name and its members as root ranks, shortened where there are many. A value.
struct GangLabel {
  std::string name;     // "dp"
  std::string members;  // "0,2", "0-1022:2", "0-2,8-11,..."

  bool empty() const noexcept { return name.empty() && members.empty(); }

  friend auto operator<=>(const GangLabel&, const GangLabel&) = default;
};

// "dp[0,2]"; empty for an empty label.
std::string to_string(const GangLabel& label);

}  // namespace gang
