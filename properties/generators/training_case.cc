#include "properties/generators/training_case.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/training/training_run.h"

namespace gang::properties {
namespace {

constexpr int largest_world = 8;  // every rank also trains on the whole batch, to check itself

using Parameters = std::map<std::string, std::string>;

int divisor(Draw& draw, int number) {
  return static_cast<int>(draw.any_of(harness::training::divisors_of(number)));
}

void set(Parameters& parameters, const std::string& name, int value) {
  parameters[name] = fmt::format("{}", value);
}

// tp must divide the four heads of a transformer, or the hidden units of an mlp.
void draw_model(Draw& draw, Parameters& parameters, int tp) {
  const bool is_mlp = 4 % tp != 0 || !draw.one_in(3);
  parameters["model"] = is_mlp ? "mlp" : "transformer";
  const int multiple = is_mlp ? tp : 4;
  const int fewest = (4 + multiple - 1) / multiple;
  set(parameters, "hidden", multiple * draw.between(fewest, std::max(fewest, 12 / multiple)));
  set(parameters, "layers", draw.between(1, is_mlp ? 4 : 2));
  set(parameters, "samples", draw.between(1, is_mlp ? 5 : 2));
  set(parameters, "steps", draw.between(1, 3));
  set(parameters, "data_seed", draw.between(0, 1000));
}

void draw_buckets(Draw& draw, Parameters& parameters) {
  set(parameters, "bucket", draw.between(1, 200));
  set(parameters, "accumulate", draw.between(1, 4));
  parameters["overlap"] = draw.one_in(3) ? "blocking" : "asynchronous";
}

void draw_shards(Draw& draw, Parameters& parameters, int world) {
  const int intra_node = divisor(draw, world);
  set(parameters, "intra_node", intra_node == 1 ? 0 : intra_node);
  const bool is_mlp = parameters["model"] == "mlp";
  const int layers = std::stoi(parameters["layers"]);
  set(parameters, "units", draw.between(1, is_mlp ? 2 * layers - 1 : 6 * layers + 2));
  parameters["prefetch"] = draw.one_in(2) ? "true" : "false";
}

bool is_accepted(const TrainingCase& one) {
  try {
    one.program->validate(one.world,
                          harness::ParameterValues(one.program->parameters, one.parameters));
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

// What makes a run simpler, one thing at a time.
std::vector<TrainingCase> simpler_variants(const TrainingCase& one) {
  std::vector<TrainingCase> variants;
  const auto add = [&](const auto& change) {
    TrainingCase simpler = one;
    change(simpler);
    variants.push_back(std::move(simpler));
  };
  for (int world = 1; world < one.world; ++world)
    add([world](TrainingCase& simpler) { simpler.world = world; });
  for (const auto& [name, value] : one.parameters) {
    for (const char* simple : {"mlp", "0", "1", "2", "4", "blocking", "false"}) {
      if (value == simple) break;
      add([&](TrainingCase& simpler) { simpler.parameters[name] = simple; });
    }
  }
  if (one.seed != 0) add([](TrainingCase& simpler) { simpler.seed = 0; });
  if (one.execution != sim::ExecutionModel::independent)
    add([](TrainingCase& simpler) { simpler.execution = sim::ExecutionModel::independent; });
  if (one.context != sim::ContextKind::fiber)
    add([](TrainingCase& simpler) { simpler.context = sim::ContextKind::fiber; });
  return variants;
}

}  // namespace

harness::RunSpecification TrainingCase::specification() const {
  harness::RunSpecification run;
  run.program = program->name;
  run.world_size = world;
  run.parameters = parameters;
  run.options.execution = execution;
  run.options.context = context;
  if (seed != 0) {
    run.options.seed = seed;
    run.schedule = harness::ScheduleChoice::random;
  }
  return run;
}

int TrainingCase::parameter(const std::string& name, int otherwise) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? otherwise : std::stoi(found->second);
}

TrainingCase generate_training(Draw& draw, const std::vector<harness::Program>& programs) {
  TrainingCase one;
  one.program = std::make_shared<const harness::Program>(draw.any_of(programs));
  one.world = std::min(draw.world(), largest_world);
  const bool has_tp = one.program->name == "tp" || one.program->name == "trainer";
  const int tp = has_tp ? divisor(draw, one.world) : 1;
  draw_model(draw, one.parameters, tp);
  if (has_tp) set(one.parameters, "tp", tp);
  if (one.program->name == "ddp") draw_buckets(draw, one.parameters);
  if (one.program->name == "fsdp") draw_shards(draw, one.parameters, one.world);
  if (one.program->name == "trainer" && draw.one_in(3)) one.parameters["disk"] = "full";
  one.seed = draw.random.below(1000);
  if (draw.one_in(2)) one.execution = sim::ExecutionModel::stream_ordered;
  if (draw.one_in(8)) one.context = sim::ContextKind::thread;
  return one;
}

std::string to_text(const TrainingCase& one) {
  return harness::to_command_line(one.specification(), "gangsim");
}

std::vector<TrainingCase> shrinks(const TrainingCase& one) {
  std::vector<TrainingCase> accepted;
  for (TrainingCase& simpler : simpler_variants(one))
    if (is_accepted(simpler)) accepted.push_back(std::move(simpler));
  return accepted;
}

}  // namespace gang::properties
