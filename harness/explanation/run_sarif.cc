#include "harness/explanation/run_sarif.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "sim/report/call_group.h"
#include "sim/report/crossed_calls.h"

namespace gang::harness {
namespace {

// The program ended, and left something behind.
constexpr std::array leaks = {sim::finding_id::unwaited_work, sim::finding_id::unreceived_message,
                              sim::finding_id::gang_not_closed};

SarifLevel level_of(const sim::Finding& finding) {
  return std::ranges::find(leaks, finding.id) == leaks.end() ? SarifLevel::error
                                                             : SarifLevel::warning;
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", sim::to_rank_ranges(ranks, 8));
}

// "ranks 0,3: all_reduce #0 sum f32[4] on dp[0,2]".
std::string call_in_words(const std::vector<int>& ranks, const CallText& call,
                          std::string_view gang) {
  return fmt::format("{}: {}{}{}", ranks_in_words(ranks), to_string(call),
                     gang.empty() ? "" : " on ", gang);
}

bool is_file(const std::string& program) {
  std::error_code error;
  return std::filesystem::is_regular_file(program, error);
}

// The results of one run.
class RunFindings {
 public:
  RunFindings(const RunResult& result, SourceTree& tree) : result_(result), tree_(tree) {}

  std::vector<SarifResult> results() const {
    std::vector<SarifResult> results;
    for (const sim::Finding& finding : result_.report.findings) results.push_back(of(finding));
    if (results.empty() && result_.report.outcome != sim::Outcome::completed)
      results.push_back(of_run(std::string(to_string(result_.report.outcome)),
                               fmt::format("{} ended as {}.", result_.specification.program,
                                           to_string(result_.report.outcome))));
    for (const sim::CrossedCalls& crossed : result_.report.crossed_calls)
      results.push_back(of(crossed));
    for (const LongWait& wait : result_.real_time.long_waits) results.push_back(of(wait));
    if (!result_.unexpected.empty())
      results.push_back(of_run("unexpected_outcome", result_.unexpected));
    return results;
  }

 private:
  SarifResult of(const sim::Finding& finding) const {
    std::string message = sim::full_message(finding);
    if (!result_.reproduce.empty()) message += "\nReproduce: " + result_.reproduce;
    SarifResult result{.rule = finding.id,
                       .advice = std::string(sim::fix_for(finding.id)),
                       .level = level_of(finding),
                       .message = std::move(message),
                       .place = place(finding.location)};
    const bool is_first = &finding == &result_.report.findings.front();
    result.related = related_to(finding, is_first);
    if (!result.place && !result.related.empty()) result.place = result.related.front();
    // The same call elsewhere in the file is the same finding.
    result.identity =
        fmt::format("{}|{}|{}|{}|{}", finding.id, result_.specification.program,
                    result.place ? result.place->uri : "", finding.gang.name, finding.call.kind);
    return result;
  }

  // At the call of the few, beside that of the rest.
  SarifResult of(const sim::CrossedCalls& crossed) const {
    SarifResult result{.rule = "crossed_calls",
                       .advice = "call them in the same order on every member",
                       .level = SarifLevel::warning,
                       .message = to_string(crossed),
                       .place = place(crossed.others.location)};
    if (std::optional<SarifPlace> beside = place(crossed.most.location)) {
      beside->message =
          call_in_words(crossed.most.ranks, crossed.most.call, to_string(crossed.most.gang));
      result.related.push_back(*std::move(beside));
    }
    result.identity = fmt::format("{}|{}|{}|{}|{}", result.rule, result_.specification.program,
                                  result.place ? result.place->uri : "", crossed.others.gang.name,
                                  crossed.others.call.kind);
    return result;
  }

  // At the call that the late rank came to in the end.
  SarifResult of(const LongWait& wait) const {
    SarifResult result{.rule = "long_wait",
                       .level = SarifLevel::warning,
                       .message = to_string(wait),
                       .place = place(wait.late_location)};
    if (std::optional<SarifPlace> beside = place(wait.location)) {
      beside->message = fmt::format("{}: {}", ranks_in_words(wait.ranks), wait.call);
      result.related.push_back(*std::move(beside));
    }
    result.identity = fmt::format("{}|{}|{}|{}", result.rule, result_.specification.program,
                                  result.place ? result.place->uri : "", wait.call);
    return result;
  }

  // At the program's file, if it is one.
  SarifResult of_run(std::string rule, std::string message) const {
    SarifResult result{.rule = std::move(rule), .message = std::move(message)};
    result.identity = fmt::format("{}|{}", result.rule, result_.specification.program);
    if (is_file(result_.specification.program))
      result.place = SarifPlace{.uri = tree_.uri_of(result_.specification.program)};
    return result;
  }

  // The calls that its ranks differ in; of the first finding, also those that are blocked.
  std::vector<SarifPlace> related_to(const sim::Finding& finding, bool is_first) const {
    std::vector<SarifPlace> related;
    const auto add = [&](const SourceLocation& location, std::string message) {
      std::optional<SarifPlace> found = place(location);
      if (!found) return;
      found->message = std::move(message);
      if (std::ranges::find(related, *found) == related.end()) related.push_back(*found);
    };
    const auto add_call = [&add](const sim::CallSummary& did) {
      if (!did.call.empty())
        add(did.location, call_in_words(did.ranks, did.call, to_string(did.gang)));
    };
    if (finding.divergence) {
      std::ranges::for_each(finding.divergence->parted, add_call);
      std::ranges::for_each(finding.divergence->next, add_call);
    }
    for (const sim::NearMiss& miss : finding.near_misses) {
      add_call(miss.first);
      add_call(miss.second);
    }
    if (!is_first) return related;
    std::vector<const sim::BlockedCall*> core;
    for (const sim::BlockedCall& blocked : result_.report.blocked)
      if (blocked.is_core) core.push_back(&blocked);
    for (const sim::CallGroup& group : group_calls(core, sim::CallSharing::any_peer))
      add(group.first().location, call_in_words(group.ranks(), group.call, group.gang_text()));
    return related;
  }

  std::optional<SarifPlace> place(const SourceLocation& location) const {
    if (location.file.empty() || location.line == 0) return std::nullopt;
    return SarifPlace{.uri = uri_of(location.file), .line = location.line};
  }

  // A path of the machine that made the run stands for its name where it is not there.
  std::string uri_of(const std::filesystem::path& file) const {
    std::error_code error;
    const bool is_elsewhere = file.is_absolute() && !std::filesystem::exists(file, error);
    return tree_.uri_of((is_elsewhere ? file.filename() : file).string());
  }

  const RunResult& result_;
  SourceTree& tree_;
};

}  // namespace

std::vector<SarifResult> to_sarif(const RunResult& result, SourceTree& tree) {
  if (is_file(result.specification.program)) tree.prefer(result.specification.program);
  return RunFindings(result, tree).results();
}

std::string to_sarif_text(std::string_view command, const RunResult& result) {
  SourceTree tree(std::filesystem::current_path());
  return to_sarif_text(command, to_sarif(result, tree));
}

}  // namespace gang::harness
