#include "gang/gloo/gloo_shrinking.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/child_gang.h"
#include "gang/gloo/gloo_groups.h"
#include "gang/json_number.h"
#include "gang/rank_list.h"

namespace gang {
namespace {

// The meeting of the members that are still there, as one of them sees it.
class Shrinking {
 public:
  Shrinking(GlooMember& gang, Duration grace, const CallSite& call_site)
      : gang_(gang),
        connector_(*gang.world().connector),
        base_(gang.prefix() + "/shrink"),
        began_(gang.runtime().now()),
        deadline_(deadline_after(gang.runtime(), grace)) {
    call_.kind = OperationKind::shrink;
    call_.call_site = call_site;
  }

  // The members that continue, as ranks of the gang, ascending; this one is among them.
  std::vector<int> agree() {
    connector_.leave_note(here_key(gang_.rank()), "here");
    if (connector_.find_note(here_key(gang_.rank()))) wait_for_others();
    if (!decided()) connector_.leave_note(members_key(), nlohmann::json(present()).dump());
    const auto members = decided();
    if (!members)
      fail(GangErrorKind::connection, {}, "cannot reach the store in which the members meet");
    if (!std::ranges::binary_search(*members, gang_.rank()))
      fail(GangErrorKind::peer_failed, {gang_.rank()},
           "excluded from the shrunk gang, which " + ranks_text(*members) + " made without it");
    return *members;
  }

 private:
  std::string here_key(int rank) const { return base_ + "/here/" + std::to_string(rank); }
  std::string members_key() const { return base_ + "/members"; }

  // Until all have come, or one has decided, or the grace is over.
  void wait_for_others() {
    constexpr Duration shortest = std::chrono::milliseconds(1);
    while (!decided() && present().size() < static_cast<std::size_t>(gang_.size())) {
      const TimePoint now = gang_.runtime().now();
      if (now >= deadline_) return;
      // The longer the wait so far, the less the length of a pause matters.
      const Duration pause = std::max<Duration>(shortest, (now - began_) / 8);
      gang_.runtime().sleep_for(std::min(pause, deadline_ - now));
    }
  }

  std::vector<int> present() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < gang_.size(); ++rank)
      if (rank == gang_.rank() || connector_.find_note(here_key(rank))) ranks.push_back(rank);
    return ranks;
  }

  std::optional<std::vector<int>> decided() const {
    const std::optional<std::string> note = connector_.find_note(members_key());
    if (!note) return std::nullopt;
    try {
      return numbers_from<int>(nlohmann::json::parse(*note));
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;  // not written by a gang
    }
  }

  [[noreturn]] void fail(GangErrorKind kind, std::vector<int> ranks_at_fault, std::string reason) {
    throw error_for(
        *gang_.info(), gang_.rank(), call_,
        {.kind = kind, .ranks_at_fault = std::move(ranks_at_fault), .reason = std::move(reason)},
        gang_.runtime().now() - began_);
  }

  GlooMember& gang_;
  GlooConnector& connector_;
  std::string base_;
  TimePoint began_;
  TimePoint deadline_;
  Collective call_;
};

}  // namespace

std::shared_ptr<GlooMember> make_shrunk_member(GlooMember& gang, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index) {
  std::vector<int> members = {gang.rank()};
  if (gang.size() > 1) members = Shrinking(gang, *options.grace, call_site).agree();
  gang.break_with({.kind = GangErrorKind::peer_failed,
                   .ranks_at_fault = other_ranks(members, gang.size()),
                   .reason = "the gang was shrunk to " + ranks_text(members),
                   .is_wanted = true});
  const auto seat = std::ranges::lower_bound(members, gang.rank());
  return make_member_or_broken(
      child_info(*gang.info(), members, {options.name, options.timeout}, index),
      static_cast<int>(seat - members.begin()), gang.prefix() + "/shrunk", gang.world(),
      *options.grace);
}

}  // namespace gang
