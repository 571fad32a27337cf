#include "gang/environment.h"

#include <unistd.h>

#include <charconv>
#include <limits>
#include <string_view>

#include "gang/error.h"

namespace gang {
namespace {

[[noreturn]] void throw_bad_value(const std::string& name, const std::string& value,
                                  const std::string& expected) {
  throw InvalidArgument(name + " is '" + value + "'; must be " + expected);
}

class Reader {
 public:
  explicit Reader(const EnvironmentVariables& variables) : variables_(variables) {}

  bool has(const std::string& name) const { return variables_.contains(name); }

  std::string text(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? "" : found->second;
  }

  // The decimal number called `name`; `otherwise` if it is not set.
  int number(const std::string& name, int least, int most, int otherwise) const {
    if (!has(name)) return otherwise;
    const std::string value = text(name);
    int result = 0;
    const char* end = value.data() + value.size();
    const auto [last, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc{} || last != end || result < least || result > most)
      throw_bad_value(name, value, std::to_string(least) + " to " + std::to_string(most));
    return result;
  }

  int number(const std::string& name, int least, int otherwise) const {
    return number(name, least, std::numeric_limits<int>::max(), otherwise);
  }

  // torchrun writes Python's booleans, and compares the exact spelling.
  bool flag(const std::string& name) const {
    const std::string value = text(name);
    if (has(name) && value != "True" && value != "False")
      throw_bad_value(name, value, "True or False");
    return value == "True";
  }

 private:
  const EnvironmentVariables& variables_;
};

// The names under which a launcher passes the four numbers that place a process in its job.
struct Names {
  std::string rank;
  std::string world_size;
  std::string local_rank;
  std::string local_world_size;
  bool local_world_size_is_upper_limit;  // Slurm's is that of the job; a step may have fewer tasks
};

// Whether both `names.rank` and `names.world_size` are set; one without the other is an error.
bool is_described(const Reader& reader, const Names& names) {
  const bool has_rank = reader.has(names.rank);
  const bool has_size = reader.has(names.world_size);
  if (has_rank == has_size) return has_rank;
  const std::string& given = has_rank ? names.rank : names.world_size;
  const std::string& missing = has_rank ? names.world_size : names.rank;
  throw InvalidArgument(given + " is '" + reader.text(given) + "' but " + missing +
                        " is not set; set both or neither");
}

[[noreturn]] void throw_not_below(const Reader& reader, const std::string& index,
                                  const std::string& size) {
  throw_bad_value(index, reader.text(index),
                  "less than " + size + ", which is '" + reader.text(size) + "'");
}

[[noreturn]] void throw_exceeds(const Reader& reader, const Names& names,
                                const Environment& environment) {
  const bool has_size = reader.has(names.local_world_size);
  throw InvalidArgument((has_size ? names.local_world_size : names.local_rank) + " implies " +
                        std::to_string(environment.local_world_size) +
                        " processes on this host, but " + names.world_size + " is '" +
                        reader.text(names.world_size) + "'");
}

void read_place(const Reader& reader, const Names& names, Environment& environment) {
  constexpr int most = std::numeric_limits<int>::max() - 1;
  environment.world_size = reader.number(names.world_size, 1, 1);
  environment.rank = reader.number(names.rank, 0, 0);
  if (environment.rank >= environment.world_size)
    throw_not_below(reader, names.rank, names.world_size);
  environment.local_rank = reader.number(names.local_rank, 0, most, 0);
  // A launcher that passes only the local rank leaves their number open: at least up to this one.
  environment.local_world_size =
      reader.number(names.local_world_size, 1, environment.local_rank + 1);
  if (environment.local_rank >= environment.local_world_size)
    throw_not_below(reader, names.local_rank, names.local_world_size);
  if (environment.local_world_size <= environment.world_size) return;
  if (!names.local_world_size_is_upper_limit || environment.local_rank >= environment.world_size)
    throw_exceeds(reader, names, environment);
  environment.local_world_size = environment.world_size;
}

void read_meeting_point(const Reader& reader, Environment& environment) {
  environment.master_address = reader.text("MASTER_ADDR");
  if (reader.has("MASTER_ADDR") && environment.master_address.empty())
    throw_bad_value("MASTER_ADDR", "", "a host name or address");
  environment.master_port = static_cast<std::uint16_t>(
      reader.number("MASTER_PORT", 1, std::numeric_limits<std::uint16_t>::max(), 0));
}

void read_elastic(const Reader& reader, Environment& environment) {
  environment.use_agent_store = reader.flag("TORCHELASTIC_USE_AGENT_STORE");
  environment.restart_count = reader.number("TORCHELASTIC_RESTART_COUNT", 0, 0);
  environment.max_restarts = reader.number("TORCHELASTIC_MAX_RESTARTS", 0, 0);
  environment.run_id = reader.text("TORCHELASTIC_RUN_ID");
  environment.error_file = reader.text("TORCHELASTIC_ERROR_FILE");
  environment.record_folder = reader.text("GANGSIM_RECORD");
}

// The first host of "node[03-05,7]x[1-2],other": "node03x1", as `scontrol show hostnames` would
// begin.
std::string first_host(const std::string& hosts) {
  std::string host;
  for (std::string_view rest = hosts;;) {
    const std::size_t end = rest.find_first_of("[,");
    host += rest.substr(0, end);
    if (end == rest.npos || rest[end] == ',') return host;
    const std::string_view numbers = rest.substr(end + 1);
    const std::size_t close = numbers.find(']');
    const std::size_t first_end = numbers.find_first_of("-,]");
    if (close == numbers.npos || first_end == 0)
      throw_bad_value("SLURM_JOB_NODELIST", hosts, "a list such as node[03-05,7],other");
    host += numbers.substr(0, first_end);
    rest = numbers.substr(close + 1);
  }
}

}  // namespace

std::optional<Environment> parse_environment(const EnvironmentVariables& variables) {
  const Names torch{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false};
  const Names slurm{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", true};
  const Reader reader(variables);
  Environment environment;
  if (is_described(reader, torch))
    read_place(reader, torch, environment);
  else if (reader.has(slurm.rank) && is_described(reader, slurm))
    read_place(reader, slurm, environment);
  else
    return std::nullopt;
  read_meeting_point(reader, environment);
  read_elastic(reader, environment);
  if (environment.master_address.empty() && !reader.has(torch.rank))
    environment.master_address = first_host(reader.text("SLURM_JOB_NODELIST"));
  return environment;
}

EnvironmentVariables process_environment() {
  EnvironmentVariables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == text.npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace gang
