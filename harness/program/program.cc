#include "harness/program/program.h"

#include <algorithm>

#include "gang/error.h"
#include "harness/program/digest.h"
#include "harness/text/suggestion.h"

namespace gang::harness {

const Program& find_program(const std::vector<Program>& programs, std::string_view name) {
  const auto found = std::ranges::find(programs, name, &Program::name);
  if (found != programs.end()) return *found;
  std::vector<std::string> names;
  for (const Program& program : programs) names.push_back(program.name);
  throw InvalidArgument("program " + unknown_name(name, names) +
                        ", a .toml file or a folder of dumps");
}

std::uint64_t fingerprint(const Program& program) {
  Digest digest;
  digest.add(program.name);
  for (const Parameter& parameter : program.parameters) {
    digest.add(parameter.name);
    digest.add(describe_accepted(parameter));
    digest.add(to_string(parameter.default_value));
  }
  digest.add(program.source);
  return digest.value();
}

}  // namespace gang::harness
