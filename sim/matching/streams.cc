#include "sim/matching/streams.h"

#include <algorithm>
#include <memory>

#include "gang/hash.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"

namespace gang::sim {
namespace {

bool receives_from_any(const Operation& operation) {
  const auto is_one = [](OperationKind kind, int peer) {
    return kind == OperationKind::recv && peer == any_rank;
  };
  return is_one(operation.collective.kind, operation.collective.peer) ||
         std::ranges::any_of(operation.extras->batch, [&](const PointToPoint& entry) {
           return is_one(entry.kind, entry.peer);
         });
}

void note_order_of_contexts(World& world, const PendingOperation& pending) {
  constexpr StepKey of_streams = 0x73747265616d;
  world.engine.choices().note_guided_choice();
  Guide* const guide = world.engine.choices().guide();
  if (guide == nullptr) return;
  const int rank = pending.task->rank->rank;
  guide->access({.kind = AccessKind::device,
                 .mode = AccessMode::write,
                 .rank = rank,
                 .object = splitmix64(of_streams, static_cast<std::uint64_t>(rank)),
                 .operation = pending.step_key,
                 .site = pending.call().call_site});
}

void note_hazard(World& world) {
  if (world.streams.decide()) world.engine.choices().note_choice_point(Unguided::stream_order);
}

// What is launched behind started operations may have to wait for them or not.
void note_launch(World& world, const PendingOperation& pending) {
  RankState& rank = *pending.task->rank;
  if (rank.has_threads) note_order_of_contexts(world, pending);
  const bool is_behind_others = rank.has_threads || rank.has_started_operations;
  if (pending.form != CallForm::blocking) rank.has_started_operations = true;
  StreamHazards& hazards = world.streams;
  const OperationKind kind = pending.call().kind;
  hazards.has_operation_behind |= is_behind_others;
  if (is_point_to_point(kind)) hazards.has_message_behind |= is_behind_others;
  hazards.has_receive_from_any |= receives_from_any(*pending.operation);
  hazards.has_break |= world.interference != nullptr;
  note_hazard(world);
}

}  // namespace

bool launch(PendingOperation& pending) {
  note_launch(*pending.gang->world, pending);
  auto& stream = pending.task->rank->make_rare().stream;
  if (!stream) stream = std::make_unique<std::deque<PendingOperation*>>();
  stream->push_back(&pending);
  if (stream->size() == 1) return true;
  pending.status = PendingStatus::launched;
  return false;
}

void note_look_at_streams(World& world) {
  if (world.options.execution != ExecutionModel::stream_ordered) return;
  world.streams.has_look = true;
  note_hazard(world);
}

void note_break_of_streams(World& world) {
  if (world.options.execution != ExecutionModel::stream_ordered) return;
  world.streams.has_break = true;
  note_hazard(world);
}

}  // namespace gang::sim
