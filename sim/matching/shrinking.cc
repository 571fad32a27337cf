#include "sim/matching/shrinking.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/matching/interference.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

std::vector<int> absent_members(const ShrinkMeeting& meeting) {
  std::vector<int> absent;
  for (std::size_t member = 0; member < meeting.present.size(); ++member)
    if (meeting.present[member] == nullptr) absent.push_back(static_cast<int>(member));
  return absent;
}

std::vector<int> absent_ranks(const GangState& gang, const ShrinkMeeting& meeting) {
  std::vector<int> ranks;
  for (const int member : absent_members(meeting)) ranks.push_back(gang.root_rank_of(member));
  return ranks;
}

bool is_anybody_present(const ShrinkMeeting& meeting) {
  return std::ranges::any_of(meeting.present,
                             [](const Task* task) { return task != nullptr && !task->is_frozen; });
}

// Members that a partition separates from the others cannot agree with them.
void leave_out_unreachable(World& world, const GangState& gang, ShrinkMeeting& meeting) {
  if (world.interference == nullptr) return;
  for (const int member : world.interference->links().unreachable(gang, meeting.present)) {
    Task*& task = meeting.present[static_cast<std::size_t>(member)];
    world.engine.wake(*task);
    task = nullptr;
  }
}

void agree(World& world, GangState& gang) {
  ShrinkMeeting& meeting = *gang.shrinking;
  leave_out_unreachable(world, gang, meeting);
  GangInfo info;
  for (std::size_t i = 0; i < meeting.present.size(); ++i) {
    if (meeting.present[i] == nullptr) continue;
    meeting.members.push_back(static_cast<int>(i));
    info.root_ranks.push_back(gang.root_rank_of(static_cast<int>(i)));
  }
  info.name = meeting.options.name.empty()
                  ? default_child_name(*gang.info, gang.descent.children_made)
                  : meeting.options.name;
  ++gang.descent.children_made;
  info.device = gang.info->device;
  info.timeout = meeting.options.timeout.value_or(gang.info->timeout);
  info.backend = gang.info->backend;
  info.size = static_cast<int>(info.root_ranks.size());
  meeting.awaited.clear();
  meeting.shrunk = world.matching.make_gang(std::move(info));
  std::erase(world.matching.shrinking(), &gang);
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = absent_members(meeting);
  cause->reason = fmt::format("the gang was shrunk to {}", members_text(gang, meeting.members));
  world.matching.break_gang(gang, std::move(cause), Breaks::after_all_calls);
  // Last, so that the coming of the last member is not taken for something that had to come after
  // that of all others.
  if (Guide* guide = world.engine.choices().guide())
    note_agreement(*guide, gang, absent_ranks(gang, meeting));
  for (Task* task : meeting.present)
    if (task != nullptr) world.engine.wake(*task);
}

ShrinkMeeting& meeting_of(World& world, GangState& gang, const ShrinkOptions& options) {
  world.engine.choices().note_guided_choice();  // who is there in time, and whose options count
  if (gang.shrinking) return *gang.shrinking;
  gang.shrinking = std::make_unique<ShrinkMeeting>();
  ShrinkMeeting& meeting = *gang.shrinking;
  meeting.present.resize(static_cast<std::size_t>(gang.size()), nullptr);
  meeting.options = options;
  meeting.deadline =
      std::min(deadline_after(world.engine.now(), *options.grace), TimePoint::max() - Duration(1));
  for (const int rank : gang.info->root_ranks)
    if (!world.rank(rank).has_returned) meeting.awaited.insert(rank);
  world.matching.shrinking().push_back(&gang);
  return meeting;
}

[[noreturn]] void refuse(World& world, const GangState& gang, int member,
                         const CallSite& call_site) {
  const std::vector<int>& members = gang.shrinking->members;
  if (std::ranges::binary_search(members, member))
    throw InvalidOperation(
        fmt::format("shrink on {}: the gang was already shrunk; shrink the new one", gang.label()));
  GangFailure failure;
  failure.kind = GangErrorKind::peer_failed;
  failure.gang = gang.label();
  failure.rank = member;
  failure.operation.kind = OperationKind::shrink;
  failure.operation.call_site = call_site;
  failure.ranks_at_fault = {member};
  failure.reason = fmt::format("excluded from the shrunk gang, which {} made without it",
                               members_text(gang, members));
  world.engine.current().rank->make_rare().last_failure = gang.broken;
  throw GangError(std::move(failure), *gang.info);
}

}  // namespace

ChildSeat shrink_gang(World& world, GangState& gang, int member, const ShrinkOptions& options,
                      const CallSite& call_site) {
  world.engine.check_running();
  if (gang.shrinking && gang.shrinking->shrunk) refuse(world, gang, member, call_site);
  ShrinkMeeting& meeting = meeting_of(world, gang, options);
  Task& self = world.engine.current();
  meeting.present[static_cast<std::size_t>(member)] = &self;
  meeting.awaited.erase(gang.root_rank_of(member));
  world.engine.note_progress();
  if (Guide* guide = world.engine.choices().guide())
    note_coming(*guide, gang, self, options, call_site);
  if (meeting.awaited.empty()) agree(world, gang);
  while (!meeting.shrunk) world.engine.block(self, Wait{Wait::Reason::sleep});
  if (Guide* guide = world.engine.choices().guide()) note_agreed(*guide, gang);
  const auto seat = std::ranges::lower_bound(meeting.members, member);
  if (seat == meeting.members.end() || *seat != member) refuse(world, gang, member, call_site);
  return {meeting.shrunk, static_cast<int>(seat - meeting.members.begin())};
}

TimePoint end_of_grace(const GangState& gang) {
  return is_anybody_present(*gang.shrinking) ? gang.shrinking->deadline : TimePoint::max();
}

void shrink_to_those_present(World& world, GangState& gang) { agree(world, gang); }

void leave_shrinking(World& world, GangState& gang, int root_rank) {
  ShrinkMeeting& meeting = *gang.shrinking;
  const auto& ranks = gang.info->root_ranks;
  const auto member = std::ranges::find(ranks, root_rank);
  if (member == ranks.end()) return;
  meeting.present[static_cast<std::size_t>(member - ranks.begin())] = nullptr;
  if (meeting.awaited.erase(root_rank) != 0 && meeting.awaited.empty() &&
      is_anybody_present(meeting))
    agree(world, gang);
}

}  // namespace gang::sim
