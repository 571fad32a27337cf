#include "properties/all_properties.h"

#include "properties/certainty_holds.h"
#include "properties/collectives_match_model.h"
#include "properties/culprits.h"
#include "properties/deadlocks_are_exact.h"
#include "properties/errors_reach_everyone.h"
#include "properties/explorations_are_complete.h"
#include "properties/fake_gang_agrees.h"
#include "properties/faults_are_contained.h"
#include "properties/faulty_programs.h"
#include "properties/gangs_follow_meshes.h"
#include "properties/invalid_arguments_stay_local.h"
#include "properties/meshes_are_arithmetic.h"
#include "properties/meshes_partition.h"
#include "properties/messages_keep_order.h"
#include "properties/mismatches_are_found.h"
#include "properties/misuse_is_found.h"
#include "properties/mutants.h"
#include "properties/pipelines_are_valid.h"
#include "properties/recordings.h"
#include "properties/remote_runs_agree.h"
#include "properties/runs_are_explained.h"
#include "properties/runtimes_are_deterministic.h"
#include "properties/stores_behave.h"
#include "properties/texts_round_trip.h"
#include "properties/timeouts_fire_on_time.h"
#include "properties/training.h"
#include "properties/training_pipelines.h"
#include "sim/further_runs/settled_run.h"

namespace gang::properties {
namespace {

std::vector<Property> joined(const std::vector<std::vector<Property>>& suites) {
  std::vector<Property> all;
  for (const std::vector<Property>& suite : suites)
    all.insert(all.end(), suite.begin(), suite.end());
  return all;
}

// The laws of gangs as such, which hold on every simulated backend.
std::vector<Property> laws_of_gangs(const Subject& subject) {
  return joined({gangs_follow_meshes(make_layout_gangs, subject), gangs_compose(subject),
                 collectives_match_model(subject), messages_keep_order(subject),
                 algorithms_agree(subject), fake_gang_agrees(make_fake_gang, subject),
                 invalid_arguments_stay_local(make_fake_gang, subject),
                 errors_reach_everyone(subject), timeouts_fire_on_time(subject),
                 faults_are_contained(subject)});
}

Subject subject_on(sim::SimulatedBackend backend) {
  Subject subject;
  subject.simulate = [backend](sim::SimulationOptions options, const sim::RankProgram& program) {
    options.backend = backend;
    return sim::Simulation(options).run(program);
  };
  subject.receives_any_tag = false;
  subject.times_out_together = false;
  subject.is_guided = false;
  return subject;
}

// The same, with settled verdicts.
Subject settling_subject_on(sim::SimulatedBackend backend) {
  Subject subject;
  subject.simulate = [backend](sim::SimulationOptions options, const sim::RankProgram& program) {
    options.backend = backend;
    return sim::run_settled(options, program);
  };
  return subject;
}

std::vector<Property> properties_over(harness::BackendKind backend, const Subject& subject) {
  std::vector<Property> all =
      joined({laws_of_gangs(subject), certainty_holds(subject),
              training(make_training_subject_on(backend)),
              early_ends(settling_subject_on(harness::simulated_backend(backend)))});
  for (Property& property : all) property.backend = backend;
  return all;
}

}  // namespace

std::vector<Property> all_properties(const Subject& subject) {
  return joined({meshes_partition(),
                 meshes_are_arithmetic(),
                 laws_of_gangs(subject),
                 mismatches_are_found(subject),
                 deadlocks_are_exact(subject),
                 certainty_holds(subject),
                 explorations_are_complete(),
                 misuse_is_found(subject),
                 runtimes_are_deterministic(subject),
                 runs_replay(subject),
                 runs_are_explained(subject),
                 remote_runs_agree(),
                 texts_round_trip(),
                 pipelines_are_valid(),
                 training_pipelines(),
                 faulty_programs(),
                 training(),
                 stores_behave(subject),
                 mutants(subject),
                 culprits(),
                 recordings(settling_subject())});
}

std::vector<Property> properties_over_gloo() {
  Subject subject = subject_on(sim::SimulatedBackend::gloo);
  subject.completes_together = false;
  subject.tells_of_ended_ranks = true;
  return properties_over(harness::BackendKind::sim_gloo, subject);
}

std::vector<Property> properties_over_nccl() {
  Subject subject = subject_on(sim::SimulatedBackend::nccl);
  subject.has_tags = false;
  return properties_over(harness::BackendKind::sim_nccl, subject);
}

}  // namespace gang::properties
