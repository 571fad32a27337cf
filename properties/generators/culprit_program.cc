#include "properties/generators/culprit_program.h"

#include <algorithm>
#include <stdexcept>

namespace gang::properties {
namespace {

// The program of one rank.
class RankRun {
 public:
  RankRun(const CulpritCase& one, const std::shared_ptr<Gang>& root)
      : case_(one), rank_(root->rank()) {
    gangs_.push_back(root);
    const CallSite site = CallSite::at(culprit_file, 1);
    int stride = 1;
    for (std::size_t axis = 0; axis < case_.axes.size(); ++axis) {
      const int size = case_.axes[axis];
      coordinates_[axis] = rank_ / stride % size;
      const int color = rank_ - coordinates_[axis] * stride;
      gangs_.push_back(
          root->split({.color = color, .key = rank_}, {.name = gang_names[axis + 1]}, site));
      stride *= size;
    }
    for (const Culprit& culprit : case_.culprits)
      if (culprit.rank % case_.world() == rank_) culprit_ = &culprit;
  }

  void run() {
    for (int iteration = 0; iteration < case_.iterations; ++iteration)
      for (std::size_t i = 0; i < case_.calls.size(); ++i) {
        const bool is_now = culprit_ != nullptr && culprit_->iteration == iteration &&
                            culprit_->call == static_cast<int>(i);
        if (!is_now) {
          make(case_.calls[i]);
          continue;
        }
        if (culprit_->slip == Slip::returns) return;
        if (culprit_->slip == Slip::throws) throw std::runtime_error("out of memory");
        if (slip(i)) ++i;
      }
  }

 private:
  // Whether the next call is made as well.
  bool slip(std::size_t index) {
    SharedCall call = case_.calls[index];
    if (culprit_->on_own_line) call.line = own_line(*culprit_);
    switch (culprit_->slip) {
      case Slip::adds: {
        SharedCall more = call;
        more.gang = culprit_->gang;
        make(more);
        make(case_.calls[index]);
        return false;
      }
      case Slip::swaps: {
        SharedCall next = case_.calls[index + 1];
        if (culprit_->on_own_line) next.line = call.line;
        make(next);
        make(call);
        return true;
      }
      case Slip::other_gang:
        call.gang = culprit_->gang;
        break;
      case Slip::other_count:
        call.count += 1;
        break;
      case Slip::other_tag:
        call.tag += static_cast<int>(case_.calls.size());
        break;
      default:
        return false;
    }
    make(call);
    return false;
  }

  TensorView view(std::size_t offset, std::int64_t count) {
    const std::size_t end = offset + static_cast<std::size_t>(count);
    if (buffer_.size() < end) buffer_.resize(std::max<std::size_t>(end, 4096));
    return {buffer_.data() + offset, DataType::f32, Shape{count}};
  }

  void make(const SharedCall& call) {
    if (call.makers == Makers::last_stage && coordinates_[1] != case_.axes[1] - 1) return;
    Gang& gang = *gangs_[static_cast<std::size_t>(call.gang)];
    const CallSite site = CallSite::at(culprit_file, static_cast<std::uint32_t>(call.line));
    const int first = gang.info().root_ranks.front();
    const std::int64_t count = call.count + (call.varies ? first % 5 : 0);
    const int next = (gang.rank() + 1) % gang.size();
    const int last = (gang.rank() + gang.size() - 1) % gang.size();
    switch (call.kind) {
      case SharedCallKind::all_reduce:
        return gang.all_reduce(view(0, count), ReduceOperation::sum, {}, site);
      case SharedCallKind::all_gather: {
        view(0, count * (gang.size() + 1));
        return gang.all_gather(view(count, count * gang.size()), view(0, count), {}, site);
      }
      case SharedCallKind::barrier:
        return gang.barrier({}, site);
      case SharedCallKind::broadcast:
        return gang.broadcast(view(0, count), first % gang.size(), {}, site);
      case SharedCallKind::uneven_all_to_all:
        return make_all_to_all(gang, site);
      case SharedCallKind::ring: {
        view(0, 2);
        const PointToPoint parts[] = {{OperationKind::send, view(0, 1), next, call.tag},
                                      {OperationKind::recv, view(1, 1), last, call.tag}};
        return gang.batch(parts, {}, site);
      }
      case SharedCallKind::pass_on:
        if (last < gang.rank()) gang.recv(view(0, 1), last, call.tag, {}, site);
        if (next > gang.rank()) gang.send(view(0, 1), next, call.tag, {}, site);
    }
  }

  void make_all_to_all(Gang& gang, const CallSite& site) {
    std::vector<std::int64_t> splits;
    std::int64_t total = 0;
    for (int other = 0; other < gang.size(); ++other) {
      splits.push_back((gang.rank() + other) % 3);
      total += splits.back();
    }
    view(0, 2 * total);
    gang.all_to_all(view(0, total), view(static_cast<std::size_t>(total), total),
                    {.output = splits, .input = splits}, {}, site);
  }

  const CulpritCase& case_;
  const int rank_;
  std::array<int, 3> coordinates_ = {};
  std::vector<std::shared_ptr<Gang>> gangs_;
  const Culprit* culprit_ = nullptr;
  std::vector<float> buffer_;
};

}  // namespace

sim::SimulationOptions options_of(const CulpritCase& one) {
  sim::SimulationOptions options{.world_size = one.world(), .timeout = no_timeout};
  if (one.schedule == 0) return options;
  options.scheduler = sim::SchedulerKind::random;
  options.seed = one.schedule;
  return options;
}

void run_rank(const CulpritCase& one, const std::shared_ptr<Gang>& root) {
  RankRun(one, root).run();
}

void run_rank(const CulpritCase& one, sim::SimulatedRank& rank) { run_rank(one, rank.root()); }

}  // namespace gang::properties
