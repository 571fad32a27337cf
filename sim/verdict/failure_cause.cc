#include "sim/verdict/failure_cause.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "sim/engine/engine.h"
#include "sim/matching/interference.h"
#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

std::optional<GangError> gang_error_in(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const GangError& failure) {
    return failure;
  } catch (...) {
    return std::nullopt;
  }
}

// The rank's gang that failed: one that it still holds, or has just released.
std::shared_ptr<GangState> failed_gang(const World& world, const RankState& rank,
                                       const GangError& error) {
  const auto is_it = [&](const GangState& gang) {
    return error.rank() >= 0 && error.rank() < gang.size() &&
           gang.root_rank_of(error.rank()) == rank.rank && gang.label() == error.gang();
  };
  for (const auto& gang : rank.rare().abandoned)
    if (is_it(*gang)) return gang;
  for (GangState* gang : world.matching.gangs())
    if (is_it(*gang)) return {std::shared_ptr<void>(), gang};
  return nullptr;
}

std::vector<int> root_ranks_of(const GangState& gang, const std::vector<int>& members) {
  std::vector<int> ranks;
  for (const int member : members)
    if (member >= 0 && member < gang.size()) ranks.push_back(gang.root_rank_of(member));
  std::ranges::sort(ranks);
  return ranks;
}

// What a finding about the failed call says in any case.
Finding finding_for(const GangState& gang, const RankState& rank, const GangError& error,
                    std::string_view id) {
  Finding finding;
  finding.id = id;
  finding.gang = gang.gang_label();
  finding.call = describe(error.operation(), *gang.info);
  if (const LastCall last = last_call_of(rank); last.gang != nullptr)
    finding.location = location_of(last.call_site);
  return finding;
}

// "all_reduce #3 on dp[0,2]".
std::string call_text(const Finding& finding) {
  return fmt::format("{} on {}", to_string(finding.call), to_string(finding.gang));
}

int index_in(const GangState& gang, int root_rank) {
  const auto& ranks = gang.info->root_ranks;
  return static_cast<int>(std::ranges::find(ranks, root_rank) - ranks.begin());
}

// Whether a member has let go of the gang, or returned; without making `call`, if given.
bool has_left(const World& world, const GangState& gang, int member, const Collective* call) {
  const RankState& rank = world.rank(gang.root_rank_of(member));
  if (rank.has_failed) return false;
  const Departure* departure = gang.departure_of(member);
  if (departure == nullptr) return rank.has_returned;
  return call == nullptr || is_point_to_point(call->kind) ||
         departure->calls <= call->sequence_number;
}

// The members that are missing in the call; if there are none, those that left while others were
// still in it. Root ranks.
std::vector<int> missing_ranks(const World& world, const GangState& gang, const RankState& rank,
                               const Collective& call) {
  std::vector<int> ranks;
  for (const Collective* asked : {&call, static_cast<const Collective*>(nullptr)}) {
    for (int member = 0; member < gang.size(); ++member)
      if (gang.root_rank_of(member) != rank.rank && has_left(world, gang, member, asked))
        ranks.push_back(gang.root_rank_of(member));
    if (!ranks.empty()) break;
  }
  std::ranges::sort(ranks);
  return ranks;
}

std::optional<Finding> missing_finding(const World& world, const GangState& gang,
                                       const RankState& rank, const GangError& error) {
  Finding finding = finding_for(gang, rank, error, finding_id::participant_missing);
  finding.ranks = missing_ranks(world, gang, rank, error.operation());
  if (finding.ranks.empty()) return std::nullopt;
  const bool have_returned = std::ranges::all_of(
      finding.ranks, [&world](int missing) { return world.rank(missing).has_returned; });
  const bool is_one = finding.ranks.size() == 1;
  const std::string place = finding.location.empty() ? "" : " at " + to_string(finding.location);
  if (std::ranges::none_of(finding.ranks, [&](int missing) {
        return has_left(world, gang, index_in(gang, missing), &error.operation());
      })) {
    finding.message = fmt::format("{} left while others were still in {}{} on {}.",
                                  capitalised(ranks_text(finding.ranks)), to_string(finding.call),
                                  place, to_string(finding.gang));
    return finding;
  }
  finding.message = fmt::format(
      "{} never called {}{} on {} ({} members): {} {}.", capitalised(ranks_text(finding.ranks)),
      to_string(finding.call), place, to_string(finding.gang), gang.size(), is_one ? "it" : "they",
      have_returned ? return_text(world, finding.ranks) : "left the gang");
  return finding;
}

std::string_view mismatch_id(const GangError& error) {
  const bool is_list = error.operation().kind == OperationKind::create_gang;
  switch (error.difference().value_or(is_list ? CallDifference::ranks : CallDifference::count)) {
    case CallDifference::operation:
      return finding_id::mismatch_operation;
    case CallDifference::data_type:
      return finding_id::mismatch_data_type;
    case CallDifference::ranks:
      return finding_id::mismatch_ranks;
    case CallDifference::count:
      return finding_id::mismatch_count;
    case CallDifference::reduce_operation:
      return finding_id::mismatch_reduce_operation;
    case CallDifference::root:
      return finding_id::mismatch_root;
    case CallDifference::label:
      return finding_id::mismatch_label;
  }
  return finding_id::mismatch_operation;
}

Finding mismatch_finding(const GangState& gang, const RankState& rank, const GangError& error) {
  Finding finding = finding_for(gang, rank, error, mismatch_id(error));
  finding.ranks = root_ranks_of(gang, error.ranks_at_fault());
  if (finding.ranks.empty()) finding.ranks = {rank.rank};
  finding.message =
      fmt::format("The members called {} differently: {}.", call_text(finding), error.what());
  return finding;
}

// Whether no context of the rank is in a call of a gang, or about to go on.
bool is_elsewhere(const World& world, int rank) {
  return std::ranges::all_of(world.engine.contexts().live(), [rank](const Task* context) {
    return context->rank->rank != rank ||
           (context->wait != nullptr && context->wait->reason != Wait::Reason::message);
  });
}

Finding timeout_finding(const World& world, const GangState& gang, const RankState& rank,
                        const GangError& error) {
  Finding finding = finding_for(gang, rank, error, finding_id::timed_out);
  finding.ranks = root_ranks_of(gang, error.ranks_at_fault());
  if (finding.ranks.empty())
    for (const int member : gang.info->root_ranks)
      if (is_elsewhere(world, member)) finding.ranks.push_back(member);
  const std::string who =
      finding.ranks.empty() ? "" : fmt::format(": {} did not come", ranks_text(finding.ranks));
  if (finding.ranks.empty()) finding.ranks = {rank.rank};
  std::ranges::sort(finding.ranks);
  finding.message = fmt::format("{} timed out after {}{}.", call_text(finding),
                                gang::to_string(error.elapsed()), who);
  return finding;
}

// The last resort: whom the error names, whose program is about to return or to fail.
std::optional<Finding> named_finding(const GangState& gang, const RankState& rank,
                                     const GangError& error) {
  Finding finding = finding_for(gang, rank, error, finding_id::participant_missing);
  finding.ranks = root_ranks_of(gang, error.ranks_at_fault());
  std::erase(finding.ranks, rank.rank);
  if (finding.ranks.empty()) return std::nullopt;
  finding.message = fmt::format("{} left the gang, which ended the program of rank {}: {}",
                                capitalised(ranks_text(finding.ranks)), rank.rank, error.what());
  return finding;
}

std::optional<Finding> finding_of(const World& world, const GangState& gang, const RankState& rank,
                                  const GangError& error) {
  switch (error.kind()) {
    case GangErrorKind::mismatch:
      return mismatch_finding(gang, rank, error);
    case GangErrorKind::timeout:
      return timeout_finding(world, gang, rank, error);
    default:
      break;
  }
  return missing_finding(world, gang, rank, error);
}

// Whether the cause is that an exception unwinds past the gangs of `rank` itself.
bool is_own(const World& world, const BreakCause& cause, const RankState& rank) {
  constexpr std::size_t none = BreakCause::no_finding;
  return std::ranges::any_of(rank.rare().broken_by_unwinding, [&](const auto& own) {
    return own.get() == &cause || (own->finding != none && cause.finding != none &&
                                   world.findings.are_one(own->finding, cause.finding));
  });
}

// Whether it is only known that an exception unwinds past the gang, and not yet why.
bool is_vague(const BreakCause& cause) {
  return cause.finding == BreakCause::no_finding && cause.finding_if_fatal != nullptr &&
         cause.finding_if_fatal->id == finding_id::rank_failed;
}

// The first failure that has ended the program of another member.
std::shared_ptr<const BreakCause> failure_of_member(const World& world, const GangState& gang,
                                                    const RankState& rank) {
  std::shared_ptr<const BreakCause> first;
  for (const int member : gang.info->root_ranks) {
    const RankState& other = world.rank(member);
    if (&other == &rank || !other.has_failed || other.rare().last_failure == nullptr ||
        is_own(world, *other.rare().last_failure, rank))
      continue;
    if (first == nullptr || other.rare().last_failure->finding < first->finding)
      first = other.rare().last_failure;
  }
  return first;
}

// The cause that broke another gang, if that is the same ranks' absence.
std::shared_ptr<const BreakCause> known_absence(const World& world, const Finding& finding) {
  if (finding.id != finding_id::participant_missing) return nullptr;
  for (const GangState* gang : world.matching.gangs()) {
    const Finding* const known = gang->broken ? gang->broken->finding_if_fatal.get() : nullptr;
    if (known != nullptr && known->id == finding.id && known->ranks == finding.ranks)
      return gang->broken;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const BreakCause> cause_of_failure(const World& world, const RankState& rank,
                                                   const std::exception_ptr& error) {
  const std::optional<GangError> failure = gang_error_in(error);
  if (!failure) return nullptr;
  const std::shared_ptr<GangState> gang = failed_gang(world, rank, *failure);
  if (gang == nullptr) return nullptr;
  const std::shared_ptr<const BreakCause> known =
      gang->broken != nullptr && !is_own(world, *gang->broken, rank) ? gang->broken : nullptr;
  if (known != nullptr && !is_vague(*known)) return known;
  if (auto cause = failure_of_member(world, *gang, rank)) return cause;
  // The faults are the cause.
  if (world.interference != nullptr && world.interference->have_fired()) return nullptr;
  std::optional<Finding> finding = finding_of(world, *gang, rank, *failure);
  if (!finding && known != nullptr) return known;
  if (!finding) finding = named_finding(*gang, rank, *failure);
  if (!finding) return nullptr;
  gang->broken = known_absence(world, *finding);
  if (gang->broken != nullptr) return gang->broken;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = failure->kind();
  cause->ranks_at_fault = failure->ranks_at_fault();
  cause->reason = failure->what();
  if (finding->id == finding_id::participant_missing)
    for (const int missing : finding->ranks)
      world.rank(missing).make_rare().broken_by_unwinding.push_back(cause);  // should it fail
  cause->finding_if_fatal = std::make_shared<const Finding>(*std::move(finding));
  gang->broken = cause;
  return cause;
}

}  // namespace gang::sim
