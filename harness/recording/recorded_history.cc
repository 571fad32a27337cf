#include "harness/recording/recorded_history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "gang/gang.h"
#include "sim/recording/timeline_recorder.h"

namespace gang::harness {
namespace {

// A collective whose arguments differ cannot end well.
sim::SliceStatus status_of(const RankCall& call, bool is_open, const OpenCalls& open) {
  if (!is_open) return sim::SliceStatus::complete;
  const OpenCalls::Group& group = open.groups[call.group];
  return group.differs && !call.is_message && call.sequence == group.first
             ? sim::SliceStatus::failed
             : sim::SliceStatus::pending;
}

std::size_t first_kept(const RankRecording& rank, std::size_t kept) {
  return rank.calls.size() > kept ? rank.calls.size() - kept : 0;
}

// The last members to come to each collective that is shown: their logical and their own time.
struct Arrival {
  std::uint64_t step = 0;
  std::int64_t time = 0;
};
using Arrivals = std::map<std::pair<std::uint32_t, std::uint64_t>, Arrival>;  // group, number

}  // namespace

GangLabel label_of(const RecordedGroup& group) {
  return gang_label_of({.name = group.name,
                        .root_ranks = group.ranks,
                        .size = static_cast<int>(group.ranks.size())});
}

CallText text_of(const Recording& recording, const RankCall& call) {
  Collective described = recording.calls[call.call];
  described.sequence_number = call.sequence;
  return describe(described);
}

namespace {

// The batches of a recording as calls of a history, which keeps each once.
class Batches {
 public:
  explicit Batches(std::vector<sim::TimelineCall>& calls) : calls_(calls) {}

  std::uint32_t index_of(std::uint32_t first, std::size_t size) {
    const auto [place, is_new] =
        known_.try_emplace({first, size}, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) {
      Collective batch{.kind = OperationKind::batch, .count = static_cast<std::int64_t>(size)};
      calls_.push_back({describe(batch), SourceLocation(calls_[first].location)});
    }
    return place->second;
  }

 private:
  std::vector<sim::TimelineCall>& calls_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> known_;
};

}  // namespace

sim::CallHistories histories_of(const Recording& recording, const OpenCalls& open) {
  sim::CallHistories histories;
  for (const RecordedGroup& group : recording.groups)
    histories.gangs.push_back(
        {label_of(group), std::make_shared<const std::vector<int>>(group.ranks)});
  for (std::uint32_t i = 0; i < recording.calls.size(); ++i) {
    const Collective& call = recording.calls[i];
    sim::TimelineCall& kept = histories.calls.emplace_back();
    kept.call = describe(call);
    kept.call.sequence.reset();
    kept.location = location_of(call.call_site);
  }
  Batches batches(histories.calls);
  const std::size_t kept = sim::TimelineRecorder::calls_per_history(recording.world_size());
  for (std::size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    const RankRecording& recorded = recording.ranks[rank];
    sim::CallHistory& history = histories.ranks.emplace_back();
    const std::size_t first = first_kept(recorded, kept);
    history.left_out = recorded.first_record + first;
    history.end = recorded.end;
    for (std::size_t place = first; place < recorded.calls.size();) {
      const RankCall& call = recorded.calls[place];
      std::size_t end = place + 1;
      bool is_open = open.is_open[rank][place];
      for (; end < recorded.calls.size() && are_of_one_batch(call, recorded.calls[end]); ++end)
        is_open = is_open || open.is_open[rank][end];
      const std::size_t size = end - place;
      history.calls.push_back({size > 1 ? batches.index_of(call.call, size) : call.call, call.group,
                               call.sequence, status_of(call, is_open, open)});
      place = end;
    }
  }
  return histories;
}

sim::Timeline timeline_of(const Recording& recording, const OpenCalls& open,
                          const sim::CallHistories& histories) {
  sim::Timeline timeline;
  if (recording.ranks.size() > sim::most_lanes) return timeline;
  const std::size_t kept = sim::TimelineRecorder::slices_per_context(recording.world_size());
  for (const sim::RecordedGang& gang : histories.gangs) timeline.gangs.push_back(gang.label);
  timeline.calls = histories.calls;
  Arrivals arrivals;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (std::size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    const RankRecording& recorded = recording.ranks[rank];
    if (recorded.is_missing) continue;
    sim::TimelineLane& lane = timeline.lanes.emplace_back();
    lane.ranks = {static_cast<int>(rank)};
    const std::size_t first = first_kept(recorded, kept);
    lane.left_out = recorded.first_record + first;
    lane.end = recorded.end;
    std::uint64_t step = 0;
    for (std::size_t place = first; place < recorded.calls.size(); ++place) {
      const RankCall& call = recorded.calls[place];
      const std::int64_t time = std::max<std::int64_t>(call.created_ns, 0);
      lane.slices.push_back({.call = call.call,
                             .gang = call.group,
                             .sequence_number = call.sequence,
                             .first_step = ++step,
                             .last_step = step,
                             .start = TimePoint(time),
                             .end = TimePoint(time),
                             .status = status_of(call, open.is_open[rank][place], open)});
      begin = std::min(begin, time);
      timeline.last_step = std::max(timeline.last_step, step);
      timeline.end = std::max(timeline.end, TimePoint(time));
      if (call.is_message) continue;
      Arrival& arrival = arrivals[{call.group, call.sequence}];
      arrival = {std::max(arrival.step, step), std::max(arrival.time, time)};
    }
  }
  for (sim::TimelineLane& lane : timeline.lanes)
    for (sim::TimelineSlice& slice : lane.slices) {
      const bool is_pending = slice.status == sim::SliceStatus::pending;
      const auto arrival = arrivals.find({slice.gang, slice.sequence_number});
      if (is_pending) {
        slice.last_step = timeline.last_step;
        slice.end = timeline.end;
      } else if (arrival != arrivals.end() && !is_message(timeline.calls[slice.call])) {
        slice.last_step = arrival->second.step;
        slice.end = TimePoint(arrival->second.time);
      }
      slice.start -= Duration(begin);
      slice.end -= Duration(begin);
    }
  if (!timeline.lanes.empty() && timeline.end >= TimePoint(begin)) timeline.end -= Duration(begin);
  return timeline;
}

}  // namespace gang::harness
