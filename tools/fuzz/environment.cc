// The variables of a launcher, a line each.

#include "gang/environment.h"

#include "gang/error.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gang::fuzz::require;
  std::string_view text = gang::fuzz::Input(data, size).rest_text();
  gang::EnvironmentVariables variables;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) continue;
    variables.insert_or_assign(std::string(line.substr(0, sign)),
                               std::string(line.substr(sign + 1)));
  }
  try {
    const auto environment = gang::parse_environment(variables);
    if (!environment) return 0;
    require(0 <= environment->rank && environment->rank < environment->world_size,
            "the rank is one of the world");
    require(0 <= environment->local_rank && environment->local_rank < environment->local_world_size,
            "the local rank is one of the local world");
  } catch (const gang::InvalidArgument&) {
  }
  return 0;
}
