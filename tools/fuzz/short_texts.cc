// Short texts that people write: arguments of the command line, cells of tables, schedules.

#include "gang/duration.h"
#include "gang/error.h"
#include "gang/mesh.h"
#include "harness/cost/cost_model.h"
#include "harness/pipeline/schedule.h"
#include "harness/program_file/block_reader.h"
#include "harness/run/shard.h"
#include "sim/options/nccl_model.h"
#include "sim/schedule/schedule.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

void read(std::uint8_t kind, std::string_view text) {
  switch (kind % 7) {
    case 0: {
      const Duration duration = parse_duration(text);
      require(parse_duration(to_duration_text(duration)) == duration, "a duration is read back");
      break;
    }
    case 1: {
      const Mesh mesh = parse_mesh(text);
      require(mesh.size() >= 1, "a mesh has ranks");
      break;
    }
    case 2:
      harness::parse_link_speed(text);
      break;
    case 3: {
      const auto schedule = harness::parse_schedule(text, "fuzz");
      const std::string again = to_text(schedule);
      require(to_text(harness::parse_schedule(again, "fuzz")) == again,
              "a pipeline schedule is read back");
      break;
    }
    case 4:
      harness::program_file::parse_rank_selection(text, {});
      break;
    case 5: {
      const sim::Schedule schedule = sim::parse_schedule(text);
      require(sim::parse_schedule(to_string(schedule)) == schedule, "a schedule is read back");
      break;
    }
    default: {
      const harness::Shard shard = harness::parse_shard("--shard", text);
      require(harness::parse_shard("--shard", to_string(shard)) == shard, "a shard is read back");
    }
  }
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gang::fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  try {
    gang::fuzz::read(kind, input.rest_text());
  } catch (const gang::InvalidArgument&) {
  }
  return 0;
}
