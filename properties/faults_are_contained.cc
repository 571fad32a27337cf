#include "properties/faults_are_contained.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "gang/replica_verifying_gang.h"
#include "properties/law.h"
#include "properties/monitored_barriers.h"
#include "properties/program_memory.h"
#include "properties/program_run.h"
#include "properties/simpler_cases.h"
#include "sim/injection/fault_injector.h"

namespace gang::properties {
namespace {

struct RankFate {
  std::size_t steps_done = 0;          // that succeeded for it
  std::optional<GangErrorKind> error;  // that ended its program
  std::string trouble;                 // an error of another kind, or of the survivors' gang
};

struct FaultedRun {
  sim::Report report;
  Image image;
  std::vector<RankFate> fates;
};

// Longer than any wait of a run, so that only ranks that never come are left out.
constexpr Duration survivors_grace = std::chrono::hours(24 * 365);

void run_steps(const ProgramMemory& memory, const sim::SimulatedRank& rank, const Subject& subject,
               RankFate& fate, Image& image) {
  const GangProgram& program = memory.program();
  const auto gangs = make_gangs(program, rank.root(), subject);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Gang* gang = gangs[static_cast<std::size_t>(program.steps[i].node)].get();
    if (gang != nullptr) run_step(memory, i, rank.rank(), *gang, subject, image);
    fate.steps_done = i + 1;
  }
}

// The survivors make a new gang, which must count them all.
void continue_with_survivors(sim::SimulatedRank& rank, RankFate& fate) {
  rank.stop_faults();
  std::shared_ptr<Gang> survivors;
  try {
    survivors = rank.root()->shrink({.name = "survivors", .grace = survivors_grace});
  } catch (const GangError& error) {
    if (error.kind() != GangErrorKind::peer_failed || rank.incarnation() == 0)
      fate.trouble = error.what();
    return;
  }
  try {
    std::int32_t members = 1;
    survivors->all_reduce(view_of(members), ReduceOperation::sum);
    if (members != survivors->size())
      fate.trouble = fmt::format("{} of {} survivors took part", members, survivors->size());
  } catch (const Error& error) {
    fate.trouble = error.what();
  }
}

void run_rank_to_its_end(const ProgramMemory& memory, sim::SimulatedRank& rank,
                         const Subject& subject, RankFate& fate, Image& image) {
  if (rank.incarnation() > 0) fate = {};
  try {
    run_steps(memory, rank, subject, fate, image);
  } catch (const GangError& error) {
    fate.error = error.kind();
  } catch (const sim::InjectedException&) {
    throw;
  } catch (const std::exception& error) {
    fate.trouble = error.what();
  }
  if (rank.faults_have_fired() && fate.trouble.empty()) continue_with_survivors(rank, fate);
}

sim::SimulationOptions options_of(const FaultedProgram& faulted) {
  sim::SimulationOptions options = options_of(faulted.program);
  options.trace = sim::Recording::on;
  options.faults = std::make_shared<const sim::FaultPlan>(faulted.plan);
  return options;
}

FaultedRun run_faulted(const ProgramMemory& memory, const sim::SimulationOptions& options,
                       const Subject& subject) {
  FaultedRun run{.image = memory.initial_image()};
  run.fates.resize(static_cast<std::size_t>(options.world_size));
  run.report = subject.simulate(options, [&](sim::SimulatedRank& rank) {
    run_rank_to_its_end(memory, rank, subject, run.fates[static_cast<std::size_t>(rank.rank())],
                        run.image);
  });
  return run;
}

bool may_lose_messages(const sim::FaultPlan& plan) {
  return std::ranges::any_of(plan.faults, [](const sim::Fault& fault) {
    return fault.kind == sim::FaultKind::drop_message;
  });
}

std::string complaint_about(const RankFate& fate, int rank, const sim::FaultPlan& plan) {
  if (!fate.trouble.empty()) return fmt::format("rank {}: {}", rank, fate.trouble);
  if (!fate.error) return {};
  const bool is_true = *fate.error == GangErrorKind::timeout ||
                       *fate.error == GangErrorKind::peer_failed ||
                       *fate.error == GangErrorKind::aborted || may_lose_messages(plan);
  return is_true ? std::string() : fmt::format("rank {} gets {}", rank, to_string(*fate.error));
}

std::string complaint_about(const sim::Report& report) {
  if (report.outcome != sim::Outcome::completed && report.outcome != sim::Outcome::failed)
    return fmt::format("the run ended as '{}'", to_string(report.outcome));
  for (const sim::Finding& finding : report.findings)
    if (report.faults.empty() ||
        (finding.id != sim::finding_id::rank_failed && finding.id != sim::finding_id::timed_out))
      return fmt::format("finding {}: {}", finding.id, sim::full_message(finding));
  return {};
}

void copy_region(const Region& region, DataType type, const Image& from, Image& to) {
  const std::size_t bytes = static_cast<std::size_t>(region.count) * size_bytes(type);
  if (bytes != 0) std::memcpy(to.data() + region.offset, from.data() + region.offset, bytes);
}

// A step that did not succeed for a rank may leave anything in that rank's buffers.
Image expected_after(const ProgramMemory& memory, const FaultedRun& run) {
  Image expected = expected_image(memory);
  const GangProgram& program = memory.program();
  for (int rank = 0; rank < program.world; ++rank) {
    for (std::size_t i = run.fates[static_cast<std::size_t>(rank)].steps_done;
         i < program.steps.size(); ++i) {
      const Place& place = memory.place(i, rank);
      if (!place.takes_part()) continue;
      copy_region(place.input, data_type_of(program.steps[i]), run.image, expected);
      copy_region(place.output, data_type_of(program.steps[i]), run.image, expected);
    }
  }
  return expected;
}

Verdict judge_contained(const FaultedProgram& faulted, const Subject& subject) {
  const ProgramMemory memory(faulted.program);
  const FaultedRun run = run_faulted(memory, options_of(faulted), subject);
  std::string complaint = complaint_about(run.report);
  for (int rank = 0; rank < faulted.program.world && complaint.empty(); ++rank)
    complaint = complaint_about(run.fates[static_cast<std::size_t>(rank)], rank, faulted.plan);
  if (complaint.empty() && !may_lose_messages(faulted.plan))
    complaint = memory.first_difference(expected_after(memory, run), run.image).value_or("");
  if (complaint.empty()) return Verdict::holds();
  return Verdict::violated(std::move(complaint)).shown_by(run.report);
}

Verdict judge_replayed(const FaultedProgram& faulted, const Subject& subject) {
  const ProgramMemory memory(faulted.program);
  const FaultedRun one = run_faulted(memory, options_of(faulted), subject);
  const FaultedRun other = run_faulted(memory, options_of(faulted), subject);
  if (one.report.faults != other.report.faults)
    return Verdict::violated("different faults happened");
  if (!(one.report.trace == other.report.trace)) return Verdict::violated("the traces differ");
  if (one.report.findings != other.report.findings) return Verdict::violated("the findings differ");
  return one.image == other.image ? Verdict::holds() : Verdict::violated("the results differ");
}

// The same plan, with its faults so late that none happens.
Verdict judge_unfired(const FaultedProgram& faulted, const Subject& subject) {
  const ProgramMemory memory(faulted.program);
  FaultedProgram late = faulted;
  std::erase_if(late.plan.faults, [](const sim::Fault& fault) {
    return is_of_link(fault.kind) || fault.kind == sim::FaultKind::late_start;
  });
  for (sim::Fault& fault : late.plan.faults) {
    fault.trigger = {};
    fault.trigger.operation = 1'000'000;
  }
  const sim::SimulationOptions with_plan = options_of(late);
  sim::SimulationOptions without = with_plan;
  without.faults = nullptr;
  const FaultedRun one = run_faulted(memory, with_plan, subject);
  const FaultedRun other = run_faulted(memory, without, subject);
  if (!one.report.faults.empty()) return Verdict::violated("a fault happened");
  if (!(one.report.trace == other.report.trace)) return Verdict::violated("the traces differ");
  if (one.report.counts != other.report.counts) return Verdict::violated("the counts differ");
  return one.image == other.image ? Verdict::holds() : Verdict::violated("the results differ");
}

// One corrupt result, on gangs that verify replicas.
Verdict judge_found(const FaultedProgram& faulted, const Subject& subject) {
  const ProgramMemory memory(faulted.program);
  Subject verifying = subject;
  if (!verifying.wrap) verifying.wrap = make_replica_verifying_gang;
  const FaultedRun run = run_faulted(memory, options_of(faulted), verifying);
  if (run.report.faults.empty()) return Verdict::not_applicable();
  const auto knows = [](const RankFate& fate) { return fate.error == GangErrorKind::corrupt; };
  if (std::ranges::any_of(run.fates, knows)) return Verdict::holds();
  return Verdict::violated(
      fmt::format("{}, and no rank gets an error", run.report.faults.front().description));
}

FaultedProgram generate_corrupted(Draw& draw) {
  using enum OperationKind;
  FaultedProgram faulted;
  Draw two_or_more{draw.random, draw.size,
                   std::max(draw.max_world, 2)};  // one rank has no replicas
  faulted.program = generate_program(
      two_or_more, {.fewest_ranks = 2,
                    .most_gangs = 1,
                    .most_steps = 6,
                    .kinds = {all_reduce, all_gather, all_gather_to_list, broadcast, barrier}});
  for (Step& step : faulted.program.steps) step.form = Form::blocking;
  faulted.plan.faults.push_back(
      {.kind = sim::FaultKind::corrupt_result,
       .ranks = {draw.between(0, faulted.program.world - 1)},
       .trigger = {.operation = static_cast<std::uint64_t>(draw.between(0, 5))},
       .corruption = draw.one_in(2) ? sim::Corruption::nan : sim::Corruption::bit_flip});
  return faulted;
}

struct FaultLaw {
  const char* name;
  const char* description;
  std::uint64_t cost;
  Verdict (*judge)(const FaultedProgram&, const Subject&);
  FaultedProgram (*generate)(Draw&) = generate_faulted;
};

constexpr FaultLaw fault_laws[] = {
    {"nothing_hangs_nothing_lies",
     "Survivors end with correct results or a true error, and can go on together.", 1,
     judge_contained},
    {"same_plan_and_seed_give_the_same_trace", "A seed decides the faults as well.", 2,
     judge_replayed},
    {"what_does_not_happen_changes_nothing", "A plan whose faults do not happen leaves no trace.",
     2, judge_unfired},
    {"corrupt_results_are_found",
     "A gang that verifies replicas finds a result that differs on one rank.", 2, judge_found,
     generate_corrupted},
};

}  // namespace

FaultedProgram generate_faulted(Draw& draw) {
  FaultedProgram faulted;
  faulted.program = generate_program(draw);
  sim::FaultPlan plan = sim::fault_preset("swarm");
  plan.ranks_per_node = draw.between(1, 4);
  for (sim::Fault& fault : plan.faults)
    if (fault.trigger.operation) fault.trigger.operation = sim::Between<std::uint64_t>(0, 7);
  faulted.plan = sim::draw(plan, draw.random(), faulted.program.world);
  faulted.plan.name.clear();
  return faulted;
}

std::string to_text(const FaultedProgram& faulted) {
  std::string text = to_text(faulted.program);
  for (const sim::Fault& fault : faulted.plan.faults) text += "\nfault: " + to_string(fault);
  return text;
}

std::vector<FaultedProgram> shrinks(const FaultedProgram& faulted) {
  SimplerCases simpler(faulted);
  simpler.drop_each([](FaultedProgram& one) -> auto& { return one.plan.faults; });
  for (const GangProgram& program : shrinks(faulted.program)) {
    simpler.add([&program](FaultedProgram& one) {
      one.program = program;
      const auto is_absent = [&program](int rank) { return rank >= program.world; };
      for (sim::Fault& fault : one.plan.faults) {
        std::erase_if(fault.ranks, is_absent);
        std::erase_if(fault.to, is_absent);
      }
      std::erase_if(one.plan.faults, [](const sim::Fault& fault) {
        return fault.ranks.empty() || (is_of_link(fault.kind) && fault.to.empty());
      });
    });
  }
  return simpler.take();
}

std::vector<Property> faults_are_contained(const Subject& subject) {
  std::vector<Property> properties;
  for (const FaultLaw& row : fault_laws) {
    properties.push_back(to_property(
        Law<FaultedProgram>{.suite = "faults_are_contained",
                            .name = row.name,
                            .description = row.description,
                            .cost = row.cost,
                            .generate = row.generate,
                            .verdict = [subject, judge = row.judge](const FaultedProgram& faulted) {
                              return judge(faulted, subject);
                            }}));
  }
  properties.push_back(to_property(Law<RollCall>{
      .suite = "faults_are_contained",
      .name = "monitored_barriers_name_who_is_missing",
      .description = "Whatever goes wrong, they name every rank that has not come, and no other.",
      .generate = generate_roll_call,
      .verdict = [subject](const RollCall& roll_call) {
        return judge_roll_call(roll_call, subject);
      }}));
  return properties;
}

}  // namespace gang::properties
