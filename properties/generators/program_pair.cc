#include "properties/generators/program_pair.h"

#include <fmt/format.h>

#include "properties/case_text.h"

namespace gang::properties {

ProgramPair generate_pair(Draw& draw) {
  Draw half = draw;
  half.max_world = std::max(1, draw.max_world / 2);
  const ProgramShape shape{.most_gangs = 2, .most_steps = 6, .only_round_robin = true};
  ProgramPair pair;
  pair.first = generate_program(half, shape);
  pair.second = generate_program(half, shape);
  pair.run = generate_run_choices(draw);
  return pair;
}

std::string to_text(const ProgramPair& pair) {
  return fmt::format("world {}, two programs, {}\nfirst: {}\nsecond: {}", pair.world(),
                     schedule_text(pair.run.scheduler, pair.run.seed), to_text(pair.first),
                     to_text(pair.second));
}

std::vector<ProgramPair> shrinks(const ProgramPair& pair) {
  std::vector<ProgramPair> simpler;
  for (GangProgram& first : shrinks(pair.first))
    simpler.push_back({std::move(first), pair.second, pair.run});
  for (GangProgram& second : shrinks(pair.second))
    simpler.push_back({pair.first, std::move(second), pair.run});
  if (!(pair.run == RunChoices{})) simpler.push_back({pair.first, pair.second, RunChoices{}});
  return simpler;
}

}  // namespace gang::properties
