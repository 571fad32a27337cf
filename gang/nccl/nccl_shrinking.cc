#include "gang/nccl/nccl_shrinking.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/child_gang.h"
#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_groups.h"
#include "gang/store/store.h"

namespace gang {
namespace {

// Ranks that are not `among`, of a gang of `size`.
std::vector<int> others(const std::vector<int>& among, int size) {
  std::vector<int> rest;
  for (int rank = 0; rank < size; ++rank)
    if (std::ranges::find(among, rank) == among.end()) rest.push_back(rank);
  return rest;
}

// What the members that are there go on with.
struct Agreement {
  std::vector<int> ranks;
  bool has_equal_splits = false;  // whether each has split the communicator as often as the others
};

std::string to_text(const Agreement& agreement) {
  return nlohmann::json{{"ranks", agreement.ranks}, {"equal", agreement.has_equal_splits}}.dump();
}

Agreement agreement_from(const std::string& text) {
  try {
    const nlohmann::json said = nlohmann::json::parse(text);
    return {said.at("ranks").get<std::vector<int>>(), said.at("equal").get<bool>()};
  } catch (const nlohmann::json::exception&) {
    return {};  // not a gang's doing
  }
}

// Who is there when the grace is over: the list of the first whose grace was.
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
    // Who knows less of who is gone need not wait any longer.
    meeting.leave_note(key, decided);
  } catch (const StoreError& error) {
    member.fail(call.purpose, call.began,
                {.kind = GangErrorKind::connection, .reason = error.what()});
  }
  return agreement_from(decided);
}

// A gang without loss is split, not shrunk: NCCL shrinks by one rank at least. Either way NCCL
// knows the new communicator by how often the old one was split before, which must be the same for
// all.
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
  NcclCommunicator* const dead[] = {made.get()};
  {
    const auto launches = device.launching();
    device.api().revoke(dead);
  }
  device.bury(std::move(made));
  throw NcclError(
      status, "NCCL made no communicator of those who are left: " + std::string(to_string(status)));
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
  const std::vector<int> excluded = others(ranks, member.size());
  const auto place = std::ranges::find(ranks, member.rank());
  member.break_with({.kind = GangErrorKind::peer_failed,
                     .ranks_at_fault = excluded,
                     .reason = "the gang was shrunk to ranks " + nlohmann::json(ranks).dump()});
  if (place == ranks.end())
    member.fail_here(call.purpose, call.began,
                     {.kind = GangErrorKind::peer_failed,
                      .ranks_at_fault = {member.rank()},
                      .reason = "rank " + std::to_string(member.rank()) +
                                " came too late: the others have gone on without it"});
  NcclMemberOptions shrunk = member.options();
  shrunk.info = child_info(*member.info(), ranks, {options.name, options.timeout}, index);
  shrunk.rank = static_cast<int>(place - ranks.begin());
  shrunk.key = member.key() + "/shrunk";
  // Some have failed before they called NCCL where others have: the new one starts from nothing.
  if (!agreement.has_equal_splits) return make_root_member(shrunk, member.device());
  try {
    return make_nccl_member(std::move(shrunk), member.device(),
                            make_communicator(member, call, excluded));
  } catch (const NcclError& error) {
    member.fail_here(call.purpose, call.began,
                     {.kind = GangErrorKind::connection, .reason = error.what()});
  }
}

}  // namespace gang
