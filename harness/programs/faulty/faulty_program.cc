#include "harness/programs/faulty/faulty_program.h"

#include <utility>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {

void BugRecord::mark(const CallSite& call_site) {
  const std::lock_guard lock(mutex_);
  locations_.insert(to_string(call_site));
}

void BugRecord::keep(std::shared_ptr<Gang> gang) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(gang));
}

int BugRecord::count_up() {
  const std::lock_guard lock(mutex_);
  return count_++;
}

std::set<std::string> BugRecord::locations() const {
  const std::lock_guard lock(mutex_);
  return locations_;
}

FaultyProgram faulty(std::string name, std::string description, FaultyProgram::Body* body,
                     std::string_view finding, std::vector<int> ranks, FaultyProgram rest) {
  rest.name = std::move(name);
  rest.description = std::move(description);
  rest.body = body;
  rest.finding = finding;
  rest.ranks = std::move(ranks);
  return rest;
}

Program to_program(const FaultyProgram& faulty) {
  const auto run = [body = faulty.body, record = faulty.record](Rank& rank) {
    body(rank, PlantedBug{rank.parameter<std::string>("fixed") == "false", *record});
  };
  const auto validate = [fewest = faulty.fewest_ranks, step = faulty.world_step,
                         name = faulty.name](int world_size, const ParameterValues&) {
    if (world_size >= fewest && world_size % step == 0) return;
    const std::string multiple = step == 1 ? "" : fmt::format("a multiple of {} and ", step);
    throw InvalidArgument(fmt::format("{}: world size is {}; must be {}at least {}", name,
                                      world_size, multiple, fewest));
  };
  return {.name = faulty.name,
          .description = faulty.description,
          .run = run,
          .parameters = {choice_parameter("fixed", "false", {"false", "true"},
                                          "true: run the corrected program")},
          .validate = validate,
          .default_world_size = faulty.default_world_size,
          .options = faulty.options,
          .finding = std::string{faulty.finding}};
}

}  // namespace gang::harness
