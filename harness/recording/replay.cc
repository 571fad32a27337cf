#include "harness/recording/replay.h"

#include <map>
#include <memory>

#include "gang/error.h"
#include "gang/parent_gang.h"
#include "sim/further_runs/settled_run.h"
#include "sim/simulation.h"

namespace gang::harness {
namespace {

// Starts calls that are described already, as a recording has them.
class Caller : public ParentGang {
 public:
  static Work start(Gang& gang, Operation& operation) { return start_on(gang, operation); }
};

struct Started {
  Work work;
  bool was_completed = false;
};

// One rank of a recording.
class ReplayedRank {
 public:
  // `has_sizes`: whether messages must agree in their sizes.
  ReplayedRank(const Recording& recording, const OpenCalls& open, sim::SimulatedRank& rank,
               bool has_sizes)
      : recording_(recording),
        open_(open),
        rank_(rank),
        calls_(of(recording.ranks).calls),
        has_sizes_(has_sizes) {}

  void run() {
    if (const RankRecording& recorded = of(recording_.ranks); recorded.is_missing)
      rank_.end_as("dump is missing");
    else if (recorded.end != sim::LaneEnd::returned)
      rank_.end_as(recorded.end == sim::LaneEnd::failed ? "program failed" : "recording ends");
    for (const std::uint32_t place : of(open_.common_of_rank)) start(place);
    const std::vector<std::uint32_t>& places = of(open_.of_rank);
    for (std::size_t first = 0; first < places.size();) {
      std::size_t last = first + 1;
      while (last < places.size() &&
             are_of_one_batch(calls_[places[last - 1]], calls_[places[last]]))
        ++last;
      start_some(std::span(places).subspan(first, last - first));
      first = last;
    }
    // What the rank saw completed does not hold it up.
    for (const bool was_completed : {false, true})
      for (Started& started : started_)
        if (started.was_completed == was_completed) wait(started.work);
  }

 private:
  template <typename T>
  const T& of(const std::vector<T>& by_rank) const {
    return by_rank[static_cast<std::size_t>(rank_.rank())];
  }

  void start_some(std::span<const std::uint32_t> places) {
    if (places.size() == 1) return start(places.front());
    std::vector<PointToPoint> messages;
    for (const std::uint32_t place : places) {
      const Collective& call = recording_.calls[calls_[place].call];
      messages.push_back({.kind = call.kind,
                          .tensor = {nullptr, call.data_type, Shape::vector(0)},
                          .peer = call.peer,
                          .tag = call.tag});
    }
    Operation batch;
    batch.collective = recording_.calls[calls_[places.front()].call];
    batch.collective.kind = OperationKind::batch;
    batch.collective.peer = no_rank;
    batch.collective.count = static_cast<std::int64_t>(messages.size());
    OperationExtras extras{.batch = messages};
    post(batch, extras, calls_[places.front()]);
  }

  void start(std::uint32_t place) {
    Operation operation;
    operation.collective = recording_.calls[calls_[place].call];
    OperationExtras extras;
    post(operation, extras, calls_[place]);
  }

  void post(Operation& operation, OperationExtras& extras, const RankCall& call) {
    operation.timeout = no_timeout;
    const TensorView nothing{nullptr, operation.collective.data_type, Shape::vector(0)};
    operation.input = operation.output = nothing;
    Gang& gang = gang_of(call.group);
    const std::vector<TensorView> inputs(static_cast<std::size_t>(gang.size()), nothing);
    Collective& described = operation.collective;
    // A batch has no tensors, and so no sizes; what is left of one may be a single message.
    if (is_point_to_point(described.kind) && described.kind != OperationKind::batch && !has_sizes_)
      described.count = 0;
    if (described.kind == OperationKind::scatter && described.peer == gang.rank())
      extras.inputs = inputs;
    if (described.kind == OperationKind::broadcast_objects) extras.packed = &packed_;
    operation.extras = &extras;
    // Gangs are made already: what is left of this is that all members meet.
    if (described.kind == OperationKind::create_gang || described.kind == OperationKind::split) {
      described.label = to_string(described.kind);
      described.kind = OperationKind::barrier;
    }
    try {
      started_.push_back(
          {Caller::start(gang, operation), call.state == DumpedState::completed && call.has_state});
    } catch (const GangError&) {
      // The gang is broken, which is a finding already.
    }
  }

  void wait(Work& work) {
    try {
      work.wait();
    } catch (const GangError&) {
      // Likewise.
    }
  }

  Gang& gang_of(std::uint32_t index) {
    std::shared_ptr<Gang>& gang = gangs_[index];
    if (gang == nullptr) {
      const RecordedGroup& group = recording_.groups[index];
      const OpenCalls::Group& open = open_.groups[index];
      const std::uint64_t first = open.first.value_or(0) - (open.has_common ? 1 : 0);
      gang = rank_.gang_of({.name = group.name,
                            .root_ranks = group.ranks,
                            .timeout = no_timeout,
                            .backend = "recording"},
                           {}, std::to_string(index), first);
    }
    return *gang;
  }

  const Recording& recording_;
  const OpenCalls& open_;
  sim::SimulatedRank& rank_;
  const std::vector<RankCall>& calls_;
  const bool has_sizes_;
  std::map<std::uint32_t, std::shared_ptr<Gang>> gangs_;  // outlive the works
  std::vector<std::byte> packed_;                         // objects of no bytes
  std::vector<Started> started_;
};

bool are_in_streams(const Recording& recording, const OpenCalls& open) {
  for (std::size_t rank = 0; rank < open.of_rank.size(); ++rank)
    for (const std::uint32_t place : open.of_rank[rank])
      if (!recording.ranks[rank].calls[place].is_in_stream) return false;
  return true;
}

bool has_open_batch(const Recording& recording, const OpenCalls& open) {
  for (std::size_t rank = 0; rank < open.of_rank.size(); ++rank) {
    const std::vector<RankCall>& calls = recording.ranks[rank].calls;
    for (const std::uint32_t place : open.of_rank[rank])
      if ((place > 0 && are_of_one_batch(calls[place - 1], calls[place])) ||
          (place + 1 < calls.size() && are_of_one_batch(calls[place], calls[place + 1])))
        return true;
  }
  return false;
}

}  // namespace

sim::Report replay_open_calls(const Recording& recording, const OpenCalls& open) {
  sim::SimulationOptions options{.world_size = recording.world_size(), .buffer_guard = false};
  if (are_in_streams(recording, open)) options.execution = sim::ExecutionModel::stream_ordered;
  const bool has_sizes = !has_open_batch(recording, open);
  const sim::RunAgain run = [&](const sim::SimulationOptions& chosen) {
    return sim::Simulation(chosen).run(
        [&](sim::SimulatedRank& rank) { ReplayedRank(recording, open, rank, has_sizes).run(); });
  };
  sim::Report report = run(options);
  sim::settle_deadlock(options, report, run);
  return report;
}

}  // namespace gang::harness
