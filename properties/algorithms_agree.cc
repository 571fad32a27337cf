#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "gang/reduction.h"
#include "properties/all_properties.h"
#include "properties/program_run.h"
#include "properties/rank_check.h"

namespace gang::properties {
namespace {

class Tensor {
 public:
  Tensor(const Step& step, int count)
      : bytes_(static_cast<std::size_t>(count) * size_bytes(step.data_type)),
        type_(step.data_type),
        count_(count) {}

  // Random elements that are exact in every order of reduction.
  static Tensor random(const Step& step, int count, std::uint64_t seed) {
    Tensor tensor(step, count);
    sim::RandomStream random(seed, "tensor");
    for (int i = 0; i < count; ++i) {
      const std::uint64_t word = input_word(random(), step);
      const auto width = static_cast<std::ptrdiff_t>(size_bytes(step.data_type));
      const auto* first = reinterpret_cast<const std::byte*>(&word);
      std::copy_n(first, width, tensor.bytes_.begin() + i * width);
    }
    return tensor;
  }

  TensorView view() { return {bytes_.data(), type_, Shape::vector(count_)}; }
  TensorView slice(int index, int count) { return view().slice(index * count, count); }
  std::vector<TensorView> slices(int count) {
    std::vector<TensorView> parts;
    for (int i = 0; count != 0 && i < count_ / count; ++i) parts.push_back(slice(i, count));
    return parts;
  }

  friend bool operator==(const Tensor&, const Tensor&) = default;

 private:
  std::vector<std::byte> bytes_;
  DataType type_;
  int count_;
};

std::uint64_t seed_of(const Gang& gang) { return static_cast<std::uint64_t>(gang.rank()) + 1; }

ReduceOperation exact_operation(const Step& step, int size) {
  return model::is_exact({step.reduce_operation, step.data_type}, size) ? step.reduce_operation
                                                                        : ReduceOperation::sum;
}

std::string same(const Tensor& one, const Tensor& other, const char* difference) {
  return one == other ? "" : difference;
}

// What is wrong on one rank of one gang; empty if the equation holds.
using Equation = std::string (*)(Gang& gang, const Step& step);

std::string reduce_then_broadcast(Gang& gang, const Step& step) {
  Tensor together = Tensor::random(step, step.count, seed_of(gang));
  Tensor apart = together;
  const ReduceOperation operation = exact_operation(step, gang.size());
  const int root = step.root % gang.size();
  gang.all_reduce(together.view(), operation);
  gang.reduce(apart.view(), operation, root);
  gang.broadcast(apart.view(), root);
  return same(together, apart, "reduce and broadcast differ from all_reduce");
}

std::string reduce_scatter_then_all_gather(Gang& gang, const Step& step) {
  Tensor together = Tensor::random(step, step.count * gang.size(), seed_of(gang));
  Tensor apart = together;
  Tensor chunk(step, step.count);
  const ReduceOperation operation = exact_operation(step, gang.size());
  gang.all_reduce(together.view(), operation);
  gang.reduce_scatter(chunk.view(), apart.view(), operation);
  gang.all_gather(apart.view(), chunk.view());
  return same(together, apart, "reduce_scatter and all_gather differ from all_reduce");
}

std::string scan_twice(Gang& gang, const Step& step) {
  Tensor own = Tensor::random(step, step.count, seed_of(gang));
  Tensor until_here = own;
  Tensor before = own;
  Tensor of_all = own;
  ReduceOperation operation = exact_operation(step, gang.size());
  if (operation == ReduceOperation::mean) operation = ReduceOperation::max;
  gang.scan(until_here.view(), operation);
  gang.exclusive_scan(before.view(), operation);
  gang.all_reduce(of_all.view(), operation);
  if (gang.rank() > 0)
    combine(operation, own.view().type(), before.view().data(), own.view().data(),
            static_cast<std::size_t>(own.view().count()));
  const std::string wrong =
      same(before, until_here, "exclusive_scan and scan differ by more than the rank's own part");
  if (!wrong.empty() || gang.rank() + 1 != gang.size()) return wrong;
  return same(until_here, of_all, "scan differs from all_reduce on the last rank");
}

std::string scatter_then_gather(Gang& gang, const Step& step) {
  const int root = step.root % gang.size();
  const int count = std::max(1, step.count);
  Tensor given = Tensor::random(step, count * gang.size(), seed_of(gang));
  Tensor back(step, count * gang.size());
  Tensor chunk(step, count);
  const bool is_root = gang.rank() == root;
  gang.scatter(chunk.view(), is_root ? given.slices(count) : std::vector<TensorView>(), root);
  gang.gather(is_root ? back.slices(count) : std::vector<TensorView>(), chunk.view(), root);
  return is_root ? same(given, back, "gather does not undo scatter") : "";
}

std::string gather_then_broadcast(Gang& gang, const Step& step) {
  const int root = step.root % gang.size();
  const int count = std::max(1, step.count);
  Tensor mine = Tensor::random(step, count, seed_of(gang));
  Tensor together(step, count * gang.size());
  Tensor listed = together;
  Tensor apart = together;
  gang.all_gather(together.view(), mine.view());
  gang.all_gather_to_list(listed.slices(count), mine.view());
  const bool is_root = gang.rank() == root;
  gang.gather(is_root ? apart.slices(count) : std::vector<TensorView>(), mine.view(), root);
  gang.broadcast(apart.view(), root);
  if (!(together == listed)) return "all_gather_to_list differs from all_gather";
  return same(together, apart, "gather and broadcast differ from all_gather");
}

std::string all_to_all_twice(Gang& gang, const Step& step) {
  Tensor given = Tensor::random(step, step.count * gang.size(), seed_of(gang));
  Tensor there(step, step.count * gang.size());
  Tensor back(step, step.count * gang.size());
  gang.all_to_all(there.view(), given.view());
  gang.all_to_all(back.view(), there.view());
  return same(given, back, "a second all_to_all does not undo the first");
}

std::string uneven_all_to_all_and_back(Gang& gang, const Step& step) {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> got;
  for (int other = 0; other < gang.size(); ++other) {
    sent.push_back(split_size(step, gang.rank(), other));
    got.push_back(split_size(step, other, gang.rank()));
  }
  const auto total = [](const auto& counts) {
    return static_cast<int>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  };
  Tensor given = Tensor::random(step, total(sent), seed_of(gang));
  Tensor there(step, total(got));
  Tensor back(step, total(sent));
  gang.all_to_all(there.view(), given.view(), {.output = got, .input = sent});
  gang.all_to_all(back.view(), there.view(), {.output = sent, .input = got});
  return same(given, back, "all_to_all with swapped splits does not undo the first");
}

// Rank r of the gang is rank (r + shift) mod size of the permuted one.
std::string permute_ranks(Gang& gang, const Step& step) {
  const int size = gang.size();
  std::vector<int> order;
  for (int rank = 0; rank < size; ++rank) order.push_back((rank + size - step.peer % size) % size);
  const std::shared_ptr<Gang> permuted = gang.create_gang(order);
  Tensor mine = Tensor::random(step, step.count, seed_of(gang));
  Tensor gathered(step, step.count * size);
  Tensor gathered_permuted = gathered;
  gang.all_gather(gathered.view(), mine.view());
  permuted->all_gather(gathered_permuted.view(), mine.view());
  Tensor expected = gathered;
  for (int rank = 0; rank < size; ++rank) {
    const TensorView from = gathered.slice(order[static_cast<std::size_t>(rank)], step.count);
    std::copy_n(from.data(), from.size_bytes(), expected.slice(rank, step.count).data());
  }
  if (!(expected == gathered_permuted)) return "all_gather does not follow the order of the ranks";
  Tensor reduced = mine;
  Tensor reduced_permuted = mine;
  const ReduceOperation operation = exact_operation(step, size);
  gang.all_reduce(reduced.view(), operation);
  permuted->all_reduce(reduced_permuted.view(), operation);
  return same(reduced, reduced_permuted, "all_reduce depends on the order of the ranks");
}

int largest_divisor_up_to(int number, int most) {
  int divisor = std::max(1, std::min(number, most));
  while (number % divisor != 0) --divisor;
  return divisor;
}

// sdp: nodes of n consecutive ranks; rdp: the ranks at the same place in each node.
std::string reduce_by_nodes(Gang& gang, const Step& step) {
  const int node_size = largest_divisor_up_to(gang.size(), 1 + step.peer);
  ReduceOperation operation = step.reduce_operation;
  if (operation == ReduceOperation::mean) operation = ReduceOperation::sum;
  const auto sdp = gang.split({.color = gang.rank() / node_size, .key = gang.rank()});
  const auto rdp = gang.split({.color = gang.rank() % node_size, .key = gang.rank()});
  Tensor together = Tensor::random(step, step.count, seed_of(gang));
  Tensor by_nodes = together;
  gang.all_reduce(together.view(), operation);
  sdp->all_reduce(by_nodes.view(), operation);
  rdp->all_reduce(by_nodes.view(), operation);
  return same(together, by_nodes, "all_reduce over sdp, then rdp, differs from all_reduce over dp");
}

constexpr LawRow<Equation> equations[] = {
    {"reduce_and_broadcast_make_all_reduce",
     "reduce, then broadcast from its destination, equals all_reduce.", reduce_then_broadcast},
    {"reduce_scatter_and_all_gather_make_all_reduce",
     "reduce_scatter, then all_gather, equals all_reduce.", reduce_scatter_then_all_gather},
    {"scans_are_parts_of_all_reduce",
     "scan is exclusive_scan and the rank's own part; on the last rank it equals all_reduce.",
     scan_twice},
    {"gather_undoes_scatter", "scatter, then gather to its source, is the identity.",
     scatter_then_gather},
    {"gather_and_broadcast_make_all_gather",
     "all_gather, its list form, and gather then broadcast give the same.", gather_then_broadcast},
    {"all_to_all_twice_is_the_identity", "all_to_all is its own inverse.", all_to_all_twice},
    {"uneven_all_to_all_has_an_inverse",
     "all_to_all with the split sizes swapped undoes all_to_all.", uneven_all_to_all_and_back},
    {"permuting_ranks_permutes_results",
     "A gang of the same ranks in another order gathers in that order and reduces to the same.",
     permute_ranks},
    {"sdp_then_rdp_makes_dp", "all_reduce within nodes, then across nodes, equals all_reduce.",
     reduce_by_nodes},
};

Verdict judge_equation(const GangProgram& program, Equation equation, const Subject& subject) {
  const Step& step = program.steps.front();
  return judge_ranks(options_of(program), subject, [&](sim::SimulatedRank& rank) {
    const auto gangs = make_gangs(program, rank.root(), subject);
    const std::shared_ptr<Gang>& gang = gangs[static_cast<std::size_t>(step.node)];
    return gang ? equation(*gang, step) : std::string();
  });
}

}  // namespace

std::vector<Property> algorithms_agree(const Subject& subject) {
  const auto generate = [](Draw& draw) {
    return generate_program(
        draw, {.most_gangs = 2, .most_steps = 1, .kinds = {OperationKind::all_reduce}});
  };
  return laws_of<GangProgram>(equations, {.suite = "algorithms_agree", .generate = generate},
                              [subject](Equation equation, const GangProgram& program) {
                                return judge_equation(program, equation, subject);
                              });
}

}  // namespace gang::properties
