#include "properties/program_memory.h"

namespace gang::properties {
namespace {

model::Reduction reduction_of(const Step& step) { return {step.reduce_operation, step.data_type}; }

std::vector<model::Ranks> cut_uneven(const Step& step, const model::Ranks& inputs) {
  std::vector<model::Ranks> chunks(inputs.size(), model::Ranks(inputs.size()));
  for (std::size_t from = 0; from < inputs.size(); ++from) {
    auto next = inputs[from].begin();
    for (std::size_t to = 0; to < inputs.size(); ++to) {
      const int count =
          step.uneven ? split_size(step, static_cast<int>(from), static_cast<int>(to)) : step.count;
      chunks[from][to].assign(next, next + count);
      next += count;
    }
  }
  return chunks;
}

// One message; the other ranks have no output.
model::Ranks send(const Step& step, const model::Ranks& inputs) {
  model::Ranks outputs(inputs.size());
  outputs[static_cast<std::size_t>(step.peer) % inputs.size()] =
      inputs[static_cast<std::size_t>(step.root) % inputs.size()];
  return outputs;
}

// The outputs of one gang's ranks. A rank without output gets nothing, or what it keeps as input.
model::Ranks outputs_of(const Step& step, const model::Ranks& inputs) {
  const int size = static_cast<int>(inputs.size());
  const int root = step.root % size;
  switch (step.kind) {
    case OperationKind::all_reduce:
      return model::all_reduce(inputs, reduction_of(step));
    case OperationKind::reduce:
      return model::reduce(inputs, reduction_of(step), root);
    case OperationKind::reduce_scatter:
      return model::reduce_scatter(inputs, reduction_of(step));
    case OperationKind::scan:
      return model::scan(inputs, reduction_of(step));
    case OperationKind::exclusive_scan:
      return model::exclusive_scan(inputs, reduction_of(step));
    case OperationKind::all_gather:
    case OperationKind::all_gather_to_list:
      return model::all_gather(inputs);
    case OperationKind::gather:
      return model::gather(inputs, root);
    case OperationKind::scatter:
      return model::scatter(inputs[static_cast<std::size_t>(root)], size);
    case OperationKind::all_to_all:
      return model::all_to_all(cut_uneven(step, inputs));
    case OperationKind::broadcast:
    case OperationKind::broadcast_objects:
      return model::broadcast(inputs, root);
    case OperationKind::send:
      return send(step, inputs);
    case OperationKind::batch:
      return model::ring(inputs, step.peer % size);
    default:
      return model::Ranks(inputs.size());
  }
}

// The receiver's slots, one chunk per rank; its own stays as it was.
void write_fan_in(const ProgramMemory& memory, std::size_t index, const std::vector<int>& gang,
                  Image& image) {
  const Step& step = memory.program().steps[index];
  const std::size_t root = static_cast<std::size_t>(step.root) % gang.size();
  const Region slots = memory.place(index, gang[root]).output;
  const std::size_t width = size_bytes(step.data_type);
  for (std::size_t rank = 0; rank < gang.size(); ++rank) {
    if (rank == root) continue;
    const Region slot{slots.offset + rank * static_cast<std::size_t>(step.count) * width,
                      step.count};
    write(image, slot, step.data_type,
          read(image, memory.place(index, gang[rank]).input, step.data_type));
  }
}

void write_outputs(const ProgramMemory& memory, std::size_t index, const std::vector<int>& gang,
                   Image& image) {
  const Step& step = memory.program().steps[index];
  const DataType type = data_type_of(step);
  model::Ranks inputs;
  inputs.reserve(gang.size());
  for (const int rank : gang) inputs.push_back(read(image, memory.place(index, rank).input, type));
  const model::Ranks outputs = outputs_of(step, inputs);
  for (std::size_t rank = 0; rank < gang.size(); ++rank) {
    const Region& output = memory.place(index, gang[rank]).output;
    if (output.count != 0) write(image, output, type, outputs[rank]);
  }
}

}  // namespace

Image expected_image(const ProgramMemory& memory) {
  Image image = memory.initial_image();
  const GangProgram& program = memory.program();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto node = static_cast<std::size_t>(program.steps[i].node);
    const bool is_fan_in = program.steps[i].kind == OperationKind::recv;
    for (const std::vector<int>& gang : memory.members()[node])
      (is_fan_in ? write_fan_in : write_outputs)(memory, i, gang, image);
  }
  return image;
}

}  // namespace gang::properties
