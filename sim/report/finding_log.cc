#include "sim/report/finding_log.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/report/rank_text.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_consequences = 4;

std::string key_of(std::initializer_list<std::string> parts) {
  constexpr char separator = '\0';
  std::string key;
  for (const std::string& part : parts) (key += part) += separator;
  return key;
}

std::string cause_of(const Finding& finding) {
  return key_of({finding.id, to_string(finding.gang), to_string(finding.call),
                 to_string(finding.location), finding.message, finding.detail});
}

// Of which call of a loop it is left out.
std::string line_of(const Finding& finding) {
  return key_of(
      {finding.id, to_string(finding.gang), finding.call.kind, to_string(finding.location)});
}

bool has_more_ranks(const CallSummary& a, const CallSummary& b) {
  return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks < b.ranks;
}

// Adds to the message the calls that others could not complete because a rank had ended with an
// exception: all but the first entry of the divergence.
void complete_rank_failure(Finding& finding) {
  auto& next = finding.divergence->next;
  next.front().ranks = finding.ranks;
  for (CallSummary& call : next) std::sort(call.ranks.begin(), call.ranks.end());
  std::sort(next.begin() + 1, next.end(), has_more_ranks);
  const CallSummary& first = next[1];
  if (finding.location.empty()) finding.location = first.location;
  if (!finding.message.ends_with('.')) finding.message += '.';
  finding.detail =
      fmt::format("{} could not complete {} on {} at {}", capitalised(ranks_text(first.ranks)),
                  to_string(first.call), to_string(first.gang), to_string(first.location));
  if (next.size() > 2) {
    std::vector<int> others;
    for (const CallSummary& call : std::span(next).subspan(2))
      others.insert(others.end(), call.ranks.begin(), call.ranks.end());
    std::sort(others.begin(), others.end());
    finding.detail += fmt::format("; {} could not complete {} more call{}", ranks_text(others),
                                  next.size() - 2, next.size() == 3 ? "" : "s");
  }
  finding.detail += '.';
  std::sort(next.begin(), next.end(), has_more_ranks);
}

bool is_rank_failure(const Finding& finding) {
  return (finding.id == finding_id::rank_failed || finding.id == finding_id::use_after_close) &&
         finding.divergence && finding.divergence->next.size() > 1;
}

}  // namespace

std::size_t FindingLog::add(Finding finding) {
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const auto [place, is_new] = index_of_.try_emplace(cause_of(finding), findings_.size());
  if (is_new) {
    findings_.push_back(std::move(finding));
    consequences_.emplace_back();
    predicates_of_several_.emplace_back();
    return place->second;
  }
  // In place: in a large world, each rank may come by itself. They mostly come in order.
  std::vector<int>& known = findings_[place->second].ranks;
  for (const int rank : finding.ranks) {
    const auto next = std::ranges::lower_bound(known, rank);
    if (next == known.end() || *next != rank) known.insert(next, rank);
  }
  return place->second;
}

std::size_t FindingLog::add_of_ranks(Finding finding, std::string predicate,
                                     std::string of_several) {
  if (of_several.empty()) of_several = predicate;
  finding.message = std::move(predicate);
  const std::size_t index = add(std::move(finding));
  predicates_of_several_[index] = std::move(of_several);
  return index;
}

std::size_t FindingLog::add_of_repeated_call(Finding finding, std::string predicate) {
  if (finding.location.empty()) return add_of_ranks(std::move(finding), std::move(predicate));
  std::pair at_line(line_of(finding), finding.ranks.front());
  if (const auto known = repeated_.find(at_line); known != repeated_.end()) {
    ++known->second.times;
    return known->second.finding;
  }
  const std::size_t index = add_of_ranks(std::move(finding), std::move(predicate));
  repeated_.emplace(std::move(at_line), Repeated{index});
  return index;
}

void FindingLog::tell_of_repetitions() {
  std::map<std::size_t, std::size_t> most;  // by finding: its ranks do the same, as a rule
  for (const auto& [at_line, repeated] : repeated_)
    if (repeated.times != 0)
      most[repeated.finding] = std::max(most[repeated.finding], repeated.times);
  for (const auto& [index, times] : most) {
    std::string& detail = findings_[index].detail;
    detail += fmt::format("{}The same happened {} at this line.", detail.empty() ? "" : " ",
                          times == 1 ? "once more" : fmt::format("{} more times", times));
  }
}

std::size_t FindingLog::place_of(std::size_t index) const {
  for (auto merged = merged_into_.find(index); merged != merged_into_.end();
       merged = merged_into_.find(index))
    index = merged->second;
  return index;
}

void FindingLog::merge(std::size_t index, std::size_t cause) {
  index = place_of(index);
  cause = place_of(cause);
  if (index == cause) return;
  merged_into_.emplace(index, cause);
  const Consequences moved = std::exchange(consequences_[index], {});
  for (const auto& [text, ranks] : moved.first) {
    if (ranks.empty()) add_consequence(cause, text);
    for (const int rank : ranks) add_consequence_of(rank, cause, text);
  }
  consequences_[cause].more += moved.more;
}

void FindingLog::add_consequence(std::size_t index, std::string text) {
  Consequences& known = consequences_[place_of(index)];
  if (known.first.size() < most_consequences)
    known.first.push_back({std::move(text), {}});
  else
    ++known.more;
}

void FindingLog::add_consequence_of(int rank, std::size_t index, std::string predicate) {
  Consequences& known = consequences_[place_of(index)];
  const auto same = std::ranges::find_if(known.first, [&predicate](const Consequence& candidate) {
    return !candidate.ranks.empty() && candidate.text == predicate;
  });
  if (same != known.first.end())
    same->ranks.push_back(rank);
  else if (known.first.size() < most_consequences)
    known.first.push_back({std::move(predicate), {rank}});
  else
    ++known.more;
}

std::vector<Finding> FindingLog::take() {
  tell_of_repetitions();
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    auto& texts = findings_[i].consequences;
    for (auto& [text, ranks] : consequences_[i].first) {
      std::sort(ranks.begin(), ranks.end());
      texts.push_back(ranks.empty() ? std::move(text) : ranks_text(ranks) + " " + text);
    }
    if (consequences_[i].more != 0)
      texts.push_back(fmt::format("{} more like these", consequences_[i].more));
  }
  for (std::size_t i = 0; i < findings_.size(); ++i)
    if (auto& of_several = predicates_of_several_[i]; !of_several.empty())
      findings_[i].message =
          fmt::format("{} {}", capitalised(ranks_text(findings_[i].ranks)),
                      findings_[i].ranks.size() > 1 ? std::move(of_several) : findings_[i].message);
  for (Finding& finding : findings_)
    if (is_rank_failure(finding)) complete_rank_failure(finding);
  if (merged_into_.empty()) return std::move(findings_);
  std::vector<Finding> kept;
  for (std::size_t i = 0; i < findings_.size(); ++i)
    if (!merged_into_.contains(i)) kept.push_back(std::move(findings_[i]));
  return kept;
}

}  // namespace gang::sim
