#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/all_properties.h"
#include "properties/generators/program_pair.h"
#include "properties/program_memory.h"
#include "properties/program_verdict.h"
#include "properties/rank_check.h"

namespace gang::properties {
namespace {

// What is wrong with one rank's gang, which must have the `expected` members; null: no gang.
std::string check_gang(const std::shared_ptr<Gang>& gang, const std::vector<int>* expected,
                       std::int32_t root_rank) {
  if (!gang && !expected) return {};
  if (!gang) return "is in no gang, but must be a member";
  if (!expected) return "is in " + label_of(gang->info()) + ", but must not be a member";
  if (gang->size() != static_cast<int>(expected->size()) || gang->info().root_ranks != *expected)
    return fmt::format("{} does not have the members [{}]", label_of(gang->info()),
                       fmt::join(*expected, ","));
  if (gang->rank() < 0 || gang->rank() >= gang->size() ||
      (*expected)[static_cast<std::size_t>(gang->rank())] != root_rank) {
    return fmt::format("is rank {} of {}", gang->rank(), label_of(gang->info()));
  }
  std::vector<std::int32_t> gathered(expected->size());
  gang->all_gather(view(gathered), view_of(root_rank));
  if (!std::ranges::equal(gathered, *expected))
    return fmt::format("{} gathers [{}]", label_of(gang->info()), fmt::join(gathered, ","));
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

// Each half splits off and runs its program as if alone in the world.
Verdict judge_pair(const ProgramPair& pair, const Subject& subject) {
  const ProgramMemory memories[] = {ProgramMemory(pair.first), ProgramMemory(pair.second)};
  Image images[] = {memories[0].initial_image(), memories[1].initial_image()};
  sim::SimulationOptions options = options_of(GangProgram{.run = pair.run});
  options.world_size = pair.world();
  const sim::Report report = subject.simulate(options, [&](sim::SimulatedRank& rank) {
    const int half = rank.rank() < pair.first.world ? 0 : 1;
    const auto root = subject.wrapped(rank.root())->split({.color = half, .key = rank.rank()});
    run_rank(memories[half], root, subject, images[half]);
  });
  if (std::string problem = problem_of(report); !problem.empty())
    return Verdict::violated(std::move(problem)).shown_by(report);
  for (const int half : {0, 1}) {
    if (auto difference =
            memories[half].first_difference(expected_image(memories[half]), images[half])) {
      return Verdict::violated(fmt::format("{}: {}", half == 0 ? "first" : "second", *difference));
    }
  }
  return Verdict::holds();
}

}  // namespace

std::vector<Property> gangs_compose(const Subject& subject) {
  return {
      to_property(Law<GangProgram>{
          .suite = "gangs_compose",
          .name = "nested_create_gang_and_split_compose",
          .description = "Nested gangs have the members, order and ranks that composition gives.",
          .generate =
              [](Draw& draw) {
                return generate_program(
                    draw, {.most_gangs = 6, .most_steps = 1, .kinds = {OperationKind::barrier}});
              },
          .verdict =
              [subject](const GangProgram& program) { return judge_tree(program, subject); }}),
      to_property(Law<ProgramPair>{
          .suite = "gangs_compose",
          .name = "disjoint_gangs_do_not_disturb_each_other",
          .description = "Two programs on two halves of a world leave what each leaves alone.",
          .generate = generate_pair,
          .verdict = [subject](const ProgramPair& pair) { return judge_pair(pair, subject); }})};
}

}  // namespace gang::properties
