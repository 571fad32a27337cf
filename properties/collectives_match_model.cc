#include "properties/collectives_match_model.h"

#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

struct OperationLaw {
  const char* name;
  const char* meaning;
  OperationKind kind;
};

constexpr OperationLaw operation_laws[] = {
    {"all_reduce", "Every rank gets the reduction over the ranks.", OperationKind::all_reduce},
    {"reduce", "The destination gets the reduction; the others' tensors are unchanged.",
     OperationKind::reduce},
    {"reduce_scatter", "Rank r gets chunk r of the reduction.", OperationKind::reduce_scatter},
    {"scan", "Every rank gets the reduction over the ranks up to it.", OperationKind::scan},
    {"exclusive_scan", "Every rank gets the reduction over the ranks before it.",
     OperationKind::exclusive_scan},
    {"all_gather", "Every rank gets the inputs in rank order.", OperationKind::all_gather},
    {"all_gather_to_list", "Every rank gets a tensor per rank, in rank order.",
     OperationKind::all_gather_to_list},
    {"gather", "Only the destination gets the inputs, in rank order.", OperationKind::gather},
    {"scatter", "Rank r gets the source's r-th tensor.", OperationKind::scatter},
    {"all_to_all", "Chunk i of rank j goes to slot j of rank i.", OperationKind::all_to_all},
    {"broadcast", "Every rank gets the source's data.", OperationKind::broadcast},
    {"broadcast_objects", "Every rank gets the source's objects by value.",
     OperationKind::broadcast_objects},
    {"send_and_recv", "A message arrives at its destination, and nowhere else.",
     OperationKind::send},
    {"recv_from_any_rank", "Receives from any rank get every message once, each with its sender.",
     OperationKind::recv},
    {"batch", "The sends and receives of a batch progress together.", OperationKind::batch},
};

Property model_law(const char* name, const char* description, const ProgramShape& shape,
                   const Subject& subject) {
  return to_property(Law<GangProgram>{
      .suite = "collectives_match_model",
      .name = name,
      .description = description,
      .generate = [shape](Draw& draw) { return generate_program(draw, shape); },
      .verdict =
          [subject](const GangProgram& program) { return judge_against_model(program, subject); }});
}

}  // namespace

std::vector<Property> collectives_match_model(const Subject& subject) {
  std::vector<Property> properties;
  for (const auto& [name, meaning, kind] : operation_laws)
    properties.push_back(
        model_law(name, meaning, {.most_gangs = 2, .most_steps = 2, .kinds = {kind}}, subject));
  properties.push_back(
      model_law("random_programs",
                "Any program, on any tree of gangs, leaves the memory that the model predicts.",
                {.fewest_ranks = 2, .fewest_steps = 6, .most_steps = 12}, subject));
  return properties;
}

}  // namespace gang::properties
