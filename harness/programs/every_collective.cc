#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/agreement.h"
#include "gang/object.h"
#include "harness/program/contribution.h"
#include "harness/programs/all_programs.h"

namespace gang::harness {
namespace {

// Element `index` of what rank `source` sends to rank `destination`; each is different.
std::int32_t message(int source, int destination, std::size_t index) {
  return source * 10'007 + destination * 101 + static_cast<std::int32_t>(index % 97);
}

// One pass over every operation, each in its blocking and its start_ form, on one rank.
class EveryOperation {
 public:
  EveryOperation(Rank& rank, Gang& gang, std::size_t count)
      : rank_(rank), gang_(gang), size_(gang.size()), me_(gang.rank()), count_(count) {}

  void run() {
    reduce_all();
    reduce_to_one();
    reduce_and_scatter();
    scan();
    gather_all();
    gather_uneven();
    gather_to_one();
    scatter_from_one();
    exchange();
    broadcast();
    meet();
    send_around();
    send_in_batches();
    make_gangs();
  }

 private:
  using Values = std::vector<std::int32_t>;

  // Calls `perform` with a flag: first the blocking form, then the start_ form.
  template <typename Perform>
  void in_both_forms(const Perform& perform) {
    perform(false);
    perform(true);
  }

  void expect(bool is_right, std::string_view what) {
    if (is_right) return;
    rank_.wrong_result(
        fmt::format("{} returned a wrong result on rank {} of {}.", what, me_, gang_.name()));
  }

  // What `source` sends to `destination` and the `parts` - 1 ranks after it.
  Values messages(int source, int destination, int parts = 1) const {
    Values values;
    for (int part = 0; part < parts; ++part)
      for (std::size_t i = 0; i < count_; ++i)
        values.push_back(message(source, destination + part, i));
    return values;
  }

  // What every rank sends to `destination`, in rank order.
  Values gathered(int destination) const {
    Values values;
    for (int source = 0; source < size_; ++source)
      for (std::size_t i = 0; i < count_; ++i) values.push_back(message(source, destination, i));
    return values;
  }

  std::vector<TensorView> chunks(Values& values) const {
    std::vector<TensorView> views;
    const TensorView whole = view(values);
    const auto count = static_cast<std::int64_t>(count_);
    for (int part = 0; part < size_; ++part) views.push_back(whole.slice(part * count, count));
    return views;
  }

  Values room(int parts) const { return Values(count_ * static_cast<std::size_t>(parts)); }

  void reduce_all() {
    in_both_forms([this](bool starts) {
      Values values(count_);
      fill_contribution(view(values), ReduceOperation::sum, me_);
      if (starts)
        gang_.start_all_reduce(view(values), ReduceOperation::sum).wait();
      else
        gang_.all_reduce(view(values), ReduceOperation::sum);
      expect(is_reduction(view(values), ReduceOperation::sum, size_), "all_reduce");
      rank_.output("all_reduce", values);
    });
  }

  void reduce_to_one() {
    in_both_forms([this](bool starts) {
      const int root = size_ - 1;
      Values values(count_);
      fill_contribution(view(values), ReduceOperation::max, me_);
      const Values before = values;
      if (starts)
        gang_.start_reduce(view(values), ReduceOperation::max, root).wait();
      else
        gang_.reduce(view(values), ReduceOperation::max, root);
      expect(
          me_ == root ? is_reduction(view(values), ReduceOperation::max, size_) : values == before,
          "reduce");
      rank_.output("reduce", values);
    });
  }

  void reduce_and_scatter() {
    in_both_forms([this](bool starts) {
      Values input = room(size_);
      Values output = room(1);
      fill_contribution(view(input), ReduceOperation::sum, me_);
      if (starts)
        gang_.start_reduce_scatter(view(output), view(input), ReduceOperation::sum).wait();
      else
        gang_.reduce_scatter(view(output), view(input), ReduceOperation::sum);
      expect(is_reduction(view(output), ReduceOperation::sum, size_,
                          me_ * static_cast<std::int64_t>(count_)),
             "reduce_scatter");
      rank_.output("reduce_scatter", output);
    });
  }

  void scan() {
    in_both_forms([this](bool starts) {
      Values values(count_);
      fill_contribution(view(values), ReduceOperation::sum, me_);
      Values before = values;
      const Values own = values;
      if (starts) {
        gang_.start_scan(view(values), ReduceOperation::sum).wait();
        gang_.start_exclusive_scan(view(before), ReduceOperation::sum).wait();
      } else {
        gang_.scan(view(values), ReduceOperation::sum);
        gang_.exclusive_scan(view(before), ReduceOperation::sum);
      }
      expect(is_reduction(view(values), ReduceOperation::sum, me_ + 1), "scan");
      expect(me_ == 0 ? before == own : is_reduction(view(before), ReduceOperation::sum, me_),
             "exclusive_scan");
      rank_.output("scan", values);
    });
  }

  // Rank i gives one element more than the rank before it.
  void gather_uneven() {
    in_both_forms([this](bool starts) {
      std::vector<std::int64_t> counts;
      Values expected;
      for (int rank = 0; rank < size_; ++rank) {
        const auto count = count_ + static_cast<std::size_t>(rank);
        counts.push_back(static_cast<std::int64_t>(count));
        for (std::size_t i = 0; i < count; ++i) expected.push_back(message(rank, 0, i));
      }
      Values input;
      for (std::size_t i = 0; i < count_ + static_cast<std::size_t>(me_); ++i)
        input.push_back(message(me_, 0, i));
      Values output(expected.size());
      if (starts)
        gang_.start_all_gather(view(output), view(input), counts).wait();
      else
        gang_.all_gather(view(output), view(input), counts);
      expect(output == expected, "all_gather with counts");
      rank_.output("all_gather with counts", output);
    });
  }

  void gather_all() {
    in_both_forms([this](bool starts) {
      Values input = messages(me_, 0);
      Values output = room(size_);
      Values listed = room(size_);
      const std::vector<TensorView> list = chunks(listed);
      if (starts) {
        gang_.start_all_gather(view(output), view(input)).wait();
        gang_.start_all_gather_to_list(list, view(input)).wait();
      } else {
        gang_.all_gather(view(output), view(input));
        gang_.all_gather_to_list(list, view(input));
      }
      expect(output == gathered(0), "all_gather");
      expect(listed == gathered(0), "all_gather_to_list");
      rank_.output("all_gather", output);
    });
  }

  void gather_to_one() {
    in_both_forms([this](bool starts) {
      Values input = messages(me_, 1);
      Values output = me_ == 0 ? room(size_) : Values{};
      const std::vector<TensorView> list = me_ == 0 ? chunks(output) : std::vector<TensorView>{};
      if (starts)
        gang_.start_gather(list, view(input), 0).wait();
      else
        gang_.gather(list, view(input), 0);
      expect(me_ != 0 || output == gathered(1), "gather");
      rank_.output("gather", output);
    });
  }

  void scatter_from_one() {
    in_both_forms([this](bool starts) {
      Values input = me_ == 0 ? messages(0, 0, size_) : Values{};
      Values output = room(1);
      const std::vector<TensorView> list = me_ == 0 ? chunks(input) : std::vector<TensorView>{};
      if (starts)
        gang_.start_scatter(view(output), list, 0).wait();
      else
        gang_.scatter(view(output), list, 0);
      expect(output == messages(0, me_), "scatter");
      rank_.output("scatter", output);
    });
  }

  void exchange() {
    in_both_forms([this](bool starts) {
      Values input = messages(me_, 0, size_);
      Values output = room(size_);
      const std::vector<std::int64_t> splits(static_cast<std::size_t>(size_),
                                             static_cast<std::int64_t>(count_));
      if (starts)
        gang_.start_all_to_all(view(output), view(input)).wait();
      else
        gang_.all_to_all(view(output), view(input), {.output = splits, .input = splits});
      expect(output == gathered(me_), "all_to_all");
      rank_.output("all_to_all", output);
    });
  }

  void broadcast() {
    in_both_forms([this](bool starts) {
      const int root = size_ / 2;
      Values values = messages(me_, 0);
      if (starts)
        gang_.start_broadcast(view(values), root).wait();
      else
        gang_.broadcast(view(values), root);
      expect(values == messages(root, 0), "broadcast");
      rank_.output("broadcast", values);
    });
    Object object = me_ == 0 ? Object{{"step", 3}, {"names", {"a", "b"}}} : Object{};
    gang_.broadcast_objects({&object, 1}, 0);
    expect(object == Object({{"step", 3}, {"names", {"a", "b"}}}), "broadcast_objects");
    expect(broadcast_flag(gang_, me_ == 0), "broadcast_flag");
    expect(all_sum(gang_, 1) == size_, "all_sum");
  }

  void meet() {
    gang_.barrier();
    Work works[] = {gang_.start_barrier(), gang_.start_barrier()};
    Work::wait_all(works);
    gang_.monitored_barrier(gang_.timeout(), Gang::MissingRanks::all);
  }

  // NCCL supports neither tags nor receives from any source.
  bool is_nccl() const { return gang_.info().backend == "nccl"; }
  int tag(int wanted) const { return is_nccl() ? 0 : wanted; }
  int any_source(int expected) const { return is_nccl() ? expected : any_rank; }

  // Every rank sends to the next one: first blocking, even ranks sending first, then started.
  void send_around() {
    if (size_ == 1) return;
    const int next = (me_ + 1) % size_;
    const int previous = (me_ + size_ - 1) % size_;
    Values outgoing = messages(me_, next);
    Values incoming = room(1);
    const bool sends_first = me_ % 2 == 0 && me_ != size_ - 1;
    if (sends_first) {
      gang_.send(view(outgoing), next, tag(5));
      gang_.recv(view(incoming), previous, tag(5));
    } else {
      gang_.recv(view(incoming), previous, tag(5));
      gang_.send(view(outgoing), next, tag(5));
    }
    expect(incoming == messages(previous, me_), "recv");

    Values again = room(1);
    const auto start_send = [&] { return gang_.start_send(view(outgoing), next, tag(6)); };
    const auto start_recv = [&] {
      return gang_.start_recv(view(again), any_source(previous), tag(6));
    };
    Work works[2];
    // This order works even if a rank's operations run one after the other.
    works[0] = sends_first ? start_send() : start_recv();
    works[1] = sends_first ? start_recv() : start_send();
    const std::size_t first = Work::wait_any(works);
    works[first].wait();
    works[1 - first].wait();
    expect(again == messages(previous, me_), "start_recv");
    expect(works[sends_first ? 1 : 0].received().source_rank == previous, "received");
    rank_.output("recv", incoming);
  }

  void send_in_batches() {
    in_both_forms([this](bool starts) {
      const int next = (me_ + 1) % size_;
      const int previous = (me_ + size_ - 1) % size_;
      Values outgoing = messages(me_, next);
      Values incoming = room(1);
      const PointToPoint batch[] = {
          {.kind = OperationKind::send, .tensor = view(outgoing), .peer = next, .tag = tag(7)},
          {.kind = OperationKind::recv, .tensor = view(incoming), .peer = previous, .tag = tag(7)}};
      if (starts)
        gang_.start_batch(batch).wait();
      else
        gang_.batch(batch);
      expect(incoming == messages(previous, me_), "batch");
      rank_.output("batch", incoming);
    });
  }

  // One gang of all ranks in reverse order, then one of the even ranks and one of the odd ranks.
  void make_gangs() {
    std::vector<int> reversed(static_cast<std::size_t>(size_));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const std::shared_ptr<Gang> mirror = gang_.create_gang(reversed, {.name = "mirror"});
    expect(mirror->rank() == size_ - 1 - me_, "create_gang");
    expect(all_sum(*mirror, me_) == std::int64_t{size_} * (size_ - 1) / 2, "mirrored sum");
    const std::shared_ptr<Gang> half =
        gang_.split({.color = me_ % 2, .key = -me_}, {.name = "half"});
    const int members = (size_ + 1 - me_ % 2) / 2;
    expect(half->size() == members && half->rank() == members - 1 - me_ / 2, "split");
    half->barrier();
    half->close();
    mirror->close();
  }

  Rank& rank_;
  Gang& gang_;
  int size_;
  int me_;
  std::size_t count_;
};

void run_every_collective(Rank& rank) {
  const auto iterations = rank.parameter<std::int64_t>("iterations");
  EveryOperation operations{rank, *rank.root(), rank.parameter<std::size_t>("count")};
  for (std::int64_t i = 0; i < iterations; ++i) operations.run();
}

}  // namespace

Program every_collective_program() {
  return {.name = "every_collective",
          .description = "every operation, blocking and started, with checked results",
          .run = run_every_collective,
          .parameters = {integer_parameter("count", 4, {0, 1 << 24}, "elements per message"),
                         integer_parameter("iterations", 1, {0, 1'000'000'000},
                                           "passes over all operations")}};
}

}  // namespace gang::harness
