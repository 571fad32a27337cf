#include "gang/gloo/gloo_groups.h"

#include <array>
#include <cstring>
#include <utility>

#include "gang/child_gang.h"
#include "gang/store/store.h"

namespace gang {
namespace {

// The two numbers that each member tells the others before a gang is made.
using Announcement = std::array<std::int64_t, 2>;

std::vector<Announcement> announce(GlooMember& parent, const GlooCall& call,
                                   const Announcement& own) {
  std::vector<Announcement> all(static_cast<std::size_t>(parent.size()));
  if (parent.size() == 1) return {own};
  parent.communicate(call, [&] {
    const std::vector<std::byte> bytes =
        parent.collectives().all_gather_bytes(tag_of(call.collective), own.data(), sizeof(own));
    std::memcpy(all.data(), bytes.data(), bytes.size());
  });
  return all;
}

std::optional<ChildGang> agree_on_list(GlooMember& parent, const GlooCall& call,
                                       const Operation& operation) {
  const auto hash = static_cast<std::int64_t>(call.collective.detail);
  const auto said =
      announce(parent, call, {hash, static_cast<std::int64_t>(operation.extras->ranks.size())});
  if (auto mismatch = list_mismatch(said)) parent.fail(call, *std::move(mismatch));
  return child_of_list(operation.extras->ranks, parent.rank());
}

std::optional<ChildGang> agree_on_colors(GlooMember& parent, const GlooCall& call,
                                         const Operation& operation) {
  std::vector<SplitPlace> places;
  for (const auto& [color, key] :
       announce(parent, call, {operation.extras->color, operation.extras->key}))
    places.push_back({color, key});
  return child_of_split(places, parent.rank());
}

struct Plan {
  std::shared_ptr<const GangInfo> info;
  int rank = 0;
  std::string prefix;
  TimePoint began;
  TimePoint deadline;
  GlooMember* parent = nullptr;  // which has connections
  std::span<const int> parent_ranks = {};
};

// The member of the connected gang, or the reason why there is none.
struct Attempt {
  std::shared_ptr<GlooMember> member;
  GangCause failure;
  std::optional<int> lost = std::nullopt;  // the member of the parent that will not come
};

// Connects all members to all others before any of them continues; otherwise a member that leaves
// at once would look like one that never came.
void meet(GlooMember& member, const Plan& plan) {
  constexpr std::uint32_t tag = 0xffffffff;
  const Collective collective{.kind = OperationKind::barrier};
  member.communicate({collective, plan.began, plan.deadline},
                     [&member] { member.collectives().barrier(tag); });
}

std::shared_ptr<GlooMember> connect(const GlooWorld& world, const Plan& plan) {
  std::shared_ptr<gloo::transport::Context> transport;
  if (plan.info->size > 1) {
    const GlooMembership membership{
        .prefix = plan.prefix,
        .rank = plan.rank,
        .size = plan.info->size,
        .root_ranks = plan.info->root_ranks,
        .parent = plan.parent != nullptr ? &plan.parent->transport() : nullptr,
        .parent_ranks = plan.parent_ranks};
    transport = world.connector->connect(membership, time_left(world.runtime(), plan.deadline));
    transport = world.connector->watched(std::move(transport), plan.prefix);
  }
  auto member = std::make_shared<GlooMember>(plan.info, plan.rank, plan.prefix, world, transport);
  if (transport != nullptr) meet(*member, plan);
  return member;
}

Attempt try_to_connect(const GlooWorld& world, const Plan& plan) {
  Attempt attempt;
  try {
    attempt.member = connect(world, plan);
    return attempt;
  } catch (const StoreError& error) {
    attempt.failure = cause_of(error);
  } catch (const GangError& error) {
    attempt.failure = {.kind = error.kind(), .reason = error.what()};
  } catch (const MembersLost& error) {
    attempt.failure = {.kind = GangErrorKind::peer_failed, .reason = error.what()};
    attempt.lost = error.rank();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    attempt.failure = {.kind = GangErrorKind::connection,
                       .reason = without_source_location(error.what())};
  }
  if (world.runtime().now() >= plan.deadline) attempt.failure.kind = GangErrorKind::timeout;
  return attempt;
}

}  // namespace

std::shared_ptr<GlooMember> make_child_member(GlooMember& parent, const GlooCall& call,
                                              const Operation& operation, std::uint64_t index) {
  const std::optional<ChildGang> child = call.collective.kind == OperationKind::split
                                             ? agree_on_colors(parent, call, operation)
                                             : agree_on_list(parent, call, operation);
  if (!child) return nullptr;
  const Plan plan{
      child_info(*parent.info(), child->members, *operation.extras->gang_options, index),
      child->rank,
      parent.prefix() + "/" + std::to_string(index) + child->suffix,
      call.began,
      call.deadline,
      parent.size() > 1 ? &parent : nullptr,
      child->members};
  Attempt attempt = try_to_connect(parent.world(), plan);
  if (attempt.lost) parent.fail_lost(call, *attempt.lost, attempt.failure.reason);
  if (attempt.member == nullptr) parent.fail(call, std::move(attempt.failure));
  return attempt.member;
}

std::shared_ptr<GlooMember> make_root_member(std::shared_ptr<const GangInfo> info, int rank,
                                             std::string prefix, const GlooWorld& world) {
  const TimePoint deadline = deadline_after(world.runtime(), info->timeout);
  const Plan plan{std::move(info), rank, std::move(prefix), world.runtime().now(), deadline};
  Attempt attempt = try_to_connect(world, plan);
  if (attempt.member == nullptr)
    throw error_for(*plan.info, rank, creation_of(plan.info->size), std::move(attempt.failure),
                    world.runtime().now() - plan.began);
  return attempt.member;
}

std::shared_ptr<GlooMember> make_member_or_broken(std::shared_ptr<const GangInfo> info, int rank,
                                                  std::string prefix, const GlooWorld& world,
                                                  Duration timeout) {
  const TimePoint deadline = deadline_after(world.runtime(), timeout);
  const Plan plan{std::move(info), rank, std::move(prefix), world.runtime().now(), deadline};
  Attempt attempt = try_to_connect(world, plan);
  if (attempt.member != nullptr) return attempt.member;
  auto broken = std::make_shared<GlooMember>(plan.info, rank, plan.prefix, world, nullptr);
  broken->break_with(std::move(attempt.failure));
  return broken;
}

}  // namespace gang
