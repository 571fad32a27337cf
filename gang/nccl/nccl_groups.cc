#include "gang/nccl/nccl_groups.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/store/store.h"

namespace gang {
namespace {

using Said = std::vector<std::optional<std::string>>;

// A child as this rank sees it: its members as ranks of the parent, in order.
struct Child {
  std::vector<int> members;
  int rank = 0;
  int color = 0;
  std::string suffix;  // tells children of one call apart
};

NcclCause cause_of(const StoreError& error) {
  GangErrorKind kind = GangErrorKind::connection;
  if (error.kind() == StoreErrorKind::timeout) kind = GangErrorKind::timeout;
  if (error.kind() == StoreErrorKind::corrupt || error.kind() == StoreErrorKind::dialect)
    kind = GangErrorKind::corrupt;
  return {.kind = kind, .reason = error.what()};
}

std::vector<int> silent(const Said& said) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (!said[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

NcclCause missing_cause(std::vector<int> missing) {
  std::string who;
  for (const int rank : missing) who += (who.empty() ? "rank " : ", ") + std::to_string(rank);
  return {.kind = GangErrorKind::timeout,
          .ranks_at_fault = std::move(missing),
          .reason = who + " did not come in time"};
}

// What all members say in their k-th operation; breaks the gang where somebody does not come.
Said meet(NcclMember& member, const NcclCall& call, std::string_view own,
          bool wait_all_ranks = true) {
  const std::string place = "#" + std::to_string(call.purpose.call.sequence_number);
  Said said;
  try {
    said = member.device()->meeting().meet({.key = member.key() + place,
                                            .gang_key = member.key(),
                                            .rank = member.rank(),
                                            .size = member.size(),
                                            .root_ranks = member.info()->root_ranks,
                                            .deadline = call.deadline,
                                            .purpose = &call.purpose},
                                           own);
  } catch (const StoreError& error) {
    member.fail(call.purpose, call.began, cause_of(error));
  }
  std::vector<int> missing = silent(said);
  if (missing.empty()) return said;
  if (const auto note = member.device()->meeting().find_note(member.key()))
    if (auto cause = parse_nccl_note(*note))
      member.fail(call.purpose, call.began, *std::move(cause));
  if (!wait_all_ranks) missing.resize(1);
  member.fail(call.purpose, call.began, missing_cause(std::move(missing)));
}

// Those that said something else than most; the higher ones where two are as frequent.
std::vector<int> odd_ranks(const Said& said) {
  const auto frequency = [&said](const std::optional<std::string>& text) {
    return std::ranges::count(said, text);
  };
  const auto most = std::ranges::max_element(said, {}, frequency);
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (said[rank] != *most) odd.push_back(static_cast<int>(rank));
  return odd;
}

std::optional<Child> agree_on_list(NcclMember& parent, const NcclCall& call,
                                   const Operation& operation) {
  std::string list = "gang ";
  for (const int rank : operation.ranks) list += std::to_string(rank) + ",";
  const std::vector<int> odd = odd_ranks(meet(parent, call, list));
  if (!odd.empty())
    parent.fail(
        call.purpose, call.began,
        {.kind = GangErrorKind::mismatch,
         .ranks_at_fault = odd,
         .reason = "rank " + std::to_string(odd.front()) + " asks for a gang of other ranks"});
  const auto found = std::ranges::find(operation.ranks, parent.rank());
  if (found == operation.ranks.end()) return std::nullopt;
  return Child{{operation.ranks.begin(), operation.ranks.end()},
               static_cast<int>(found - operation.ranks.begin()),
               0,
               ""};
}

// None for what no member says.
std::optional<std::pair<int, int>> parse_color_and_key(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer())
    return std::nullopt;
  return std::pair(json[0].get<int>(), json[1].get<int>());
}

std::optional<Child> agree_on_colors(NcclMember& parent, const NcclCall& call,
                                     const Operation& operation) {
  const Said said = meet(parent, call, nlohmann::json{operation.color, operation.key}.dump());
  std::vector<std::pair<int, int>> places;  // key, rank in the parent
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    const auto place = parse_color_and_key(*said[rank]);
    if (!place)
      parent.fail(call.purpose, call.began,
                  {.kind = GangErrorKind::mismatch,
                   .ranks_at_fault = {static_cast<int>(rank)},
                   .reason = "rank " + std::to_string(rank) + " makes gangs otherwise"});
    if (place->first == operation.color) places.emplace_back(place->second, static_cast<int>(rank));
  }
  if (operation.color == no_color) return std::nullopt;
  std::ranges::sort(places);
  Child child{.color = operation.color, .suffix = "." + std::to_string(operation.color)};
  for (const auto& [key, rank] : places) {
    if (rank == parent.rank()) child.rank = static_cast<int>(child.members.size());
    child.members.push_back(rank);
  }
  return child;
}

std::shared_ptr<const GangInfo> info_of(const NcclMember& parent, const Child& child,
                                        const GangOptions& options, std::uint64_t index) {
  auto info = std::make_shared<GangInfo>(*parent.info());
  info->name = options.name.empty() ? default_child_name(*parent.info(), index) : options.name;
  info->timeout = options.timeout.value_or(parent.info()->timeout);
  info->size = static_cast<int>(child.members.size());
  info->root_ranks.clear();
  for (const int member : child.members)
    info->root_ranks.push_back(parent.info()->root_ranks[static_cast<std::size_t>(member)]);
  return info;
}

// Waits for a new communicator; why there is none, where there is none.
std::optional<NcclCause> await(NcclApi& api, NcclCommunicator& communicator, TimePoint deadline) {
  const NcclStatus status = api.await_ready(communicator, deadline);
  if (status == NcclStatus::success) return std::nullopt;
  const bool is_late = status == NcclStatus::in_progress;
  const bool is_lost = status == NcclStatus::remote_error;
  return NcclCause{.kind = is_late   ? GangErrorKind::timeout
                           : is_lost ? GangErrorKind::peer_failed
                                     : GangErrorKind::connection,
                   .reason = is_late
                                 ? "not all members made the communicator in time"
                                 : "NCCL made no communicator: " + std::string(to_string(status))};
}

void drop(NcclDevice& device, std::unique_ptr<NcclCommunicator> communicator) {
  NcclCommunicator* const dead[] = {communicator.get()};
  {
    const auto launches = device.launching();
    device.api().revoke(dead);
  }
  device.bury(std::move(communicator));
}

struct Split {
  std::unique_ptr<NcclCommunicator> communicator;  // null: in none
  std::optional<NcclCause> failure;
};

Split split_communicator(NcclMember& parent, const NcclCall& call,
                         const std::optional<Child>& child) {
  NcclDevice& device = *parent.device();
  Split made;
  try {
    {
      const auto launches = device.launching();
      made.communicator = device.api().split(
          parent.communicator(), child ? NcclSplit{child->color, child->rank} : NcclSplit{},
          call.purpose);
    }
    NcclCommunicator& slowest =
        made.communicator != nullptr ? *made.communicator : parent.communicator();
    made.failure = await(device.api(), slowest, call.deadline);
  } catch (const NcclError& error) {
    made.failure = NcclCause{.kind = GangErrorKind::connection, .reason = error.what()};
  }
  if (made.failure && made.communicator != nullptr) drop(device, std::move(made.communicator));
  return made;
}

NcclId id_from(const std::string& text) {
  NcclId id{};
  if (text.size() == id.size()) std::memcpy(id.data(), text.data(), id.size());
  return id;
}

[[noreturn]] void throw_failure(const NcclMemberOptions& options, const Runtime& runtime,
                                const NcclCall& call, NcclCause cause) {
  GangFailure failure;
  failure.kind = cause.kind;
  failure.gang = label_of(*options.info);
  failure.rank = options.rank;
  failure.operation = call.purpose.call;
  failure.elapsed = runtime.now() - call.began;
  failure.ranks_at_fault = std::move(cause.ranks_at_fault);
  failure.reason = std::move(cause.reason);
  throw GangError(std::move(failure));
}

// The id that rank 0 has made, on every rank.
NcclId exchange_id(const NcclMemberOptions& options, NcclDevice& device, const NcclCall& call) {
  std::string own;
  if (options.rank == 0) {
    const NcclId id = device.api().make_id();
    own.assign(reinterpret_cast<const char*>(id.data()), id.size());
  }
  if (options.info->size == 1) return id_from(own);
  Said said;
  try {
    said = device.meeting().meet({.key = options.key + "#id",
                                  .gang_key = options.key,
                                  .rank = options.rank,
                                  .size = options.info->size,
                                  .root_ranks = options.info->root_ranks,
                                  .deadline = call.deadline,
                                  .purpose = &call.purpose},
                                 own);
  } catch (const StoreError& error) {
    throw_failure(options, device.runtime(), call, cause_of(error));
  }
  std::vector<int> missing = silent(said);
  if (!missing.empty())
    throw_failure(options, device.runtime(), call, missing_cause(std::move(missing)));
  return id_from(*said.front());
}

}  // namespace

NcclCall nccl_call(const NcclMember& member, const Operation& operation) {
  const Runtime& runtime = member.device()->runtime();
  NcclCall call{{member.info(), operation.collective},
                runtime.now(),
                deadline_after(runtime, operation.timeout)};
  call.purpose.call.label = {};
  return call;
}

std::shared_ptr<NcclMember> make_nccl_member(NcclMemberOptions options,
                                             const std::shared_ptr<NcclDevice>& device,
                                             std::unique_ptr<NcclCommunicator> communicator) {
  auto member = std::make_shared<NcclMember>(std::move(options), device, std::move(communicator));
  device->add(member);
  return member;
}

std::shared_ptr<NcclMember> make_root_member(const NcclMemberOptions& options,
                                             const std::shared_ptr<NcclDevice>& device) {
  const GangInfo& info = *options.info;
  NcclCall call{{options.info, Collective{.kind = OperationKind::create_gang}},
                device->runtime().now(),
                deadline_after(device->runtime(), info.timeout)};
  call.purpose.call.count = info.size;
  call.purpose.call.shape = Shape::vector(info.size);
  std::unique_ptr<NcclCommunicator> communicator;
  std::optional<NcclCause> failure;
  try {
    const NcclId id = exchange_id(options, *device, call);
    {
      const auto launches = device->launching();
      communicator = device->api().init({id, options.rank, info.size}, call.purpose);
    }
    failure = await(device->api(), *communicator, call.deadline);
  } catch (const NcclError& error) {
    failure = NcclCause{.kind = GangErrorKind::connection, .reason = error.what()};
  }
  if (!failure) return make_nccl_member(options, device, std::move(communicator));
  if (communicator != nullptr) drop(*device, std::move(communicator));
  throw_failure(options, device->runtime(), call, *std::move(failure));
}

std::shared_ptr<NcclMember> make_child_member(NcclMember& parent, const NcclCall& call,
                                              const Operation& operation, std::uint64_t index) {
  const std::optional<Child> child = call.purpose.call.kind == OperationKind::split
                                         ? agree_on_colors(parent, call, operation)
                                         : agree_on_list(parent, call, operation);
  Split made = split_communicator(parent, call, child);
  if (made.failure) parent.fail(call.purpose, call.began, *std::move(made.failure));
  if (made.communicator == nullptr) return nullptr;
  NcclMemberOptions options = parent.options();
  options.info = info_of(parent, *child, *operation.gang_options, index);
  options.rank = child->rank;
  options.key = parent.key() + "/" + std::to_string(index) + child->suffix;
  return make_nccl_member(std::move(options), parent.device(), std::move(made.communicator));
}

void run_monitored_barrier(NcclMember& member, const NcclCall& call, bool wait_all_ranks) {
  meet(member, call, "barrier", wait_all_ranks);
}

}  // namespace gang
