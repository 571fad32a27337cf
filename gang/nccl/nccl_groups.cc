#include "gang/nccl/nccl_groups.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/child_gang.h"
#include "gang/rank_list.h"
#include "gang/store/store.h"

namespace gang {
namespace {

using Said = std::vector<std::optional<std::string>>;

std::vector<int> silent(const Said& said) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (!said[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

GangCause missing_cause(std::vector<int> missing) {
  std::string reason = ranks_text(missing) + " did not arrive in time";
  return {.kind = GangErrorKind::timeout,
          .ranks_at_fault = std::move(missing),
          .reason = std::move(reason)};
}

// What all members say in their k-th operation; breaks the gang if some member does not arrive.
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
    if (auto cause = parse_note(*note)) member.fail(call.purpose, call.began, *std::move(cause));
  if (!wait_all_ranks) missing.resize(1);
  member.fail(call.purpose, call.began, missing_cause(std::move(missing)));
}

std::optional<ChildGang> agree_on_list(NcclMember& parent, const NcclCall& call,
                                       const Operation& operation) {
  std::string list = "gang ";
  for (const int rank : operation.extras->ranks) list += std::to_string(rank) + ",";
  if (auto mismatch = list_mismatch(meet(parent, call, list)))
    parent.fail(call.purpose, call.began, *std::move(mismatch));
  return child_of_list(operation.extras->ranks, parent.rank());
}

// None for a text that no member says in split.
std::optional<SplitPlace> parse_place(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer())
    return std::nullopt;
  return SplitPlace{json[0].get<std::int64_t>(), json[1].get<std::int64_t>()};
}

std::optional<ChildGang> agree_on_colors(NcclMember& parent, const NcclCall& call,
                                         const Operation& operation) {
  const Said said =
      meet(parent, call, nlohmann::json{operation.extras->color, operation.extras->key}.dump());
  std::vector<SplitPlace> places;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    const auto place = parse_place(*said[rank]);
    if (!place)
      parent.fail(call.purpose, call.began,
                  {.kind = GangErrorKind::mismatch,
                   .ranks_at_fault = {static_cast<int>(rank)},
                   .reason = "rank " + std::to_string(rank) + " did not call split"});
    places.push_back(*place);
  }
  return child_of_split(places, parent.rank());
}

// Waits for a new communicator; returns why there is none, if there is none.
std::optional<GangCause> await(NcclApi& api, NcclCommunicator& communicator, TimePoint deadline) {
  const NcclStatus status = api.await_ready(communicator, deadline);
  if (status == NcclStatus::success) return std::nullopt;
  const bool is_late = status == NcclStatus::in_progress;
  const bool is_lost = status == NcclStatus::remote_error;
  return GangCause{
      .kind = is_late   ? GangErrorKind::timeout
              : is_lost ? GangErrorKind::peer_failed
                        : GangErrorKind::connection,
      .reason = is_late ? "not all members joined the communicator in time"
                        : "NCCL could not make a communicator: " + std::string(to_string(status))};
}

struct Split {
  std::unique_ptr<NcclCommunicator> communicator;  // null if this rank is in none
  std::optional<GangCause> failure;
};

Split split_communicator(NcclMember& parent, const NcclCall& call, const NcclSplit& choice) {
  NcclDevice& device = *parent.device();
  Split made;
  try {
    {
      const auto launches = device.launching();
      parent.note_split();
      made.communicator = device.api().split(parent.communicator(), choice, call.purpose);
    }
    NcclCommunicator& slowest =
        made.communicator != nullptr ? *made.communicator : parent.communicator();
    made.failure = await(device.api(), slowest, call.deadline);
  } catch (const NcclError& error) {
    made.failure = GangCause{.kind = GangErrorKind::connection, .reason = error.what()};
  }
  if (made.failure && made.communicator != nullptr) device.drop(std::move(made.communicator));
  return made;
}

NcclId id_from(const std::string& text) {
  NcclId id{};
  if (text.size() == id.size()) std::memcpy(id.data(), text.data(), id.size());
  return id;
}

[[noreturn]] void throw_failure(const NcclMemberOptions& options, const Runtime& runtime,
                                const NcclCall& call, GangCause cause) {
  throw error_for(*options.info, options.rank, call.purpose.call, std::move(cause),
                  runtime.now() - call.began);
}

// The id that rank 0 makes, on every rank.
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
  const NcclCall call{{options.info, creation_of(info.size)},
                      device->runtime().now(),
                      deadline_after(device->runtime(), info.timeout)};
  std::unique_ptr<NcclCommunicator> communicator;
  std::optional<GangCause> failure;
  try {
    const NcclId id = exchange_id(options, *device, call);
    {
      const auto launches = device->launching();
      communicator = device->api().init({id, options.rank, info.size}, call.purpose);
    }
    failure = await(device->api(), *communicator, call.deadline);
  } catch (const NcclError& error) {
    failure = GangCause{.kind = GangErrorKind::connection, .reason = error.what()};
  }
  if (!failure) return make_nccl_member(options, device, std::move(communicator));
  if (communicator != nullptr) device->drop(std::move(communicator));
  throw_failure(options, device->runtime(), call, *std::move(failure));
}

std::shared_ptr<NcclMember> make_child_member(NcclMember& parent, const NcclCall& call,
                                              const Operation& operation, std::uint64_t index) {
  const bool is_split = call.purpose.call.kind == OperationKind::split;
  const std::optional<ChildGang> child =
      is_split ? agree_on_colors(parent, call, operation) : agree_on_list(parent, call, operation);
  NcclSplit choice;
  if (child) choice = {is_split ? operation.extras->color : 0, child->rank};
  Split made = split_communicator(parent, call, choice);
  if (made.failure) parent.fail(call.purpose, call.began, *std::move(made.failure));
  if (made.communicator == nullptr) return nullptr;
  NcclMemberOptions options = parent.options();
  options.info = child_info(*parent.info(), child->members, *operation.extras->gang_options, index);
  options.rank = child->rank;
  options.key = parent.key() + "/" + std::to_string(index) + child->suffix;
  return make_nccl_member(std::move(options), parent.device(), std::move(made.communicator));
}

void run_monitored_barrier(NcclMember& member, const NcclCall& call, bool wait_all_ranks) {
  meet(member, call, "barrier", wait_all_ranks);
}

}  // namespace gang
