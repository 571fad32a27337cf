#include "sim/report/left_behind.h"

#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "sim/report/rank_text.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

constexpr std::array by_names = {EnumName{LeftBehindBy::unwinding, "unwinding"},
                                 EnumName{LeftBehindBy::ending, "ending"},
                                 EnumName{LeftBehindBy::swallowing, "swallowing"}};

constexpr std::array reasons = {
    std::pair{LeftBehindBy::unwinding, "blocked in a destructor or a noexcept function"},
    std::pair{LeftBehindBy::ending, "ended the process"},
    std::pair{LeftBehindBy::swallowing, "caught the end of the run and went on"}};

// "ranks 0-1 (ended the process)"; empty if `left` has none of the kind.
std::string group_text(const std::vector<LeftBehind>& left, LeftBehindBy by,
                       std::string_view reason) {
  std::set<int> ranks;
  for (const LeftBehind& context : left)
    if (context.by == by) ranks.insert(context.rank);
  if (ranks.empty()) return "";
  return fmt::format("{} ({})", ranks_text({ranks.begin(), ranks.end()}), reason);
}

}  // namespace

std::string to_string(const std::vector<LeftBehind>& left) {
  if (left.empty()) return "";
  std::string groups;
  for (const auto& [by, reason] : reasons)
    if (const std::string group = group_text(left, by, reason); !group.empty())
      groups += (groups.empty() ? "" : "; ") + group;
  const bool is_one = left.size() == 1;
  return fmt::format("{} context{} could not be unwound and leak{} {} memory: {}", left.size(),
                     is_one ? "" : "s", is_one ? "s" : "", is_one ? "its" : "their", groups);
}

nlohmann::json to_json(const LeftBehind& left) {
  return {{"rank", left.rank}, {"context", left.context}, {"by", name_of(by_names, left.by)}};
}

LeftBehind left_behind_from_json(const nlohmann::json& from) {
  return {.rank = field<int>(from, "rank"),
          .context = field<std::string>(from, "context"),
          .by = enum_field(from, "by", by_names)};
}

}  // namespace gang::sim
