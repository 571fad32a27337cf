#include "harness/pipeline/schedule.h"

#include <fmt/format.h>

namespace gang::harness {

char letter_of(Pass pass) noexcept { return "FBIW"[static_cast<std::size_t>(pass)]; }

int duration_of(Pass pass) noexcept { return pass == Pass::backward ? 2 : 1; }

std::string to_string(const PipelineSizes& sizes) {
  const auto plural = [](int count, std::string_view ending) {
    return count == 1 ? std::string_view{} : ending;
  };
  return fmt::format("{} rank{}, {} stage{} per rank, {} microbatch{}", sizes.ranks,
                     plural(sizes.ranks, "s"), sizes.stages_per_rank,
                     plural(sizes.stages_per_rank, "s"), sizes.microbatches,
                     plural(sizes.microbatches, "es"));
}

std::string to_string(const StagePass& pass) {
  return fmt::format("{}{}{}", pass.stage, letter_of(pass.pass), pass.microbatch);
}

std::size_t index_of(const StagePass& pass, const PipelineSizes& sizes) noexcept {
  const std::size_t of_stage =
      static_cast<std::size_t>(pass.stage) * static_cast<std::size_t>(sizes.microbatches) +
      static_cast<std::size_t>(pass.microbatch);
  return of_stage * all_passes.size() + static_cast<std::size_t>(pass.pass);
}

std::size_t pass_count(const PipelineSizes& sizes) noexcept {
  return static_cast<std::size_t>(sizes.stages()) * static_cast<std::size_t>(sizes.microbatches) *
         all_passes.size();
}

}  // namespace gang::harness
