#include "properties/generators/mutant.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gang/collective.h"
#include "gang/enum_names.h"
#include "properties/program_memory.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

constexpr std::array collective_kinds = {
    OperationKind::all_reduce, OperationKind::reduce,    OperationKind::reduce_scatter,
    OperationKind::all_gather, OperationKind::gather,    OperationKind::scatter,
    OperationKind::all_to_all, OperationKind::broadcast, OperationKind::barrier};

bool moves_data(OperationKind kind) {
  return kind != OperationKind::barrier && kind != OperationKind::monitored_barrier &&
         kind != OperationKind::broadcast_objects;
}

bool can_start(OperationKind kind) {
  return kind != OperationKind::monitored_barrier && kind != OperationKind::broadcast_objects;
}

// A rank's place in a gang.
struct Seat {
  const std::vector<int>* gang = nullptr;  // null: not in the gang
  int rank = 0;

  int size() const { return static_cast<int>(gang->size()); }
};

Seat seat_in(const Membership& members, int node, int root_rank) {
  const std::vector<int>* gang = find_gang(members[static_cast<std::size_t>(node)], root_rank);
  if (gang == nullptr) return {};
  return {gang, static_cast<int>(std::ranges::find(*gang, root_rank) - gang->begin())};
}

bool takes_part(const Step& step, const Seat& seat) {
  if (seat.gang == nullptr) return false;
  if (step.kind != OperationKind::send) return true;
  return seat.rank == step.root % seat.size() || seat.rank == step.peer % seat.size();
}

// -- Making the mistake --

class Mistake {
 public:
  explicit Mistake(const Mutant& mutant)
      : mutant_(mutant),
        members_(members_of(mutant.program)),
        program_(mutant.program),
        at_(static_cast<std::size_t>(mutant.step) % program_.steps.size()) {
    for (std::size_t i = 0; i < program_.steps.size(); ++i)
      program_.steps[i].id = id_of(mutant.program, i);
  }

  std::optional<GangProgram> make() {
    const Seat seat = seat_of(at_);
    if (!takes_part(step(), seat)) return std::nullopt;
    return apply(seat) ? std::optional(std::move(program_)) : std::nullopt;
  }

  // The next step that the rank takes part in; the number of steps if there is none.
  std::size_t next() const {
    std::size_t next = at_ + 1;
    while (next < program_.steps.size() && !takes_part(program_.steps[next], seat_of(next))) ++next;
    return next;
  }

  std::size_t at() const { return at_; }
  const GangProgram& program() const { return program_; }

 private:
  Seat seat_of(std::size_t index) const {
    return seat_in(members_, program_.steps[index].node, mutant_.rank % program_.world);
  }
  Step& step() { return program_.steps[at_]; }

  bool apply(const Seat& seat);
  bool change_gang();
  bool change_root(const Seat& seat);
  bool change_type();
  bool change_reduction();
  bool change_kind();

  // An element of the list other than `current`.
  template <typename List, typename Value>
  Value another(const List& list, Value current) const {
    const auto count = static_cast<std::ptrdiff_t>(std::size(list));
    const auto place = std::ranges::find(list, current) - std::begin(list);
    const std::ptrdiff_t step = 1 + mutant_.value % (count - 1);
    return list[static_cast<std::size_t>((place % count + step) % count)];
  }

  const Mutant& mutant_;
  Membership members_;
  GangProgram program_;
  std::size_t at_;
};

bool Mistake::apply(const Seat& seat) {
  const auto here = program_.steps.begin() + static_cast<std::ptrdiff_t>(at_);
  switch (mutant_.mutation) {
    case Mutation::skip:
      program_.steps.erase(here);
      return true;
    case Mutation::duplicate:
      program_.steps.insert(here, Step(step()));
      return true;
    case Mutation::swap:
      if (next() == program_.steps.size()) return false;
      std::iter_swap(here, program_.steps.begin() + static_cast<std::ptrdiff_t>(next()));
      return true;
    case Mutation::other_gang:
      return change_gang();
    case Mutation::other_root:
      return change_root(seat);
    case Mutation::other_type:
      return change_type();
    case Mutation::other_count:
      step().count += 1 + mutant_.value % 3;
      return moves_data(step().kind);
    case Mutation::other_reduction:
      return change_reduction();
    case Mutation::other_kind:
      return change_kind();
    case Mutation::other_tag:
      step().tag = static_cast<int>(program_.steps.size()) + mutant_.value % 3;
      return is_point_to_point(step().kind);
    case Mutation::forgotten_wait:
      step().form = Form::drop_work;
      return can_start(step().kind);
    case Mutation::early_reuse:
      step().form = Form::touch_buffer;
      return can_start(step().kind);
  }
  return false;
}

bool Mistake::change_gang() {
  std::vector<int> others;
  for (std::size_t node = 0; node < program_.nodes.size(); ++node) {
    const int other = static_cast<int>(node);
    if (other != step().node &&
        seat_in(members_, other, mutant_.rank % program_.world).gang != nullptr)
      others.push_back(other);
  }
  if (others.empty()) return false;
  step().node = others[static_cast<std::size_t>(mutant_.value) % others.size()];
  return true;
}

bool Mistake::change_root(const Seat& seat) {
  if (seat.size() < 2) return false;
  const auto changed = [&](int rank) {
    return (rank + 1 + mutant_.value % (seat.size() - 1)) % seat.size();
  };
  Step& wrong = step();
  if (wrong.kind == OperationKind::batch ||
      (wrong.kind == OperationKind::send && seat.rank == wrong.root % seat.size())) {
    wrong.peer = changed(wrong.peer);
    return true;
  }
  wrong.root = changed(wrong.root);
  return has_root(wrong.kind) || is_point_to_point(wrong.kind);
}

bool Mistake::change_type() {
  if (!moves_data(step().kind)) return false;
  std::vector<DataType> types;
  for (const DataType type : all_data_types)
    if (type == step().data_type || is_defined(step().reduce_operation, type))
      types.push_back(type);
  if (types.size() < 2) return false;
  step().data_type = another(types, step().data_type);
  return true;
}

bool Mistake::change_reduction() {
  if (!reduces(step().kind)) return false;
  std::vector<ReduceOperation> operations;
  for (const ReduceOperation operation : all_reduce_operations)
    if (is_defined(operation, step().data_type)) operations.push_back(operation);
  if (operations.size() < 2) return false;
  step().reduce_operation = another(operations, step().reduce_operation);
  return true;
}

bool Mistake::change_kind() {
  if (is_point_to_point(step().kind)) return false;
  step().kind = another(collective_kinds, step().kind);
  return true;
}

// -- What the others see --

std::string data_of(const Step& step) {
  return fmt::format("{}[{}]", to_string(step.data_type), step.count);
}

std::string collective_text(const Step& step, const Seat& seat) {
  std::string text{to_string(step.kind)};
  if (moves_data(step.kind)) text += " " + data_of(step);
  if (reduces(step.kind)) text += fmt::format(" {}", to_string(step.reduce_operation));
  if (has_root(step.kind)) text += fmt::format(" root {}", step.root % seat.size());
  if (step.kind != OperationKind::all_to_all || !step.uneven) return text;
  // Only the sizes that other members must agree with.
  text = fmt::format("{} {}", to_string(step.kind), to_string(step.data_type));
  for (int other = 0; other < seat.size(); ++other) {
    if (other == seat.rank) continue;
    text += fmt::format(" {}/{}", split_size(step, seat.rank, other),
                        split_size(step, other, seat.rank));
  }
  return text;
}

class VisibleStep {
 public:
  VisibleStep(const Step& step, const Seat& seat, VisibleCalls& calls)
      : step_(step), seat_(seat), calls_(calls) {}

  void add() {
    const int root = step_.root % seat_.size();
    const int peer = step_.peer % seat_.size();
    switch (step_.kind) {
      case OperationKind::send:
        if (seat_.rank == root) add_message("to", peer);
        if (seat_.rank == peer) add_message("from", root);
        return;
      case OperationKind::batch:
        add_message("to", (seat_.rank + peer) % seat_.size());
        add_message("from", (seat_.rank + seat_.size() - peer) % seat_.size());
        return;
      case OperationKind::recv:
        if (seat_.rank != root) return add_message("to", root);
        for (int i = 1; i < seat_.size(); ++i) add_message("from", any_rank);
        return;
      default:
        calls_[fmt::format("gang {}", step_.node)].push_back(
            {collective_text(step_, seat_), step_.id});
    }
  }

 private:
  void add_message(const char* direction, int other) {
    if (other == seat_.rank) return;  // to itself
    const int tag = step_.tag < 0 ? step_.id : step_.tag;
    calls_[fmt::format("gang {} {} {} tag {}", step_.node, direction, other, tag)].push_back(
        {data_of(step_), step_.id});
  }

  const Step& step_;
  const Seat& seat_;
  VisibleCalls& calls_;
};

}  // namespace

std::string_view to_string(Mutation mutation) noexcept {
  static constexpr auto texts = names_in_order<Mutation>(
      "leaves out", "makes twice", "makes after its next call", "makes on another gang",
      "makes with another root or peer", "makes with another data type", "makes with more elements",
      "makes with another reduce operation", "replaces with another collective",
      "makes with another tag", "starts and never waits for", "starts and touches the buffer of");
  return name_of(texts, mutation);
}

std::optional<GangProgram> mistaken_program(const Mutant& mutant) {
  if (mutant.program.steps.empty()) return std::nullopt;
  return Mistake(mutant).make();
}

std::vector<int> mistaken_steps(const Mutant& mutant) {
  const Mistake mistake(mutant);
  std::vector<int> ids = {id_of(mistake.program(), mistake.at())};
  if (mutant.mutation == Mutation::swap && mistake.next() < mistake.program().steps.size())
    ids.push_back(id_of(mistake.program(), mistake.next()));
  return ids;
}

VisibleCalls visible_calls(const GangProgram& program, int rank) {
  const Membership members = members_of(program);
  VisibleCalls calls;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Step step = program.steps[i];
    step.id = id_of(program, i);
    const Seat seat = seat_in(members, step.node, rank);
    if (seat.gang == nullptr || seat.size() < 2) continue;
    VisibleStep(step, seat, calls).add();
  }
  return calls;
}

Mutant generate_mutant(Draw& draw) {
  Mutant mutant;
  ProgramShape shape{.fewest_ranks = 4, .most_gangs = 4, .most_steps = 8};
  Draw wide{draw.random, draw.size, std::max(draw.max_world, shape.fewest_ranks)};
  if (draw.one_in(50)) {
    wide.max_world = 128;
    shape.most_elements = 3;
  } else if (draw.one_in(400)) {
    wide.max_world = 1024;
    shape.most_elements = 1;
    shape.most_steps = 4;
  }
  mutant.program = generate_program(wide, shape);
  // A rank that keeps a barrier waiting must show as a deadlock, not as a timeout of the barrier.
  mutant.program.run.patience = no_timeout;
  do {
    mutant.mutation = draw.any_of(all_mutations);
    mutant.rank = draw.between(0, mutant.program.world - 1);
    mutant.step = draw.between(0, static_cast<int>(mutant.program.steps.size()) - 1);
    mutant.value = draw.between(0, 30);
  } while (!draw.one_in(200) && !mistaken_program(mutant));
  return mutant;
}

std::string to_text(const Mutant& mutant) {
  return fmt::format("{}\nrank {} {} step {} (choice {})", to_text(mutant.program),
                     mutant.rank % mutant.program.world, to_string(mutant.mutation),
                     mutant.step % static_cast<int>(mutant.program.steps.size()), mutant.value);
}

std::vector<Mutant> shrinks(const Mutant& mutant) {
  SimplerCases simpler(mutant);
  for (const GangProgram& program : shrinks(mutant.program))
    if (!program.steps.empty()) simpler.add([&](Mutant& one) { one.program = program; });
  for (const int rank : {0, 1, mutant.rank / 2}) simpler.lower(&Mutant::rank, rank);
  for (int step = 0; step < mutant.step; ++step) simpler.lower(&Mutant::step, step);
  for (const int value : {0, 1, mutant.value / 2}) simpler.lower(&Mutant::value, value);
  return simpler.take();
}

}  // namespace gang::properties
