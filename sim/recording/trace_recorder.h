// Digests, and if asked records, what happens in a run.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/recording/timeline_recorder.h"
#include "sim/report/trace.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct SimulationOptions;

// Sees every event of a run in order. The digest costs a few multiplications per event; events, and
// the timeline, are kept only when recording.
class TraceRecorder {
 public:
  explicit TraceRecorder(const SimulationOptions& options);

  void gang_made(const GangState& gang);

  void posted(const PendingOperation& pending, TimePoint time) {
    called(*pending.task, *pending.gang, pending.call(), time);
    if (is_recording_) [[unlikely]]
      keep(TraceEventKind::post, pending, time);
  }

  // For the digest alone: what `posted` notes of a call.
  void called(const Task& task, const GangState& gang, const Collective& call, TimePoint time) {
    mix((std::uint64_t{task.id} << 32) ^ gang.index ^
        static_cast<std::uint64_t>(time.count()) * factor);
    mix(head_of(call) ^ std::rotl(call.sequence_number, 32) ^
        static_cast<std::uint64_t>(call.count) * factor ^
        std::rotl(static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.tag)), 50));
  }

  // A collective completed or failed as a whole.
  void ended(TraceEventKind kind, const GangState& gang, std::uint64_t sequence, TimePoint time) {
    mix((std::uint64_t{gang.index} << 32) ^ (sequence << 4) ^ static_cast<std::uint64_t>(kind));
    mix(static_cast<std::uint64_t>(time.count()));
  }

  // The same, as one member sees it.
  void ended_for(TraceEventKind kind, const PendingOperation& pending, TimePoint time) {
    if (is_recording_) [[unlikely]]
      keep(kind, pending, time);
  }

  void task(TraceEventKind kind, const Task& task, TimePoint time);

  // A fault of the plan has happened to the rank for the first time.
  void fault_fired(int rank) {
    if (timeline_) timeline_->fault_fired(rank);
  }

  // Whether each member's end is of interest, not only that of the whole.
  bool is_recording() const noexcept { return is_recording_; }
  std::uint64_t digest() const noexcept { return digest_; }
  Trace take(bool is_ordered);
  // Null unless the timeline is recorded. Before take_timeline.
  std::shared_ptr<const CallHistories> histories() const;
  Timeline take_timeline(TimePoint end);  // empty unless recorded

 private:
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ULL;

  void mix(std::uint64_t value) noexcept { digest_ = (std::rotl(digest_, 23) ^ value) * factor; }
  void keep(TraceEventKind kind, const PendingOperation& pending, TimePoint time);
  std::uint32_t index_of(const CallSite& call_site);

  bool keeps_events_;
  std::unique_ptr<TimelineRecorder> timeline_;  // null unless recording
  bool is_recording_;                           // either of them
  std::uint64_t digest_ = 0x243f6a8885a308d3ULL;
  Trace trace_;
  std::map<SourceLocation, std::uint32_t> call_sites_;  // index into Trace::call_sites
};

}  // namespace gang::sim
