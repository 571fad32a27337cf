#include "properties/collectives_match_model.h"

#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

struct OperationLaw {
  OperationKind kind;
  const char* name;
  const char* meaning;
};

constexpr OperationLaw operation_laws[] = {
    {OperationKind::all_reduce, "all_reduce", "Every rank gets the reduction over the ranks."},
    {OperationKind::reduce, "reduce",
     "The destination gets the reduction; the others' tensors are unchanged."},
    {OperationKind::reduce_scatter, "reduce_scatter", "Rank r gets chunk r of the reduction."},
    {OperationKind::all_gather, "all_gather", "Every rank gets the inputs in rank order."},
    {OperationKind::all_gather_to_list, "all_gather_to_list",
     "Every rank gets a tensor per rank, in rank order."},
    {OperationKind::gather, "gather", "The destination, and nobody else, gets the inputs."},
    {OperationKind::scatter, "scatter", "Rank r gets the source's r-th tensor."},
    {OperationKind::all_to_all, "all_to_all", "Chunk i of rank j goes to slot j of rank i."},
    {OperationKind::broadcast, "broadcast", "Every rank gets the source's data."},
    {OperationKind::broadcast_objects, "broadcast_objects",
     "Every rank gets the source's objects by value."},
    {OperationKind::send, "send_and_recv",
     "A message arrives at its destination, and nowhere else."},
    {OperationKind::recv, "recv_from_any_rank",
     "A receive from any rank gets every message once and says who sent it."},
    {OperationKind::batch, "batch", "The sends and receives of a batch progress together."},
};

Property property_of(const OperationLaw& operation, const Subject& subject) {
  Law<GangProgram> law;
  law.suite = "collectives_match_model";
  law.name = operation.name;
  law.description = operation.meaning;
  law.generate = [kind = operation.kind](Draw& draw) {
    return generate_program(draw, {.most_gangs = 2, .most_steps = 2, .kinds = {kind}});
  };
  law.verdict = [subject](const GangProgram& program) {
    return judge_against_model(program, subject);
  };
  return to_property(law);
}

Property random_programs(const Subject& subject) {
  Law<GangProgram> law;
  law.suite = "collectives_match_model";
  law.name = "random_programs";
  law.description = "A program of any operations on any tree of gangs leaves what the model says.";
  law.generate = [](Draw& draw) {
    return generate_program(draw, {.fewest_ranks = 2, .fewest_steps = 6, .most_steps = 12});
  };
  law.verdict = [subject](const GangProgram& program) {
    return judge_against_model(program, subject);
  };
  return to_property(law);
}

}  // namespace

std::vector<Property> collectives_match_model(const Subject& subject) {
  std::vector<Property> properties;
  for (const OperationLaw& operation : operation_laws) {
    properties.push_back(property_of(operation, subject));
  }
  properties.push_back(random_programs(subject));
  return properties;
}

}  // namespace gang::properties
