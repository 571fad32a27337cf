#include "properties/gangs_compose.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/generators/program_pair.h"
#include "properties/program_meaning.h"
#include "properties/program_verdict.h"
#include "properties/rank_check.h"

namespace gang::properties {
namespace {

// The members of the gang that `rank` must be in, in rank order; none where it is in no gang.
const std::vector<int>* find_gang(const std::vector<std::vector<int>>& gangs, int rank) {
  for (const std::vector<int>& gang : gangs) {
    if (std::ranges::count(gang, rank) != 0) return &gang;
  }
  return nullptr;
}

// What one rank sees of one gang against who must be in it.
std::string check_gang(const std::shared_ptr<Gang>& gang, const std::vector<int>* expected,
                       std::int32_t root_rank) {
  if (!gang && !expected) return {};
  if (!gang) return "is in no gang where it must be a member";
  if (!expected) return "is in " + label_of(gang->info()) + " where it is no member";
  if (gang->size() != static_cast<int>(expected->size()) || gang->info().root_ranks != *expected) {
    return fmt::format("{} has other members than [{}]", label_of(gang->info()),
                       fmt::join(*expected, ","));
  }
  if (gang->rank() < 0 || gang->rank() >= gang->size() ||
      (*expected)[static_cast<std::size_t>(gang->rank())] != root_rank) {
    return fmt::format("is rank {} of {}", gang->rank(), label_of(gang->info()));
  }
  std::vector<std::int32_t> gathered(expected->size());
  gang->all_gather(view(gathered), view_of(root_rank));
  if (!std::ranges::equal(gathered, *expected)) {
    return fmt::format("{} gathers [{}]", label_of(gang->info()), fmt::join(gathered, ","));
  }
  return {};
}

Verdict judge_tree(const GangProgram& program, const Subject& subject) {
  const Membership members = members_of(program);
  return judge_ranks(options_of(program), subject, [&](sim::SimulatedRank& rank) {
    const auto gangs = make_gangs(program, rank.root(), subject);
    for (std::size_t node = 0; node < gangs.size(); ++node) {
      const auto* expected = find_gang(members[node], rank.rank());
      std::string complaint = check_gang(gangs[node], expected, rank.rank());
      if (!complaint.empty()) return fmt::format("gang {}: {}", node, complaint);
    }
    return std::string();
  });
}

// Each half splits off and runs its program as if it were alone in the world.
Verdict judge_pair(const ProgramPair& pair, const Subject& subject) {
  const ProgramMemory memories[] = {ProgramMemory(pair.first), ProgramMemory(pair.second)};
  Image images[] = {memories[0].initial_image(), memories[1].initial_image()};
  sim::SimulationOptions options = options_of({.run = pair.run});
  options.world_size = pair.world();
  const sim::Report report = subject.simulate(options, [&](sim::SimulatedRank& rank) {
    const int half = rank.rank() < pair.first.world ? 0 : 1;
    const auto root = subject.wrapped(rank.root())->split({.color = half, .key = rank.rank()});
    run_rank(memories[half], root, subject, images[half]);
  });
  if (std::string problem = problem_of(report); !problem.empty()) {
    return Verdict::violated(std::move(problem)).shown_by(report);
  }
  for (const int half : {0, 1}) {
    if (auto difference =
            memories[half].first_difference(expected_image(memories[half]), images[half])) {
      return Verdict::violated(fmt::format("{}: {}", half == 0 ? "first" : "second", *difference));
    }
  }
  return Verdict::holds();
}

Property nested_gangs(const Subject& subject) {
  Law<GangProgram> law;
  law.suite = "gangs_compose";
  law.name = "nested_create_gang_and_split_compose";
  law.description = "Gangs of gangs have the members, order and ranks that composition gives.";
  law.generate = [](Draw& draw) {
    return generate_program(draw,
                            {.most_gangs = 6, .most_steps = 1, .kinds = {OperationKind::barrier}});
  };
  law.verdict = [subject](const GangProgram& program) { return judge_tree(program, subject); };
  return to_property(law);
}

Property disjoint_gangs(const Subject& subject) {
  Law<ProgramPair> law;
  law.suite = "gangs_compose";
  law.name = "disjoint_gangs_do_not_disturb_each_other";
  law.description = "Two programs on two halves of a world leave what each leaves alone.";
  law.generate = generate_pair;
  law.verdict = [subject](const ProgramPair& pair) { return judge_pair(pair, subject); };
  return to_property(law);
}

}  // namespace

std::vector<Property> gangs_compose(const Subject& subject) {
  return {nested_gangs(subject), disjoint_gangs(subject)};
}

}  // namespace gang::properties
