#include "sim/recording/timeline_recorder.h"

#include <algorithm>

#include "sim/state/rank_state.h"

namespace gang::sim {
namespace {

constexpr std::size_t slices_in_all = 262'144;
constexpr std::size_t fewest_slices = 8;
constexpr std::size_t most_slices = 64;
constexpr std::size_t most_calls = 1024;

template <typename T>
void append(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All printed parts of a call except its sequence number and its peer.
void make_key(std::string& key, const Collective& call) {
  key.clear();
  append(key, call.kind);
  append(key, call.data_type);
  append(key, call.reduce_operation);
  append(key, call.tag);
  append(key, call.count);
  append(key, call.call_site.line());
  for (const std::int64_t extent : call.shape.extents()) append(key, extent);
  key += call.label;
  key += '\0';
  key += call.call_site.file();
  key += '\0';
}

TimelineCall to_timeline_call(const Collective& call, const GangInfo& gang) {
  TimelineCall kept{describe(call, gang), location_of(call.call_site)};
  kept.call.sequence.reset();
  return kept;
}

}  // namespace

std::size_t TimelineRecorder::slices_per_context(int world_size) noexcept {
  return std::clamp(slices_in_all / static_cast<std::size_t>(world_size), fewest_slices,
                    most_slices);
}

std::size_t TimelineRecorder::calls_per_history(int world_size) noexcept {
  return std::clamp(slices_in_all / static_cast<std::size_t>(world_size), fewest_slices,
                    most_calls);
}

TimelineRecorder::TimelineRecorder(int world_size, bool are_sends_buffered)
    : slices_kept_(slices_per_context(world_size)),
      capacity_(calls_per_history(world_size)),
      are_sends_buffered_(are_sends_buffered) {}

TimelineRecorder::Context& TimelineRecorder::context_of(const Task& task) {
  while (contexts_.size() <= task.id) contexts_.emplace_back();
  Context& context = contexts_[task.id];
  context.rank = task.rank->rank;
  return context;
}

TimelineRecorder::Gang& TimelineRecorder::gang_of(const GangState& gang) {
  if (gangs_.size() <= gang.index) gangs_.resize(gang.index + 1);
  Gang& known = gangs_[gang.index];
  if (known.label.empty()) {
    known.label = gang.gang_label();
    known.base_sequence = gang.first_sequence;
    known.members = {gang.info, &gang.info->root_ranks};
    known.name = index_of(names_, known.label.name);
  }
  return known;
}

TimelineRecorder::OpenCollective& TimelineRecorder::open_collective(Gang& gang,
                                                                    std::uint64_t sequence) {
  const std::size_t index = sequence - gang.base_sequence;
  if (index >= gang.collectives.size()) gang.collectives.resize(index + 1);
  return gang.collectives[index];
}

std::uint32_t TimelineRecorder::index_of(Index& index, std::string_view key) {
  const auto place = index.find(key);
  if (place != index.end()) return place->second;
  const auto next = static_cast<std::uint32_t>(index.size());
  index.emplace(key, next);
  return next;
}

std::uint32_t TimelineRecorder::call_of(const PendingOperation& pending) {
  const Collective& call = pending.call();
  make_key(key_, call);
  const std::size_t kind_bytes = key_.size();
  append(key_, peer_in_root(call, *pending.gang->info));
  const std::uint32_t index = index_of(call_index_, key_);
  if (index == calls_.size()) {
    calls_.push_back(to_timeline_call(call, *pending.gang->info));
    kinds_.push_back(index_of(kind_index_, std::string_view(key_).substr(0, kind_bytes)));
    is_message_.push_back(is_point_to_point(call.kind));
  }
  return index;
}

TimelineSlice& TimelineRecorder::add(Context& context, const TimelineSlice& slice) {
  if (context.ring.size() < capacity_) return context.ring.emplace_back(slice);
  ++context.left_out;
  TimelineSlice& place = context.ring[context.oldest];
  context.oldest = (context.oldest + 1) % capacity_;
  place = slice;
  return place;
}

TimelineSlice* TimelineRecorder::find(Context& context, const PendingOperation& pending) {
  const Collective& call = pending.call();
  const bool is_message = is_point_to_point(call.kind);
  const std::size_t count = context.ring.size();
  for (std::size_t back = 1; back <= count; ++back) {
    TimelineSlice& slice = context.ring[(context.oldest + count - back) % count];
    if (slice.status == SliceStatus::pending && slice.gang == pending.gang->index &&
        slice.sequence_number == call.sequence_number && is_message_[slice.call] == is_message)
      return &slice;
  }
  return nullptr;
}

void TimelineRecorder::posted(const PendingOperation& pending, TimePoint time) {
  const Collective& call = pending.call();
  Context& context = context_of(*pending.task);
  Gang& gang = gang_of(*pending.gang);
  const std::uint64_t step = ++context.step;
  last_step_ = std::max(last_step_, step);
  trigger_step_ = step;
  sent_ = {};
  add(context, {.call = call_of(pending),
                .gang = pending.gang->index,
                .sequence_number = call.sequence_number,
                .first_step = step,
                .last_step = step,
                .start = time,
                .end = time});
  if (is_point_to_point(call.kind)) return;
  OpenCollective& collective = open_collective(gang, call.sequence_number);
  collective.last_call = std::max(collective.last_call, step);
}

// When the peer of a receive that has ended called its send.
std::uint64_t TimelineRecorder::step_of_sender(const PendingOperation& receive) {
  if (are_sends_buffered_) {
    const Link link{receive.gang->index, receive.received.source_rank, receive.member,
                    receive.received.tag};
    auto& steps = buffered_[link];
    if (steps.empty()) return trigger_step_;
    const std::uint64_t step = steps.front();
    steps.pop_front();
    return step;
  }
  return sent_.slice != nullptr ? sent_.slice->first_step : trigger_step_;
}

std::uint64_t TimelineRecorder::last_step_of(const PendingOperation& pending,
                                             std::uint64_t own_step) {
  const Collective& call = pending.call();
  if (!is_point_to_point(call.kind)) {
    Gang& gang = gangs_[pending.gang->index];
    OpenCollective& collective = open_collective(gang, call.sequence_number);
    const std::uint64_t step = std::max(own_step, collective.last_call);
    ++collective.ended;
    while (!gang.collectives.empty() && gang.collectives.front().ended == pending.gang->size()) {
      gang.collectives.pop_front();
      ++gang.base_sequence;
    }
    return step;
  }
  if (call.kind == OperationKind::recv) return std::max(own_step, step_of_sender(pending));
  if (call.kind == OperationKind::send && are_sends_buffered_) {
    buffered_[{pending.gang->index, pending.member, call.peer, call.tag}].push_back(own_step);
    return own_step;
  }
  return std::max(own_step, trigger_step_);
}

void TimelineRecorder::ended_for(TraceEventKind kind, const PendingOperation& pending,
                                 TimePoint time) {
  Context& context = context_of(*pending.task);
  TimelineSlice* slice = find(context, pending);
  const std::uint64_t own_step = slice != nullptr ? slice->first_step : context.step;
  const bool has_failed = kind == TraceEventKind::fail;
  const std::uint64_t step =
      has_failed ? std::max(own_step, trigger_step_) : last_step_of(pending, own_step);
  context.step = std::max(context.step, step);
  last_step_ = std::max(last_step_, step);
  if (slice != nullptr) {
    slice->last_step = step;
    slice->end = time;
    slice->status = has_failed ? SliceStatus::failed : SliceStatus::complete;
  }
  const OperationKind operation = pending.call().kind;
  if (operation == OperationKind::recv && sent_.slice != nullptr) {
    // A rendezvous: neither continued before the other arrived.
    sent_.slice->last_step = std::max(sent_.slice->last_step, step);
    sent_.context->step = std::max(sent_.context->step, step);
  }
  sent_ = {};
  if (operation == OperationKind::send && !are_sends_buffered_ && !has_failed)
    sent_ = {&context, slice};
}

void TimelineRecorder::task(TraceEventKind kind, const Task& task) {
  Context& context = context_of(task);
  if (kind == TraceEventKind::task_start) {
    if (!task.further) return;
    context.name = task.further->name;
    context.step = contexts_[static_cast<std::size_t>(task.rank->rank)].step;
    return;
  }
  const bool has_failed = task.further ? task.further->error != nullptr : task.rank->has_failed;
  context.end = has_failed ? LaneEnd::failed : LaneEnd::returned;
}

void TimelineRecorder::fault_fired(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  fault_steps_.push_back(place < contexts_.size() ? contexts_[place].step : 0);
}

std::string TimelineRecorder::group_key(const Context& context) const {
  std::string key = context.name;
  key += '\0';
  append(key, context.end);
  append(key, context.left_out);
  for (const TimelineSlice& slice : context.ring) {
    append(key, kinds_[slice.call]);
    append(key, gangs_[slice.gang].name);
    append(key, slice.sequence_number);
    append(key, slice.status);
  }
  return key;
}

// Puts the oldest first and drops those that a lane does not show.
void TimelineRecorder::keep_last_slices(Context& context) const {
  std::rotate(context.ring.begin(),
              context.ring.begin() + static_cast<std::ptrdiff_t>(context.oldest),
              context.ring.end());
  context.oldest = 0;
  if (context.ring.size() <= slices_kept_) return;
  const std::size_t dropped = context.ring.size() - slices_kept_;
  context.ring.erase(context.ring.begin(),
                     context.ring.begin() + static_cast<std::ptrdiff_t>(dropped));
  context.left_out += dropped;
}

CallHistories TimelineRecorder::histories() const {
  CallHistories histories{.calls = calls_};
  for (const Gang& gang : gangs_) histories.gangs.push_back({gang.label, gang.members});
  for (const Context& context : contexts_) {
    if (!context.name.empty()) continue;
    const auto rank = static_cast<std::size_t>(context.rank);
    if (histories.ranks.size() <= rank) histories.ranks.resize(rank + 1);
    CallHistory& history = histories.ranks[rank];
    history.left_out = context.left_out;
    history.end = context.end;
    for (std::size_t i = 0; i < context.ring.size(); ++i) {
      const TimelineSlice& slice = context.ring[(context.oldest + i) % context.ring.size()];
      history.calls.push_back({slice.call, slice.gang, slice.sequence_number, slice.status});
    }
  }
  return histories;
}

TimelineLane TimelineRecorder::lane_of(Context& context) const {
  TimelineLane lane{.ranks = {context.rank},
                    .context = std::move(context.name),
                    .slices = std::move(context.ring),
                    .left_out = context.left_out,
                    .end = context.end};
  return lane;
}

// Uses one lane for all contexts with the same calls, if there are many.
void TimelineRecorder::group(Timeline& timeline) {
  const bool is_grouped = contexts_.size() > most_ungrouped_lanes;
  std::map<std::string, std::size_t> places;
  for (Context& context : contexts_) {
    keep_last_slices(context);
    for (TimelineSlice& slice : context.ring) {
      if (slice.status != SliceStatus::pending) continue;
      slice.last_step = last_step_;
      slice.end = timeline.end;
    }
    if (!is_grouped) {
      timeline.lanes.push_back(lane_of(context));
      continue;
    }
    const auto [place, is_new] = places.try_emplace(group_key(context), timeline.lanes.size());
    if (is_new)
      timeline.lanes.push_back(lane_of(context));
    else
      timeline.lanes[place->second].ranks.push_back(context.rank);
  }
  if (timeline.lanes.size() > most_lanes) {
    // Keep the lanes that have not returned: the problem is among them.
    std::stable_partition(timeline.lanes.begin(), timeline.lanes.end(),
                          [](const TimelineLane& lane) { return lane.end != LaneEnd::returned; });
    timeline.lanes_left_out = timeline.lanes.size() - most_lanes;
    timeline.lanes.resize(most_lanes);
  }
  for (TimelineLane& lane : timeline.lanes) std::sort(lane.ranks.begin(), lane.ranks.end());
  std::stable_sort(timeline.lanes.begin(), timeline.lanes.end(),
                   [](const TimelineLane& a, const TimelineLane& b) { return a.ranks < b.ranks; });
}

// Keeps the gangs and calls that the lanes mention, in order of first mention.
void TimelineRecorder::name_gangs(Timeline& timeline) const {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> gangs(gangs_.size(), none);
  std::vector<std::uint32_t> calls(calls_.size(), none);
  for (TimelineLane& lane : timeline.lanes) {
    for (TimelineSlice& slice : lane.slices) {
      std::uint32_t& gang = gangs[slice.gang];
      if (gang == none) {
        gang = static_cast<std::uint32_t>(timeline.gangs.size());
        timeline.gangs.push_back(gangs_[slice.gang].label);
      }
      slice.gang = gang;
      std::uint32_t& call = calls[slice.call];
      if (call == none) {
        call = static_cast<std::uint32_t>(timeline.calls.size());
        timeline.calls.push_back(calls_[slice.call]);
      }
      slice.call = call;
    }
  }
}

Timeline TimelineRecorder::take(TimePoint end) {
  Timeline timeline{.last_step = last_step_, .end = end, .fault_steps = std::move(fault_steps_)};
  group(timeline);
  name_gangs(timeline);
  return timeline;
}

}  // namespace gang::sim
