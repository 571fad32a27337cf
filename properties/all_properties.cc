#include "properties/all_properties.h"

#include <iterator>

#include "properties/algorithms_agree.h"
#include "properties/collectives_match_model.h"
#include "properties/deadlocks_are_exact.h"
#include "properties/errors_reach_everyone.h"
#include "properties/fake_gang_agrees.h"
#include "properties/faults_are_contained.h"
#include "properties/faulty_programs.h"
#include "properties/gangs_compose.h"
#include "properties/gangs_follow_meshes.h"
#include "properties/invalid_arguments_stay_local.h"
#include "properties/meshes_are_arithmetic.h"
#include "properties/meshes_partition.h"
#include "properties/messages_keep_order.h"
#include "properties/mismatches_are_found.h"
#include "properties/misuse_is_found.h"
#include "properties/mutants.h"
#include "properties/pipelines_are_valid.h"
#include "properties/runs_are_explained.h"
#include "properties/runs_replay.h"
#include "properties/runtimes_are_deterministic.h"
#include "properties/stores_behave.h"
#include "properties/texts_round_trip.h"
#include "properties/timeouts_fire_on_time.h"
#include "properties/training.h"
#include "properties/training_pipelines.h"

namespace gang::properties {

std::vector<Property> all_properties(const Subject& subject) {
  std::vector<Property> all;
  const auto add = [&all](std::vector<Property> suite) {
    std::move(suite.begin(), suite.end(), std::back_inserter(all));
  };
  add(meshes_partition());
  add(meshes_are_arithmetic());
  add(gangs_follow_meshes(make_layout_gangs, subject));
  add(gangs_compose(subject));
  add(collectives_match_model(subject));
  add(messages_keep_order(subject));
  add(algorithms_agree(subject));
  add(fake_gang_agrees(make_fake_gang, subject));
  add(invalid_arguments_stay_local(make_fake_gang, subject));
  add(mismatches_are_found(subject));
  add(deadlocks_are_exact(subject));
  add(misuse_is_found(subject));
  add(errors_reach_everyone(subject));
  add(timeouts_fire_on_time(subject));
  add(faults_are_contained(subject));
  add(runtimes_are_deterministic(subject));
  add(runs_replay(subject));
  add(runs_are_explained(subject));
  add(texts_round_trip());
  add(pipelines_are_valid());
  add(training_pipelines());
  add(faulty_programs());
  add(training());
  add(stores_behave(subject));
  add(mutants(subject));
  return all;
}

namespace {

// The laws of gangs as such, on `backend`.
std::vector<Property> properties_over(const char* backend, const Subject& subject) {
  std::vector<Property> all;
  const auto add = [&all, backend](std::vector<Property> suite) {
    for (Property& property : suite) {
      property.backend = backend;
      all.push_back(std::move(property));
    }
  };
  add(gangs_follow_meshes(make_layout_gangs, subject));
  add(gangs_compose(subject));
  add(collectives_match_model(subject));
  add(messages_keep_order(subject));
  add(algorithms_agree(subject));
  add(fake_gang_agrees(make_fake_gang, subject));
  add(invalid_arguments_stay_local(make_fake_gang, subject));
  add(errors_reach_everyone(subject));
  add(timeouts_fire_on_time(subject));
  add(faults_are_contained(subject));
  add(training(make_training_subject_on(backend)));
  return all;
}

}  // namespace

std::vector<Property> properties_over_gloo() {
  Subject subject;
  subject.simulate = [](sim::SimulationOptions options, const sim::RankProgram& program) {
    options.backend = sim::SimulatedBackend::gloo;
    return sim::Simulation(options).run(program);
  };
  subject.receives_any_tag = false;
  subject.completes_together = false;
  subject.tells_of_ended_ranks = true;
  subject.times_out_together = false;
  return properties_over("sim-gloo", subject);
}

std::vector<Property> properties_over_nccl() {
  Subject subject;
  subject.simulate = [](sim::SimulationOptions options, const sim::RankProgram& program) {
    options.backend = sim::SimulatedBackend::nccl;
    return sim::Simulation(options).run(program);
  };
  subject.receives_any_tag = false;
  subject.has_tags = false;
  subject.times_out_together = false;
  return properties_over("sim-nccl", subject);
}

}  // namespace gang::properties
