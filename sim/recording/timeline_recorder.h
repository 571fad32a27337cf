// Keeps the last operations of every context while a run goes on.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/report/call_history.h"
#include "sim/report/timeline.h"
#include "sim/report/trace.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

// Sees the events of a run in order, as TraceRecorder does, and keeps of every context the last
// few, in memory of a fixed size. Texts are made once per kind of call, not per event.
class TimelineRecorder {
 public:
  // What a lane keeps of every context of `world_size` ranks: the more ranks, the fewer operations.
  static std::size_t slices_per_context(int world_size) noexcept;

  // The same of a history, which nobody has to look at: as many, or more.
  static std::size_t calls_per_history(int world_size) noexcept;

  // `are_sends_buffered`: a send may have ended long before it is received.
  TimelineRecorder(int world_size, bool are_sends_buffered);

  void gang_made(const GangState& gang) { gang_of(gang); }
  void posted(const PendingOperation& pending, TimePoint time);
  void ended_for(TraceEventKind kind, const PendingOperation& pending, TimePoint time);
  void task(TraceEventKind kind, const Task& task);
  void fault_fired(int rank);

  // What the ranks' programs called, as far as it is kept. Before `take`.
  CallHistories histories() const;

  // Groups the lanes and hands the timeline over. `end`: when the run was over.
  Timeline take(TimePoint end);

 private:
  struct Context {
    int rank = 0;
    std::string name;
    std::vector<TimelineSlice> ring;
    std::size_t oldest = 0;  // in `ring`, once it is full
    std::uint64_t left_out = 0;
    std::uint64_t step = 0;  // logical time
    LaneEnd end = LaneEnd::none;
  };
  // A collective that gathers its members.
  struct OpenCollective {
    std::uint64_t last_call = 0;  // step of the member that called last
    int ended = 0;
  };
  struct Gang {
    GangLabel label;
    std::shared_ptr<const std::vector<int>> members;
    std::uint32_t name = 0;           // index into names_
    std::uint64_t base_sequence = 0;  // of collectives.front()
    std::deque<OpenCollective> collectives;
  };
  // The send that ended last: its receive ends next.
  struct Sent {
    Context* context = nullptr;
    TimelineSlice* slice = nullptr;
  };
  using Link = std::tuple<std::uint32_t, int, int, int>;  // gang, source, destination, tag
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Index = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  Context& context_of(const Task& task);
  Gang& gang_of(const GangState& gang);
  OpenCollective& open_collective(Gang& gang, std::uint64_t sequence);
  std::uint32_t call_of(const PendingOperation& pending);
  static std::uint32_t index_of(Index& index, std::string_view key);
  TimelineSlice& add(Context& context, const TimelineSlice& slice);
  TimelineSlice* find(Context& context, const PendingOperation& pending);
  std::uint64_t last_step_of(const PendingOperation& pending, std::uint64_t own_step);
  std::uint64_t step_of_sender(const PendingOperation& receive);
  void keep_last_slices(Context& context) const;
  std::string group_key(const Context& context) const;
  TimelineLane lane_of(Context& context) const;
  void group(Timeline& timeline);
  void name_gangs(Timeline& timeline) const;

  std::size_t slices_kept_;  // of a context, in its lane
  std::size_t capacity_;     // of a ring
  bool are_sends_buffered_;
  std::deque<Context> contexts_;  // by TaskId
  std::vector<Gang> gangs_;       // by GangState::index
  std::vector<TimelineCall> calls_;
  std::vector<std::uint32_t> kinds_;  // by call: calls that differ in their peer are of one kind
  std::vector<bool> is_message_;      // by call
  Index call_index_;
  Index kind_index_;
  Index names_;
  std::string key_;                 // of the call at hand
  std::uint64_t trigger_step_ = 0;  // of what was called last: it lets others end
  Sent sent_;
  std::map<Link, std::deque<std::uint64_t>> buffered_;  // steps of the sends on their way
  std::uint64_t last_step_ = 0;
  std::vector<std::uint64_t> fault_steps_;
};

}  // namespace gang::sim
