#include "properties/misuse_is_found.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/case_text.h"
#include "properties/program_verdict.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

constexpr Misuse all_misuses[] = {Misuse::drops_work, Misuse::writes_input, Misuse::leaves_message,
                                  Misuse::throws};

struct MisuseText {
  const char* text;
  std::string_view finding;
};

MisuseText text_of(Misuse misuse) {
  namespace id = sim::finding_id;
  switch (misuse) {
    case Misuse::drops_work:
      return {"drops the work of a started all_reduce", id::unwaited_work};
    case Misuse::writes_input:
      return {"writes the input of a started all_gather", id::buffer_in_flight};
    case Misuse::leaves_message:
      return {"sends a message that no rank receives", id::unreceived_message};
    case Misuse::throws:
      return {"throws", id::rank_failed};
  }
  return {"", ""};
}

// The misbehaving rank does so among calls that every rank makes.
void run_misuse(const MisuseCase& misuse, Gang& gang) {
  const auto count = static_cast<std::size_t>(misuse.count);
  std::vector<float> input(count, 1.0F);
  std::vector<float> output(count * static_cast<std::size_t>(gang.size()));
  const bool is_odd = gang.rank() == misuse.rank;
  for (int i = 0; i < misuse.calls_before; ++i) gang.barrier();
  switch (misuse.misuse) {
    case Misuse::drops_work: {
      Work work = gang.start_all_reduce(view(input), ReduceOperation::sum);
      if (!is_odd) work.wait();
      break;
    }
    case Misuse::writes_input: {
      Work work = gang.start_all_gather(view(output), view(input));
      if (is_odd) input.front() = 2.0F;
      work.wait();
      break;
    }
    case Misuse::leaves_message:
      if (is_odd) gang.send(view(input), (misuse.rank + 1) % gang.size(), 7);
      break;
    case Misuse::throws:
      if (is_odd) throw std::runtime_error("planted");
      break;
  }
}

sim::SimulationOptions options_of(const MisuseCase& misuse) {
  sim::SimulationOptions options;
  options.world_size = misuse.world;
  options.scheduler = misuse.scheduler;
  options.seed = misuse.seed;
  options.sends = sim::SendMode::buffered(1 << 20);
  return options;
}

Verdict verdict_of(const MisuseCase& misuse, const sim::Report& report) {
  const std::string_view expected = text_of(misuse.misuse).finding;
  if (std::string problem = problem_of(report.findings, expected); !problem.empty())
    return Verdict::violated(std::move(problem));
  const sim::Finding& finding = report.findings.front();
  if (std::ranges::count(finding.ranks, misuse.rank) == 0)
    return Verdict::violated(fmt::format("the finding names ranks [{}], but not rank {}",
                                         fmt::join(finding.ranks, ","), misuse.rank));
  const bool fails = misuse.misuse == Misuse::throws;
  const sim::Outcome outcome = fails ? sim::Outcome::failed : sim::Outcome::completed;
  if (report.outcome != outcome)
    return Verdict::violated(fmt::format("the run ended as '{}', expected '{}'",
                                         to_string(report.outcome), to_string(outcome)));
  return Verdict::holds();
}

Verdict judge_misuse(const MisuseCase& misuse, const Subject& subject) {
  const sim::Report report = subject.simulate(options_of(misuse), [&](sim::SimulatedRank& rank) {
    run_misuse(misuse, *subject.wrapped(rank.root()));
  });
  return verdict_of(misuse, report).shown_by(report);
}

}  // namespace

MisuseCase generate_misuse(Draw& draw) {
  MisuseCase misuse;
  misuse.misuse = draw.any_of(all_misuses);
  misuse.world = draw.world(2);
  misuse.rank = draw.between(0, misuse.world - 1);
  misuse.calls_before = draw.between(0, 3);
  misuse.count = draw.between(1, 40);
  if (draw.one_in(2)) misuse.scheduler = sim::SchedulerKind::random;
  misuse.seed = draw.random.below(100);
  return misuse;
}

std::string to_text(const MisuseCase& misuse) {
  return fmt::format("world {}, rank {} {} (f32[{}]) after {}, {}", misuse.world, misuse.rank,
                     text_of(misuse.misuse).text, misuse.count,
                     counted(misuse.calls_before, "call"),
                     schedule_text(misuse.scheduler, misuse.seed));
}

std::vector<MisuseCase> shrinks(const MisuseCase& misuse) {
  SimplerCases simpler(misuse);
  simpler.lower(&MisuseCase::world, 2);
  if (misuse.world > 3) simpler.lower(&MisuseCase::world, misuse.world - 1);
  simpler.lower(&MisuseCase::calls_before, 0);
  simpler.lower(&MisuseCase::count, 1);
  simpler.lower(&MisuseCase::count, misuse.count / 2 + 1);
  simpler.lower(&MisuseCase::rank, 0);
  simpler.lower(&MisuseCase::scheduler, sim::SchedulerKind::round_robin);
  simpler.lower(&MisuseCase::seed, 0);
  std::vector<MisuseCase> cases = simpler.take();
  for (MisuseCase& one : cases) one.rank = std::min(one.rank, one.world - 1);
  return cases;
}

std::vector<Property> misuse_is_found(const Subject& subject) {
  return {to_property(Law<MisuseCase>{
      .suite = "misuse_is_found",
      .name = "one_finding_names_what_and_who",
      .description = "Dropped work, touched buffers, unreceived messages and exceptions each give "
                     "one finding.",
      .generate = generate_misuse,
      .verdict = [subject](const MisuseCase& misuse) { return judge_misuse(misuse, subject); }})};
}

}  // namespace gang::properties
