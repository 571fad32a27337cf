#include "sim/finding_log.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace gang::sim {
namespace {

constexpr std::size_t most_consequences = 4;

bool have_one_cause(const Finding& a, const Finding& b) {
  return a.id == b.id && a.gang == b.gang && a.operation == b.operation &&
         a.location == b.location && a.message == b.message;
}

}  // namespace

std::size_t FindingLog::add(Finding finding) {
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto known = std::find_if(findings_.begin(), findings_.end(), [&finding](const Finding& f) {
    return have_one_cause(f, finding);
  });
  if (known == findings_.end()) {
    findings_.push_back(std::move(finding));
    consequences_.push_back(0);
    return findings_.size() - 1;
  }
  std::vector<int> ranks;
  std::set_union(known->ranks.begin(), known->ranks.end(), finding.ranks.begin(),
                 finding.ranks.end(), std::back_inserter(ranks));
  known->ranks = std::move(ranks);
  return static_cast<std::size_t>(known - findings_.begin());
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
