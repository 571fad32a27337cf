// What the launcher tells this process, parsed once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gang {

// The distributed environment of a process: the variables of torchrun, plain env:// or, as a
// fallback, SLURM. Source: PyTorch's torchrun and env:// documentation; srun's manual page.
struct Environment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address;     // empty if not given
  std::uint16_t master_port = 0;  // 0 if not given
  bool use_agent_store = false;   // TORCHELASTIC_USE_AGENT_STORE
  int restart_count = 0;          // TORCHELASTIC_RESTART_COUNT
  int max_restarts = 0;           // TORCHELASTIC_MAX_RESTARTS
  std::string run_id;             // TORCHELASTIC_RUN_ID
  std::string error_file;         // TORCHELASTIC_ERROR_FILE
  std::string record_folder;      // GANGSIM_RECORD: see RootGangOptions

  friend bool operator==(const Environment&, const Environment&) = default;
};

using EnvironmentVariables = std::map<std::string, std::string>;

// Reads `variables`; none if neither RANK and WORLD_SIZE nor SLURM_PROCID and SLURM_NTASKS are set.
// Throws InvalidArgument, which names the variable and its value, for anything malformed or
// contradictory (RANK without WORLD_SIZE, (LOCAL_)RANK >= (LOCAL_)WORLD_SIZE, a port above 65535).
std::optional<Environment> parse_environment(const EnvironmentVariables& variables);

// The variables of this process. For main functions; everything else takes a map.
EnvironmentVariables process_environment();

}  // namespace gang
