#include "sim/recording/trace_recorder.h"

#include "sim/options/simulation_options.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

TraceRecorder::TraceRecorder(const SimulationOptions& options)
    : keeps_events_(options.trace == Recording::on) {
  if (options.timeline == Recording::on)
    timeline_ = std::make_unique<TimelineRecorder>(options.world_size,
                                                   options.sends.buffered_bytes.has_value());
  is_recording_ = keeps_events_ || timeline_ != nullptr;
}

void TraceRecorder::gang_made(const GangState& gang) {
  if (timeline_) timeline_->gang_made(gang);
  if (!keeps_events_) return;
  trace_.gangs.resize(std::max<std::size_t>(trace_.gangs.size(), gang.index + 1));
  trace_.gangs[gang.index] = label_of(*gang.info);
}

void TraceRecorder::task(TraceEventKind kind, const Task& task, TimePoint time) {
  mix((std::uint64_t{task.id} << 8) ^ static_cast<std::uint64_t>(kind));
  mix(static_cast<std::uint64_t>(time.count()));
  if (timeline_) timeline_->task(kind, task);
  if (!keeps_events_) return;
  TraceEvent event;
  event.kind = kind;
  event.task = task.id;
  event.rank = task.rank->rank;
  event.time = time;
  if (task.further) event.call.kind = task.further->name;
  trace_.events.push_back(std::move(event));
}

std::uint32_t TraceRecorder::index_of(const CallSite& call_site) {
  const auto [place, is_new] = call_sites_.try_emplace(
      location_of(call_site), static_cast<std::uint32_t>(trace_.call_sites.size()));
  if (is_new) trace_.call_sites.push_back(place->first);
  return place->second;
}

void TraceRecorder::keep(TraceEventKind kind, const PendingOperation& pending, TimePoint time) {
  if (timeline_ && kind == TraceEventKind::post) timeline_->posted(pending, time);
  if (timeline_ && kind != TraceEventKind::post) timeline_->ended_for(kind, pending, time);
  if (!keeps_events_) return;
  const Collective& call = pending.call();
  TraceEvent event;
  event.kind = kind;
  event.task = pending.task->id;
  event.rank = pending.task->rank->rank;
  event.gang = pending.gang->index;
  event.sequence_number = call.sequence_number;
  event.time = time;
  event.call = describe(call, *pending.gang->info);
  event.call_site = index_of(call.call_site);
  trace_.events.push_back(std::move(event));
}

Trace TraceRecorder::take(bool is_ordered) {
  trace_.digest = is_ordered ? digest_ : 0;
  return std::move(trace_);
}

std::shared_ptr<const CallHistories> TraceRecorder::histories() const {
  return timeline_ ? std::make_shared<const CallHistories>(timeline_->histories()) : nullptr;
}

Timeline TraceRecorder::take_timeline(TimePoint end) {
  return timeline_ ? timeline_->take(end) : Timeline{};
}

}  // namespace gang::sim
