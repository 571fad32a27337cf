#include "sim/finding_log.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace gang::sim {
namespace {

constexpr std::size_t most_consequences = 4;

std::string cause_of(const Finding& finding) {
  constexpr char separator = '\0';
  std::string key;
  for (const std::string* part :
       {&finding.id, &finding.gang, &finding.operation, &finding.location, &finding.message})
    (key += *part) += separator;
  return key;
}

}  // namespace

std::size_t FindingLog::add(Finding finding) {
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto [place, is_new] = index_of_.try_emplace(cause_of(finding), findings_.size());
  if (is_new) {
    findings_.push_back(std::move(finding));
    consequences_.push_back(0);
    return place->second;
  }
  Finding& known = findings_[place->second];
  std::vector<int> ranks;
  std::set_union(known.ranks.begin(), known.ranks.end(), finding.ranks.begin(), finding.ranks.end(),
                 std::back_inserter(ranks));
  known.ranks = std::move(ranks);
  return place->second;
}

void FindingLog::add_consequence(std::size_t index, std::string text) {
  if (++consequences_[index] <= most_consequences)
    findings_[index].consequences.push_back(std::move(text));
}

std::vector<Finding> FindingLog::take() {
  for (std::size_t i = 0; i < findings_.size(); ++i)
    if (consequences_[i] > most_consequences)
      findings_[i].consequences.push_back(
          fmt::format("{} more like these", consequences_[i] - most_consequences));
  return std::move(findings_);
}

}  // namespace gang::sim
