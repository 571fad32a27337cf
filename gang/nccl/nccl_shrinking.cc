#include "gang/nccl/nccl_shrinking.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/child_gang.h"
#include "gang/json_number.h"
#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_groups.h"
#include "gang/rank_list.h"
#include "gang/store/store.h"

namespace gang {
namespace {

// What the members that are there continue with.
struct Agreement {
  std::vector<int> ranks;
  bool has_equal_splits = false;  // whether all have split the communicator equally often
};

std::string to_text(const Agreement& agreement) {
  return nlohmann::json{{"ranks", agreement.ranks}, {"equal", agreement.has_equal_splits}}.dump();
}

Agreement agreement_from(const std::string& text) {
  try {
    const nlohmann::json said = nlohmann::json::parse(text);
    return {numbers_from<int>(said.at("ranks")), said.at("equal").get<bool>()};
  } catch (const nlohmann::json::exception&) {
    return {};  // not written by a gang
  }
}

// The members that are there when the grace is over, as listed by the first whose grace is.
Agreement agree(NcclMember& member, const NcclCall& call) {
  NcclMeeting& meeting = member.device()->meeting();
  const std::string key = member.key() + "#shrink";
  const std::vector<int> gone = member.known_to_be_gone();
  std::string decided;
  try {
    const auto said = meeting.meet({.key = key,
                                    .gang_key = key,
                                    .rank = member.rank(),
                                    .size = member.size(),
                                    .root_ranks = member.info()->root_ranks,
                                    .deadline = call.deadline,
                                    .purpose = &call.purpose,
                                    .gone = gone,
                                    .end = NcclAppointment::End::is_sure},
                                   std::to_string(member.splits()));
    Agreement own{.has_equal_splits = true};
    for (std::size_t rank = 0; rank < said.size(); ++rank) {
      if (!said[rank]) continue;
      own.ranks.push_back(static_cast<int>(rank));
      if (*said[rank] != std::to_string(member.splits())) own.has_equal_splits = false;
    }
    decided = meeting.decide(key + "/decided", to_text(own));
    // A member that does not know which ranks are gone need not wait any longer.
    meeting.leave_note(key, decided);
  } catch (const StoreError& error) {
    member.fail(call.purpose, call.began,
                {.kind = GangErrorKind::connection, .reason = error.what()});
  }
  return agreement_from(decided);
}

// A gang that has lost no member is split, not shrunk, since NCCL shrinks by at least one rank.
// Either way, NCCL identifies the new communicator by how often the old one was split before, which
// must be the same on all members.
std::unique_ptr<NcclCommunicator> make_communicator(NcclMember& member, const NcclCall& call,
                                                    const std::vector<int>& excluded) {
  NcclDevice& device = *member.device();
  std::unique_ptr<NcclCommunicator> made;
  {
    const auto launches = device.launching();
    made = excluded.empty()
               ? device.api().split(member.communicator(), {0, member.rank()}, call.purpose)
               : device.api().shrink(member.communicator(), excluded, NcclShrink::abort_parent,
                                     call.purpose);
  }
  const TimePoint deadline = deadline_after(device.runtime(), member.info()->timeout);
  const NcclStatus status = device.api().await_ready(*made, deadline);
  if (status == NcclStatus::success) return made;
  device.drop(std::move(made));
  throw NcclError(status, "NCCL could not make a communicator of the remaining ranks: " +
                              std::string(to_string(status)));
}

}  // namespace

std::shared_ptr<NcclMember> make_shrunk_member(NcclMember& member, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index) {
  Operation operation;
  operation.collective.kind = OperationKind::shrink;
  operation.collective.call_site = call_site;
  operation.timeout = *options.grace;
  const NcclCall call = nccl_call(member, operation);
  const Agreement agreement = agree(member, call);
  const std::vector<int>& ranks = agreement.ranks;
  const std::vector<int> excluded = other_ranks(ranks, member.size());
  const auto place = std::ranges::find(ranks, member.rank());
  member.break_with({.kind = GangErrorKind::peer_failed,
                     .ranks_at_fault = excluded,
                     .reason = "the gang was shrunk to " + ranks_text(ranks)});
  if (place == ranks.end())
    throw member.make_error(call.purpose, call.began,
                            {.kind = GangErrorKind::peer_failed,
                             .ranks_at_fault = {member.rank()},
                             .reason = "rank " + std::to_string(member.rank()) +
                                       " came too late: the others continued without it"});
  NcclMemberOptions shrunk = member.options();
  shrunk.info = child_info(*member.info(), ranks, {options.name, options.timeout}, index);
  shrunk.rank = static_cast<int>(place - ranks.begin());
  shrunk.key = member.key() + "/shrunk";
  // Some members failed before they called NCCL, others after: the new gang starts from scratch.
  if (!agreement.has_equal_splits) return make_root_member(shrunk, member.device());
  try {
    return make_nccl_member(std::move(shrunk), member.device(),
                            make_communicator(member, call, excluded));
  } catch (const NcclError& error) {
    throw member.make_error(call.purpose, call.began,
                            {.kind = GangErrorKind::connection, .reason = error.what()});
  }
}

}  // namespace gang
