#include "gang/gang.h"

#include <utility>

#include "gang/rank_list.h"
#include "gang/visible_text.h"

namespace gang {

Gang::Gang(std::shared_ptr<const GangInfo> info, int rank) noexcept
    : info_(std::move(info)), rank_(rank) {}

Gang::~Gang() = default;

Received Gang::do_run(Operation& operation) {
  Work work = do_start(operation);
  work.wait();
  return work.received();
}

std::shared_ptr<Gang> Gang::do_shrink(const ShrinkOptions&, const CallSite&) {
  throw NotSupported("shrink on " + label_of(info()) + ": backend " + info().backend +
                     " cannot shrink a gang; sim, gloo, nccl and fake can");
}

std::shared_ptr<Gang> Gang::create(Operation operation, OperationExtras extras) {
  std::shared_ptr<Gang> child;
  extras.created = &child;
  operation.extras = &extras;
  run_on(*this, operation);
  return child;
}

void Gang::abort() {
  if (!closed_) do_abort();
}

void Gang::close() {
  if (closed_) return;
  closed_ = true;
  close_children();
  do_close();
}

Received Gang::run_on(Gang& gang, Operation& operation) {
  const Received received = gang.do_run(operation);
  if (operation.extras->created != nullptr && *operation.extras->created != nullptr)
    gang.add_child(*operation.extras->created);
  return received;
}

std::string to_string(const GangLabel& label) {
  const std::string name = visible(label.name);
  return label.members.empty() ? name : name + "[" + label.members + "]";
}

GangLabel gang_label_of(const GangInfo& info) {
  constexpr std::size_t label_limit = 40;
  const std::size_t limit =
      info.name.size() + 10 < label_limit ? label_limit - info.name.size() : 10;
  if (!info.root_ranks.empty()) return {info.name, ranges_text(info.root_ranks, limit)};
  if (info.size <= 2) return {info.name, info.size == 1 ? "0" : "0,1"};
  return {info.name, "0-" + std::to_string(info.size - 1)};
}

int peer_in_root(const Collective& call, const GangInfo& gang) noexcept {
  const auto member = static_cast<std::size_t>(call.peer);
  const bool is_known = call.peer >= 0 && member < gang.root_ranks.size();
  return is_known ? gang.root_ranks[member] : call.peer;
}

CallText describe(const Collective& call, const GangInfo& gang) {
  CallText text = describe(call);
  if (text.peer) text.peer = peer_in_root(call, gang);
  return text;
}

std::string label_of(const GangInfo& info) { return to_string(gang_label_of(info)); }

std::string default_child_name(const GangInfo& parent, std::uint64_t index) {
  return parent.name + "." + std::to_string(index);
}

}  // namespace gang
